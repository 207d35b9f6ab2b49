import os
import pickle
import re

import pytest

from bert_common.errors import UserError
from bert_tf.extras import beam as extra
from bert_tf.extras.beam import BeamEngine
from tests.beam import IN_PROCESS, NEEDS_BEAM


def square(number: int) -> int:
    return number * number


def refuse_three(number: int) -> int:
    if number == 3:
        raise UserError("corpus.txt has changed")
    return number


def divide(number: int) -> float:
    return 1 / number


def call(path: str, work=square, item: int = 7, **versions: str) -> None:
    extra._call(pickle.dumps(work), {**extra._versions(), **versions}, (path, pickle.dumps(item)))


@pytest.fixture
def beam():
    return pytest.importorskip("apache_beam", reason=NEEDS_BEAM)


def test_without_beam_the_flag_says_what_to_type(monkeypatch):
    monkeypatch.setattr(extra.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install --only-binary apache-beam --group beam"):
        BeamEngine(IN_PROCESS).check()


@pytest.mark.parametrize("text", ["", "a b", "=3", "runner=X,,"])
def test_what_is_no_list_of_options_is_refused(text):
    with pytest.raises(UserError, match="name=value,name=value is expected"):
        BeamEngine(text)


def test_an_outcome_appears_whole_and_may_be_made_twice(tmp_path):
    for _ in range(2):
        call(str(tmp_path / "outcome-0"))
    assert os.listdir(tmp_path) == ["outcome-0"]
    with pytest.raises(ZeroDivisionError):
        call(str(tmp_path / "outcome-1"), divide, item=0)
    assert os.listdir(tmp_path) == ["outcome-0"]


@pytest.mark.parametrize("package", ["Python", "nupunkt"])
def test_a_worker_with_another_version_is_named(tmp_path, package):
    call(str(tmp_path / "outcome-0"), **{package: "0.0.1"})
    succeeded, error = pickle.loads((tmp_path / "outcome-0").read_bytes())
    assert not succeeded
    assert re.fullmatch(
        rf".*worker on \S+ has {package} \S+, this command 0.0.1: install that one", str(error)
    )


def test_results_come_in_order_and_nothing_is_left(beam, tmp_path):
    engine = BeamEngine(IN_PROCESS)
    assert list(engine.ordered_map(square, range(20), str(tmp_path))) == [n * n for n in range(20)]
    assert list(engine.ordered_map(square, [], str(tmp_path))) == []
    assert not os.listdir(tmp_path)


def test_a_user_error_of_a_worker_is_that_of_the_command(beam, tmp_path):
    results = BeamEngine(IN_PROCESS).ordered_map(refuse_three, range(6), str(tmp_path))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UserError, match="^corpus.txt has changed$"):
        next(results)


def test_a_pipeline_that_fails_is_one_line(beam, tmp_path):
    with pytest.raises(
        UserError, match="the pipeline failed: .*ZeroDivisionError: division by zero"
    ) as caught:
        list(BeamEngine(IN_PROCESS).ordered_map(divide, [0, 1], str(tmp_path)))
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ("runner=Foo", "runner=Foo is unknown or not installed"),
        ("runner=x.y.Z", "runner=x.y.Z is unknown or not installed .*No module named"),
        (
            "runner=PortableRunner,job_endpoint=localhost",
            "no job server at job_endpoint=localhost, a HOST:PORT",
        ),
        (
            "runner=FnApiRunner,direct_num_workers=x",
            "argument --direct_num_workers: invalid int value: 'x'$",
        ),
        ("runner=FnApiRunner,help", "--help is no option of a pipeline"),
    ],
)
def test_what_beam_refuses_is_one_line(beam, options, message, capsys):
    with pytest.raises(UserError, match=f"^--beam_pipeline_options: .*{message}"):
        BeamEngine(options).check()
    assert "usage" not in capsys.readouterr().err
