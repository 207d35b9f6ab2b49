import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.inference.options import (
    TASKS,
    ExportOptions,
    ExtractOptions,
    InferenceSettings,
    PredictOptions,
    task_class,
)
from bert_tf.tasks.inference import TaskInference


@pytest.mark.parametrize("make", [PredictOptions, ExtractOptions])
@pytest.mark.parametrize(
    "output, message",
    [
        ("lines.txt", "is also --input_file, which would be lost"),
        ("words.txt", "is also --vocab_file"),
        ("run/ckpt-1.index", "is a part of a checkpoint"),
        ("run/vocab.txt", "is a part of"),
        ("run", "is a directory"),
    ],
)
def test_an_output_that_would_destroy_something_is_refused(tmp_path, make, output, message):
    (tmp_path / "run").mkdir()
    for name in (
        "lines.txt",
        "words.txt",
        "run/ckpt-1.index",
        "run/vocab.txt",
        "run/predictions.jsonl",
    ):
        (tmp_path / name).touch()
    options = make(
        init_checkpoint=f"{tmp_path}/run",
        input_file=f"{tmp_path}/lines.txt",
        output_file=f"{tmp_path}/run/predictions.jsonl",
        vocab_file=f"{tmp_path}/words.txt",
    )
    options.check()
    with pytest.raises(UserError, match=f"--output_file: .*{output} {message}"):
        options.replace(output_file=f"{tmp_path}/{output}").check()


def test_the_output_takes_the_place_of_no_path_that_is_declared():
    """Whatever else is read is a path by its declaration, and none is written over."""
    assert PredictOptions(init_checkpoint="run", vocab_file="words.txt").path_options() == {
        "input_file": "-",
        "output_file": "-",
        "init_checkpoint": "run",
        "vocab_file": "words.txt",
    }


@pytest.mark.parametrize(
    "task, read, unread",
    [
        ("question_answering", {"doc_stride", "top_k", "n_best_size"}, {"layer", "pooling"}),
        ("features", {"layer", "pooling"}, {"doc_stride", "top_k"}),
        ("fill_mask", {"top_k"}, {"doc_stride", "layer"}),
        ("classification", set(), {"doc_stride", "top_k", "layer"}),
    ],
)
def test_help_and_check_go_by_the_task(task, read, unread):
    common = {"init_checkpoint", "task", "max_seq_length", "batch_size", "input_file"}
    shown = {one.name for one in PredictOptions.options_in_help({"task": task})}
    assert common | read <= shown and not shown & unread
    InferenceSettings(given=frozenset(common | read)).check_read_by(task)
    for name in unread:
        with pytest.raises(
            UserError, match=f"--{name} is not read with --task={task}, only with --task="
        ):
            InferenceSettings(given=frozenset({name, "batch_size"})).check_read_by(task)


def test_an_export_of_question_answering_gives_one_answer():
    arguments = [
        "export_model.py",
        "--init_checkpoint=x",
        "--export_dir=y",
        "--task=question_answering",
    ]
    assert cli.parse(ExportOptions, [*arguments, "--n_best_size=3"]).n_best_size == 3
    with pytest.raises(
        UserError,
        match="--top_k is not read with --task=question_answering, only with --task=fill_mask",
    ):
        cli.parse(ExportOptions, [*arguments, "--top_k=3"])
    assert "top_k" not in {
        one.name for one in ExportOptions.options_in_help({"task": "question_answering"})
    }
    assert cli.parse(PredictOptions, [*arguments[:2], arguments[3], "--top_k=3"]).top_k == 3


@pytest.mark.parametrize(
    "former, today",
    [
        ("classifier", "classification"),
        ("squad", "question_answering"),
        ("ner", "token_classification"),
        ("ner_features", "token_classification_from_features"),
        ("features", "features"),
    ],
)
def test_former_names_of_tasks_are_read(former, today, tmp_path):
    assert (
        cli.parse(PredictOptions, ["predict.py", "--init_checkpoint=x", f"--task={former}"]).task
        == today
    )
    PredictOptions(init_checkpoint="x", task=former).check()


def test_help_without_a_task_lists_all_by_task():
    groups = {one.name: one.group for one in PredictOptions.options_in_help({})}
    assert groups.keys() == {one.name for one in declared_options(PredictOptions)}
    assert (groups["layer"], groups["doc_stride"], groups["top_k"], groups["max_seq_length"]) == (
        "With --task=features.",
        "With --task=question_answering.",
        "With --task=question_answering or --task=fill_mask.",
        "Inputs.",
    )


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_class_that_says_what_it_takes(task):
    cls = task_class(task)
    assert issubclass(cls, TaskInference) and not cls.__abstractmethods__
    assert (
        cls.layouts and cls.text_inputs and all(isinstance(name, str) for name in cls.text_inputs)
    )
    assert len({(task_class(other).head, task_class(other).kinds) for other in TASKS}) == len(TASKS)
