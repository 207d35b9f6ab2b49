"""Custom files for a run.

Input: files whose columns the options name, and the checkpoint. Output: `TaskFiles`; the training
file, or else the checkpoint, defines the classes.
"""

import dataclasses
from collections.abc import Sequence

from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks import class_names
from bert_tf.tasks.classification.checkpoint_classes import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    checkpoint_labels,
    order_of_checkpoint,
    problem_kind,
)
from bert_tf.tasks.classification.official_files import TaskFiles
from bert_tf.tasks.classification.options import CUSTOM, ClassificationOptions
from data_gen.labeled.labeled_texts import LabeledTexts, read_labeled_file
from data_gen.labeled.rows import SourceFile
from modeling.checkpoints.load import Checkpoint

_METRICS = {
    CLASSES: classification.CUSTOM_CLASSIFICATION,
    SCORES: classification.CUSTOM_REGRESSION,
    SEVERAL_CLASSES: classification.CUSTOM_MULTI_LABEL,
}


def read_custom(
    options: ClassificationOptions, checkpoint: Checkpoint, teacher_labels: Sequence[str]
) -> TaskFiles:
    """Reads the user's own files."""
    optional = ()
    if options.transfer_file:
        # The texts of --transfer_file may be all that there is to learn from.
        optional = ("train",)
    paths = options.split_files(optional=optional)
    if not options.text_a_column:
        raise UserError(
            f"--task_name={CUSTOM}: --text_a_column must be given: the column with the text"
        )
    is_labeled = options.train_file or options.dev_file
    has_labels = options.label_column or options.label_columns
    if options.evaluates and is_labeled and not has_labels:
        raise UserError(
            f"--task_name={CUSTOM}: --label_column must be given: the column with the labels"
        )
    kind = _custom_kind(options, checkpoint)
    reader = _CustomReader(
        options, checkpoint, kind, _custom_labels(options, checkpoint, kind, teacher_labels)
    )
    texts = options.read_sets(paths, reader.read)
    labels = list(() if reader.labels is None else reader.labels)
    task_files = TaskFiles(
        CUSTOM,
        options.text_b_column is not None,
        labels,
        _METRICS[kind],
        kind,
        texts=texts,
    )
    if kind == CLASSES and len(labels) == 2:
        task_files.metrics = classification.CUSTOM_TWO_CLASSES
        if options.evaluates:
            task_files.notes.append(f"the metric f1 is that of the class {labels[1]!r}")
    return task_files


def _custom_kind(options: ClassificationOptions, checkpoint: Checkpoint) -> str:
    """Returns the kind of a custom task, given by flags or, without training, by the model."""
    # Flags win over the checkpoint: a new head can be trained for another kind of task.
    if options.regression:
        return SCORES
    if options.multi_label or options.label_columns:
        return SEVERAL_CLASSES
    kind = problem_kind(checkpoint)
    # A trained model needs no flag to evaluate as it was trained.
    if not options.do_train and kind in (SCORES, SEVERAL_CLASSES):
        return kind
    return CLASSES


def _custom_labels(
    options: ClassificationOptions,
    checkpoint: Checkpoint,
    kind: str,
    teacher_labels: Sequence[str],
) -> Sequence[str] | None:
    """Returns the names of the classes; None if the training file defines them."""
    if kind == SCORES:
        return []
    if options.do_train:
        if options.train_file:
            return None
        # Only unlabeled texts are read: the teachers name the classes.
        return order_of_checkpoint(teacher_labels, checkpoint)
    labels = checkpoint_labels(checkpoint)
    # The file names the classes of a head that has only numbers.
    if labels and class_names.is_nameless(labels) and options.label_column:
        return None
    if not labels:
        raise UserError(
            f"{checkpoint.source.description} does not contain the names of its classes: it is not "
            "a classifier trained here; give --do_train, or the directory of one"
        )
    return labels


@dataclasses.dataclass
class _CustomReader:
    """Reader of custom files; the first one, for training, defines the labels of the others."""

    options: ClassificationOptions
    checkpoint: Checkpoint
    kind: str
    labels: Sequence[str] | None

    def read(self, name: str, flag: str, path: str) -> LabeledTexts:
        """Reads the file of a split; the test set is without labels."""
        options = self.options
        label_column = options.label_column
        label_columns = options.label_columns
        if name == "test":
            label_column = None
            label_columns = ()
        if self.kind == SEVERAL_CLASSES:
            separator = options.label_separator
        else:
            separator = None
        # Files that are only trained on need no ids.
        if name != "train" or options.dev_fraction:
            id_column = options.id_column
        else:
            id_column = None
        texts = read_labeled_file(
            SourceFile(path, flag, options.file_format, options.skip_bad_rows, options.delimiter),
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
            label_column=label_column,
            labels=self.labels,
            order=self._order,
            ignore_case=not options.do_train,
            regression=self.kind == SCORES,
            separator=separator,
            label_columns=label_columns,
            id_column=id_column,
            # Predictions have a line for every row.
            keep_unusable=name == "test",
        )
        if self.labels is None:
            self.labels = list(texts.label_names)
        return texts

    def _order(self, labels: list[str]) -> list[str]:
        return order_of_checkpoint(labels, self.checkpoint)
