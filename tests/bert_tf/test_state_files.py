"""Files that programs keep their state in, edited by hand: one line that names file and field, or
work done again."""

import json

import pytest

from bert_common.errors import UserError
from bert_tf.runs import results
from bert_tf.tasks.pretraining.vocabulary import read_notes
from bert_tf.training import run_directory
from data_gen.pretraining import external_shuffle
from modeling.checkpoints.companion_files import read_best_record, read_task_file
from tests.refusals import assert_refused

_SOURCES = {"a": 1}


# Name → what stands in the file, and who reads it in a directory.
_FILES = {
    "task.json": (
        {"kind": "classification", "labels": ["a", "b"], "max_seq_length": 16, "pair": True},
        lambda folder: read_task_file(f"{folder}/task.json"),
    ),
    "flags.json": ({"flags": {"seed": 1}}, lambda folder: run_directory.read_flags(folder)),
    "best.json": ({"step": 1, "metric": "f1", "metrics": {"f1": 0.5}}, read_best_record),
    "run_result.json": (
        {
            "version": results.VERSION,
            "digest": results.digest(_SOURCES),
            "sources": _SOURCES,
            "metrics": {"f1": 0.5},
            "seconds": 1.5,
        },
        results.read_result,
    ),
}
_OTHERS = (None, True, [[]], 1.5, 10**30, {"a": None})
# The others that are of the right type, or stand for a key that may be missing.
_ACCEPTED = {
    ("task.json", "kind"): (None,),
    ("task.json", "labels"): (None,),
    ("task.json", "max_seq_length"): (None,),
    ("task.json", "pair"): (None, True),
    ("flags.json", "flags"): (None, {"a": None}),
    ("run_result.json", "metrics"): (None,),
    ("run_result.json", "seconds"): (None, 1.5),
}


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, (content, _) in _FILES.items() for key in content]
)
@pytest.mark.parametrize("value", _OTHERS, ids=ascii)
def test_a_field_of_another_type(tmp_path, name, key, value):
    content, read = _FILES[name]
    read_it = lambda changed: (  # noqa: E731
        (tmp_path / name).write_text(json.dumps(changed)) and read(str(tmp_path))
    )
    assert read_it(content)
    if value in _ACCEPTED.get((name, key), ()):
        read_it({**content, key: value})
        return
    assert_refused(lambda: read_it({**content, key: value}), str(tmp_path / name), key)


def test_a_wrong_line_of_the_metrics(tmp_path):
    for line in (
        '{"step": "1", "split": "train"}',
        '{"step": 1}',
        "[]",
        "{",
        "\xff",
        '{"step": 1.5, "split": "eval"}',
    ):
        (tmp_path / "metrics.jsonl").write_text(f'{{"step": 1, "split": "train"}}\n{line}\n')
        with pytest.raises(UserError, match="metrics.jsonl:2: "):
            run_directory.read_metrics(str(tmp_path))


def test_notes_beside_records_that_are_no_notes(tmp_path):
    (tmp_path / "t").touch()
    for wrong in (5, [], {"a": 1}, None):
        (tmp_path / "t.stats.json").write_text(
            json.dumps(
                dict.fromkeys(
                    (
                        "vocab_sha256",
                        "vocab_file",
                        "do_lower_case",
                        "max_predictions_per_seq",
                        "masked_lm_prob",
                        "shards",
                    ),
                    wrong,
                )
            )
        )
        (note,) = read_notes("input_file", [str(tmp_path / "t")])
        assert note.fingerprint is None and note.vocab_file is None


_SEALED = json.dumps(external_shuffle.sealed({"bytes": 5}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "9" * 5000,
        '{"bytes": 5}',
        _SEALED.replace("5}", "6}"),
        _SEALED.replace('{"bytes": 5}', "null"),
        _SEALED.replace("bytes", "bites"),
    ],
)
def test_facts_of_finished_work_that_are_damaged_are_as_none(tmp_path, text):
    path = str(tmp_path / "part")
    external_shuffle.write_facts(path, {"bytes": 5})
    assert external_shuffle.read_facts(path) == {"bytes": 5}
    (tmp_path / "part.json").write_text(text)
    assert external_shuffle.read_facts(path) is None
