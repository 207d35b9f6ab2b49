import json
import pathlib

import numpy as np
import pytest
from scipy import stats

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras import compare
from bert_tf.extras.compare import CompareOptions, Group, read_groups
from bert_tf.runs import provenance

_EARLIER = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures/run_directories"


def write_run(folder: pathlib.Path, accuracy: float, seed: int = 1, **flags) -> str:
    folder.mkdir(parents=True)
    versions = {"tensorflow": "2.20.0"}
    start = {
        "time": "2026-01-01",
        "devices": "1 x CPU",
        "host": "a",
        "commit": {"id": "0" * 40, "modified": True},
        "versions": versions,
    }
    json_files.write(
        str(folder / "flags.json"),
        {
            "script": "run_classifier.py",
            "versions": versions,
            "starts": [start],
            "flags": {
                "seed": seed,
                "output_dir": str(folder),
                "learning_rate": 1e-3,
                "num_train_epochs": 3.0,
            }
            | flags,
        },
    )
    json_files.write(
        str(folder / "eval_results.json"),
        {
            "eval_accuracy": accuracy,
            "eval_loss": 1 - accuracy,
            "loss": 1 - accuracy,
            "global_step": 9,
        },
    )
    (folder / "metrics.jsonl").write_text(
        json.dumps({"step": 9, "split": "eval", "accuracy": 0.0}) + "\n"
    )
    return str(folder)


def options(*sources, **changes) -> CompareOptions:
    made = CompareOptions(sources=tuple(map(str, sources)), **changes)
    made.check()
    return made


def test_the_score_of_a_file_called_test_is_not_that_of_the_development_set(tmp_path):
    path = pathlib.Path(write_run(tmp_path / "run", 0.5)) / "eval_results.json"
    json_files.write(str(path), json_files.read(str(path)) | {"eval_test_accuracy": 0.75})
    scores = compare._read_scores(str(tmp_path / "run"))
    assert (scores["accuracy"], scores["test_accuracy"]) == (0.5, 0.75)


def groups(*sources) -> list[Group]:
    return read_groups([str(source) for source in sources])


def section(text: str, title: str) -> list[str]:
    return text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines()


def test_runs_that_differ_in_the_seed_are_one_column(tmp_path, capsys):
    scores = {1e-3: [0.80, 0.82, 0.81], 1e-2: [0.91, 0.90, 0.95]}
    for rate, values in scores.items():
        for seed, value in enumerate(values):
            write_run(tmp_path / f"all/lr{rate}_seed{seed}", value, seed, learning_rate=rate)
    first, second = groups(tmp_path / "all")
    assert (first.name, second.name) == ("lr0.001 (3 seeds)", "lr0.01 (3 seeds)")
    compare.run(options(tmp_path / "all"))
    text = capsys.readouterr().out
    assert section(text, "Flags") == ["                   A     B", "learning_rate  0.001  0.01"]
    expected = stats.ttest_rel(scores[1e-2], scores[1e-3])
    low, high = expected.confidence_interval()
    accuracy = next(line for line in section(text, "Scores") if line.startswith("accuracy"))
    # Two metrics, which are one up to the sign: Holm's correction doubles p.
    assert accuracy == (
        f"accuracy  0.8100 ± 0.0100  0.9200 ± 0.0265  +0.1100 [{low:+.4f}, {high:+.4f}] "
        f"p={2 * expected.pvalue:.3f}"
    )
    assert section(text, "Versions") == ["the same"]
    # Who names seeds of one setting wants to see these.
    assert [
        group.name for group in groups(*(tmp_path / f"all/lr0.001_seed{seed}" for seed in range(3)))
    ] == [f"lr0.001_seed{seed}" for seed in range(3)]


def test_other_seeds_are_compared_unpaired(tmp_path):
    for name, seeds, values in (("a", (1, 2, 3), (0.5, 0.6, 0.7)), ("b", (4, 5), (0.8, 0.9))):
        for seed, value in zip(seeds, values, strict=True):
            write_run(tmp_path / name / str(seed), value, seed, max_seq_length=len(seeds))
    first, second = groups(tmp_path / "a", tmp_path / "b")
    found = compare.difference(second.values("accuracy"), first.values("accuracy"))
    test = stats.ttest_ind([0.8, 0.9], [0.5, 0.6, 0.7], equal_var=False)
    np.testing.assert_allclose(
        [found.mean, found.p, found.low, found.high],
        [0.25, test.pvalue, *test.confidence_interval()],
    )
    # Nothing is known of chance.
    for a, b in (
        ({1: 0.5}, {1: 0.7}),
        ({1: 0.5, 2: 0.6}, {1: 0.6, 2: 0.7}),
        ({1: 0.5, 2: float("nan")}, {1: 0, 2: 1}),
    ):
        assert compare.difference(a, b).p is None


def test_data_are_those_that_the_runs_recorded(tmp_path, monkeypatch, capsys):
    """Not the files of these names that are there now, in whatever directory."""
    for name, text in (("a", "one"), ("b", "two")):
        run = pathlib.Path(write_run(tmp_path / name / "run", 0.5, dev_file="dev.csv"))
        (tmp_path / name / "dev.csv").write_text(text)
        provenance.write(
            str(run), provenance.fingerprints({"dev": [f"{tmp_path}/{name}/dev.csv"]}, {}), {}
        )
    for name in ("a", "b"):
        (tmp_path / name / "dev.csv").write_text("the same now")
    monkeypatch.chdir(tmp_path / "a")
    compare.run(options(tmp_path / "a/run", tmp_path / "b/run"))
    _, row = section(capsys.readouterr().out, "Data and model")
    name, first, second = row.rsplit(maxsplit=2)
    assert name == "dev" and first != second


def test_run_directories_of_earlier_versions(tmp_path, capsys):
    """Their values are text in lists, versions are few, and no file says what a result was made
    from."""
    now = write_run(tmp_path / "now", 0.9, 7, train_batch_size=8, eval_batch_size=8)
    compare.run(options(_EARLIER / "classification/run", now))
    text = capsys.readouterr().out
    assert ["learning_rate", "0.03", "0.001"] in [line.split() for line in section(text, "Flags")]
    assert ["accuracy", "0.7500", "0.9000", "+0.1500"] in [
        line.split() for line in section(text, "Scores")
    ]
    assert "train_batch_size" not in "\n".join(section(text, "Flags")[:-1])
    compare.run(
        options(
            *(
                _EARLIER / name / "run"
                for name in ("classification", "pretraining", "question_answering")
            )
        )
    )
    assert "accuracy" in capsys.readouterr().out


def test_what_is_refused(tmp_path):
    one = write_run(tmp_path / "one", 0.5)
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/flags.json").write_text('{"flags": 3}')
    for sources, message in (
        ((), "nothing to compare: name two or more run directories"),
        ((one,), "one is the only run: name another one"),
        ((one, tmp_path / "no"), "no does not exist: a run directory is expected"),
        ((one, f"{one}/flags.json"), "flags.json is a file"),
        ((one, tmp_path / "empty"), "empty is no run directory"),
        ((tmp_path / "empty",), "empty is no run directory"),
        ((one, tmp_path / "damaged"), "damaged/flags.json: 'flags' is 3, an object is expected"),
    ):
        with pytest.raises(UserError, match=message):
            compare.run(options(*sources))
