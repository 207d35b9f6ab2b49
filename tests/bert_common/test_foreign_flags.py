"""Flags of other programs: the message about an unknown flag has the name here."""

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_common.foreign_flags import _NAMES, name_here
from bert_common.options import declared_options
from bert_tf.inference.options import PredictOptions
from bert_tf.tasks.classification.options import ClassificationOptions
from data_gen.options import CorpusOptions


def test_every_name_exists_in_some_script(project):
    known = {
        line.partition(":")[0] for line in (project / "tests/flags.txt").read_text().split("\n")
    }
    for names in _NAMES.values():
        assert all(name.partition("=")[0] in known for name in names), names
    precision = next(
        option for option in declared_options(ClassificationOptions) if option.name == "precision"
    )
    for name in ("bf16", "fp16"):
        assert _NAMES[name][0].partition("=")[2] in precision.choices
    assert len(_NAMES) >= 25


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--lr=1e-3", "--learning_rate"),
        ("--epochs=3", "--num_train_epochs"),
        ("--fp16", "--precision=float16"),
        ("--model_name_or_path=x", "--init_checkpoint"),
        ("--per_device_train_batch_size=8", "--train_batch_size"),
    ],
)
def test_the_name_here_is_in_the_message(given, expected):
    with pytest.raises(UserError, match=rf": it is called {expected} here \(--help=all"):
        cli.parse(ClassificationOptions, ["run_classifier.py", given])


def test_scripts_without_the_flag_name_none():
    names = {option.name for option in declared_options(CorpusOptions)}
    assert name_here("lr", names) is None and name_here("text_column_name", names) == "--text_field"


def test_texts_and_files_are_no_arguments():
    with pytest.raises(
        UserError, match="'a text': values are .*; texts are read from --input_file=FILE"
    ):
        cli.parse(PredictOptions, ["predict.py", "--init_checkpoint=x", "a text"])
