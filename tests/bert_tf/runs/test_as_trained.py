"""A later evaluation of a run reads texts as its training did, without the flags."""

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask
from bert_tf.tasks.classification.task import run as run_classifier
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.multiple_choice.task import run as run_choices
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.sentence_embedding.task import run as run_embedding
from bert_tf.tasks.token_classification.feature_based import run as run_tagger
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from modeling.checkpoints.convert import convert
from tests.bert_tf.tasks.classification import toy_task
from tests.bert_tf.tasks.multiple_choice import toy_questions
from tests.bert_tf.tasks.sentence_embedding import toy_pairs
from tests.bert_tf.tasks.token_classification import toy_names

SPLITS = ("train", "dev")


def texts(folder):
    toy_task.write_model(folder)
    files = {f"{name}_file": toy_task.write_csv(folder / f"{name}.csv", 40) for name in SPLITS}
    return dict(task_name="custom", text_a_column="review", label_column="verdict", **files)


def names(folder):
    toy_names.write_model(folder)
    for split in ("eng.train", "eng.testa"):
        toy_names.write_conll(folder / split, toy_names.make_documents(30, 1))
    return dict(data_dir=str(folder))


def choices(folder):
    toy_questions.write_model(folder)
    files = {
        f"{name}_file": toy_questions.write_jsonl(folder / f"{name}.jsonl", 30) for name in SPLITS
    }
    columns = dict(context_column="context", choices_columns=("choices",), label_column="label")
    return dict(task_name="custom", **columns, **files)


def pairs(folder):
    toy_pairs.write_model(folder)
    files = {
        f"{name}_file": toy_pairs.write_columns(folder / f"{name}.csv", 40, 1) for name in SPLITS
    }
    return dict(dev_task_name="scored", **files)


@pytest.mark.parametrize(
    "options_class, run, write, reading",
    [
        (ClassificationOptions, run_classifier, texts, dict(max_seq_length=6)),
        (
            TokenClassificationOptions,
            run_tagger,
            names,
            dict(max_seq_length=6, context="sentence", min_context=1),
        ),
        (
            TokenClassificationOptions,
            run_tagger,
            names,
            dict(max_seq_length=12, context="vote", votes=3),
        ),
        (
            TokenClassificationOptions,
            run_tagger,
            names,
            dict(max_seq_length=6, tag_scheme="plain"),
        ),
        (
            MultipleChoiceOptions,
            run_choices,
            choices,
            dict(max_seq_length=9, truncate="context_start"),
        ),
        (SentenceEmbeddingOptions, run_embedding, pairs, dict(max_seq_length=5, normalize=False)),
    ],
)
def test_an_evaluation_reads_as_the_training_did(tmp_path, options_class, run, write, reading):
    data = write(tmp_path)

    def evaluated(**changes) -> dict:
        run(options_class(output_dir=str(tmp_path / "run"), do_eval=True, **data, **changes))
        return json_files.read(str(tmp_path / "run" / "eval_results.json"))

    trained = evaluated(
        do_train=True,
        bert_config_file=f"{tmp_path}/bert_config.json",
        learning_rate=0.01,
        num_train_epochs=0.2,
        **reading,
    )
    assert evaluated() == pytest.approx(trained)
    # A flag that is given wins.
    assert evaluated(max_seq_length=30) != pytest.approx(trained)


@pytest.mark.parametrize("output_format", ["native", "huggingface"])
def test_a_converted_run_is_evaluated_alike(tmp_path, output_format):
    data = dict(texts(tmp_path), do_eval=True)
    trained = ClassificationOptions(
        output_dir=str(tmp_path / "run"),
        do_train=True,
        bert_config_file=f"{tmp_path}/bert_config.json",
        num_train_epochs=0.2,
        max_seq_length=6,
        **data,
    )
    run_classifier(trained)
    convert(str(tmp_path / "run"), output_format, str(tmp_path / "converted"))
    del data["train_file"]
    options = ClassificationOptions(
        init_checkpoint=str(tmp_path / "converted"), output_dir=str(tmp_path / "out"), **data
    )
    run_classifier(options)
    first, second = (
        json_files.read(str(tmp_path / name / "eval_results.json"))["eval_loss"]
        for name in ("run", "out")
    )
    assert second == pytest.approx(first)
    # The batches of several devices are others, the length is not.
    task = ClassificationTask(options).with_options(options.replace(eval_batch_size=3))
    assert (task.options.max_seq_length, task.options.eval_batch_size) == (6, 3)


@pytest.mark.parametrize("value", [{"max_seq_length": 2}, {"truncate": "both"}])
def test_a_file_that_was_edited_is_named(value):
    with pytest.raises(UserError, match="task.json: --"):
        MultipleChoiceOptions(output_dir="out").as_trained(value)
