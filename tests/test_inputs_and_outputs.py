"""No script writes over what it reads: every flag that names a file against every output."""

import dataclasses
import os

import pytest

from bert_common import cli, files, locks, outputs
from bert_common.errors import UserError
from bert_common.options import FILE, FILES, OUTPUT, declared_options
from bert_tf.evaluation.glue_submission import SubmissionOptions
from bert_tf.extras.search import SearchOptions
from bert_tf.inference.options import ExtractOptions, PredictOptions
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.training import run_directory
from data_gen.options import CorpusOptions, DocstringOptions, TriviaQaOptions
from modeling.config import BertConfig

# Scripts that write the file that they are told to write.
_FILE_SCRIPTS = (
    CorpusOptions,
    DocstringOptions,
    TriviaQaOptions,
    PredictOptions,
    ExtractOptions,
    SearchOptions,
    SubmissionOptions,
)
# Scripts that write results into a run directory → one of the results.
_RUN_SCRIPTS = {
    ClassificationOptions: "test_results.tsv",
    MultipleChoiceOptions: "predictions.csv",
    PretrainingOptions: "eval_results.json",
    SquadOptions: "predictions.json",
    SentenceEmbeddingOptions: "predictions.jsonl",
    TokenClassificationOptions: "test_predictions.txt",
}
_SPECIAL = ("config", "flagfile")


def _flags(options, *kinds) -> list[str]:
    return [option.name for option in declared_options(options) if option.path in kinds]


def _pairs():
    for options in _FILE_SCRIPTS:
        for source in (*_flags(options, FILE, FILES), *_SPECIAL):
            for target in _flags(options, OUTPUT):
                yield pytest.param(
                    options, source, target, id=f"{options.__name__}-{source}-{target}"
                )


def _run_pairs():
    for options, result in _RUN_SCRIPTS.items():
        for source in _flags(options, FILE, FILES):
            yield pytest.param(options, source, result, id=f"{options.__name__}-{source}")


@pytest.fixture(autouse=True)
def empty_register():
    yield
    files.register.begin()


def _content(source: str, tmp_path) -> str:
    # The files with flags must be valid: those that the command line overrides.
    return {"config": "{}\n", "flagfile": "\n"}.get(source, "content\n")


def _required(options, folder) -> dict[str, str]:
    """Flag → value of the flags that a script must be given."""
    values = {}
    for option in declared_options(options):
        if not option.required:
            continue
        path = folder / f"required_{option.name}"
        if option.path in (FILE, FILES):
            path.write_text("content\n")
        values[option.name] = option.choices[0] if option.choices else str(path)
    return values


def test_there_are_enough_pairs():
    assert len(list(_pairs())) + len(list(_run_pairs())) >= 60


@pytest.mark.parametrize(("options", "source", "target"), _pairs())
def test_the_output_of_a_script_is_none_of_its_inputs(tmp_path, options, source, target):
    path = tmp_path / "data.txt"
    path.write_text(_content(source, tmp_path))
    # The same file by another name.
    (tmp_path / "link.txt").symlink_to("data.txt")
    values = {**_required(options, tmp_path), source: str(path), target: f"{tmp_path}/link.txt"}
    arguments = [f"--{name}={value}" for name, value in values.items()]
    with pytest.raises(UserError, match=rf"--{target}: .* is also --{source}, which would be lost"):
        cli.parse(options, ["script.py", *arguments])
    # The function that writes asks the register, too, in a process that is a script.
    files.register.begin(opened=True)
    files.register.note(str(path), source)
    with (
        pytest.raises(UserError, match="would be lost"),
        files.atomic_write(str(path)) as file,
    ):
        file.write("lost")
    assert path.read_text() == _content(source, tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.mark.parametrize(("options", "source", "result"), _run_pairs())
def test_the_results_of_a_run_are_none_of_its_inputs(tmp_path, options, source, result):
    (tmp_path / result).write_text("content\n")
    files.register.begin()
    options(**{source: f"{tmp_path}/{result}"})._note_inputs()
    with pytest.raises(UserError, match=rf"--output_dir: .*{result}.* also --{source}"):
        outputs.check_run_directory(str(tmp_path), "output_dir")
    outputs.check_run_directory(str(tmp_path / "other"), "output_dir")


def test_what_was_only_opened_is_not_replaced_outside_of_a_held_directory(tmp_path):
    path = tmp_path / "article.txt"
    path.write_text("evidence")
    files.register.begin(opened=True)
    assert files.read_text(str(path)) == "evidence"
    with pytest.raises(UserError, match="read by this command"):
        files.copy(__file__, str(path))
    assert path.read_text() == "evidence"
    # The records of a run are read and written again.
    with locks.directory_lock(str(tmp_path), "busy"):
        files.copy(__file__, str(path))
    # A program that is no script may do both.
    files.register.begin()
    assert files.read_text(str(path))
    files.copy(__file__, str(path))


def test_flag_files_in_flag_files_are_inputs(tmp_path):
    (tmp_path / "inner").write_text("--noreport\n")
    (tmp_path / "outer").write_text(f"# flags\n--flagfile={tmp_path}/inner\n")
    assert list(cli._flag_files(["a", "--flagfile", f"{tmp_path}/outer"])) == [
        f"{tmp_path}/outer",
        f"{tmp_path}/inner",
    ]


def test_the_configuration_that_a_run_is_given_is_not_replaced_by_another(tmp_path):
    config = BertConfig(vocab_size=9, hidden_size=4, num_attention_heads=2, num_hidden_layers=1)
    path = tmp_path / "bert_config.json"
    config.to_file(str(path))
    before = path.read_text()
    files.register.begin(opened=True)
    files.register.note(str(path), "bert_config_file")

    def describe(described):
        run_directory.write_description(str(tmp_path), "x.py", {}, described, None, None)

    # A run that resumes with its own configuration leaves it as it is.
    describe(config)
    with pytest.raises(UserError, match=r"bert_config\.json is also --bert_config_file"):
        describe(dataclasses.replace(config, hidden_dropout_prob=0.3))
    assert path.read_text() == before
