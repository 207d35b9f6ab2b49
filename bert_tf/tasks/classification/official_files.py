"""Files of GLUE and XNLI for a run.

Input: --data_dir, and the checkpoint, whose head may have the classes in another order. Output:
`TaskFiles`, as `custom_files.py` makes them, too.
"""

import dataclasses
from collections.abc import Sequence

from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks.classification.checkpoint_classes import (
    CLASSES,
    SCORES,
    meanings_of,
    order_of_checkpoint,
)
from bert_tf.tasks.classification.options import ClassificationOptions
from data_gen.labeled import glue
from data_gen.labeled.glue import GlueTask
from data_gen.labeled.labeled_texts import LabeledTexts
from modeling.checkpoints.load import Checkpoint


@dataclasses.dataclass
class TaskFiles:
    """Files of a task that a run reads, with what they say about the task.

    Attributes:
      labels: names of the classes in the order of their numbers; empty for scores.
      texts: split → texts of the file: "train"; "dev…", the first of which selects the best
        weights; "transfer"; and those to predict.
    """

    name: str
    pair: bool
    labels: list[str]
    metrics: tuple[str, ...]
    kind: str = CLASSES
    glue: GlueTask | None = None
    texts: dict[str, LabeledTexts] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)


def read_glue(options: ClassificationOptions, checkpoint: Checkpoint) -> TaskFiles:
    """Reads the files of a GLUE task."""
    task = glue.find_task(options.task_name)
    # GLUE publishes AX for predictions only.
    if task.name == "ax" and options.evaluates:
        raise UserError(
            "the diagnostic set AX has no labels here: give --do_predict only, and an "
            "--init_checkpoint that is trained for MNLI"
        )
    # A checkpoint of others may have the classes in another order: follow it, so that its head can
    # be used.
    labels = order_of_checkpoint(task.labels, checkpoint, meanings_of(task))
    if task.regression:
        kind = SCORES
    else:
        kind = CLASSES
    task_files = TaskFiles(
        task.name,
        task.columns.text_b is not None,
        labels,
        classification.TASK_METRICS.get(task.name, ()),
        kind,
        task,
    )
    # Read the labels as the numbers that the head has for them.
    task = dataclasses.replace(task, labels=tuple(labels))
    if options.do_train:
        _read_glue_splits(task_files, task, options, ("train",))
    if options.evaluates:
        dev_splits = glue.dev_splits(task)
        _read_glue_splits(task_files, task, options, dev_splits)
        for split, path in options.eval_splits.items():
            if split in task_files.texts:
                raise UserError(
                    f"--eval_files: {split.removeprefix('dev_')} is a development set of "
                    f"{task.folder}: choose another name"
                )
            task_files.texts[split] = glue.read_split(
                task, options.data_dir, dev_splits[0], path, options.skip_bad_rows
            )
    if options.do_predict:
        _read_glue_splits(task_files, task, options, glue.test_splits(task))
    return task_files


def _read_glue_splits(
    task_files: TaskFiles,
    task: GlueTask,
    options: ClassificationOptions,
    splits: Sequence[str],
) -> None:
    """Adds official files; the first is required, MNLI's second (mismatched) is optional."""
    for split in splits:
        is_required = split == splits[0]
        if is_required or glue.find_path(task, options.data_dir, split):
            task_files.texts[split] = glue.read_split(
                task, options.data_dir, split, skip_bad_rows=options.skip_bad_rows
            )
        else:
            task_files.notes.append(
                f"{task.folder} has no {split}.tsv in {options.data_dir}: only {splits[0]} is used"
            )


def read_xnli(options: ClassificationOptions, checkpoint: Checkpoint) -> TaskFiles:
    """Reads the files of XNLI; with several languages there is a split for each."""
    labels = order_of_checkpoint(glue.XNLI_LABELS, checkpoint)
    task_files = TaskFiles(glue.XNLI, True, labels, ("accuracy",))
    train_languages = (options.train_language,)
    if options.do_train:
        texts = glue.read_xnli(
            options.data_dir, "train", train_languages, labels, options.skip_bad_rows
        )
        task_files.texts["train"] = texts[options.train_language]
    languages = options.eval_languages or train_languages
    if options.evaluates:
        texts = glue.read_xnli(options.data_dir, "dev", languages, labels, options.skip_bad_rows)
        task_files.texts.update(_by_language("dev", texts))
    if options.do_predict:
        texts = glue.read_xnli(options.data_dir, "test", languages, labels, options.skip_bad_rows)
        task_files.texts.update(_by_language("test", texts))
    return task_files


def _by_language(split: str, texts: dict[str, LabeledTexts]) -> dict[str, LabeledTexts]:
    """Names the texts of a split by their language, unless there is only one."""
    if len(texts) == 1:
        return {split: next(iter(texts.values()))}
    return {f"{split}_{language}": part for language, part in texts.items()}
