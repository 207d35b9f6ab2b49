"""Examples in memory of the files of a classification task, and whether the checkpoint fits them.

Input: files of GLUE, XNLI or custom ones, and the checkpoint. Output: sequences with labels, which
`bert_tf/tasks/classification/task.py` trains on. Training and predictions encode texts with the
same functions.

Letters: E texts, W sequences (a long text may have several), C classes.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks import class_names
from bert_tf.tasks.classification.checkpoint_classes import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    checkpoint_labels,
    meanings_of,
    problem_kind,
)
from bert_tf.tasks.classification.custom_files import read_custom
from bert_tf.tasks.classification.long_texts import TRUNCATE, LongTexts, per_window
from bert_tf.tasks.classification.official_files import TaskFiles, read_glue, read_xnli
from bert_tf.tasks.classification.options import BALANCED, ClassificationOptions
from bert_tf.training.examples import Dataset, Datasets
from data_gen.labeled.glue import GLUE_TASKS, GlueTask
from data_gen.labeled.labeled_texts import LabeledTexts, read_labeled_file
from data_gen.labeled.rows import SourceFile
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint

# Maximum number of classes in a row of results.
_MAX_PROBABILITIES = 1000


def named_probabilities(
    labels: Sequence[str], probabilities: np.ndarray, convert: Callable[[float], object]
) -> dict[str, object]:
    """Returns class → probability, in the order of the classes; of more than 1,000 classes the
    1,000 most probable ones."""
    numbers = np.arange(len(labels))
    if len(labels) > _MAX_PROBABILITIES:
        numbers = np.sort(np.argsort(-probabilities, kind="stable")[:_MAX_PROBABILITIES])
    return {labels[number]: convert(probabilities[number]) for number in numbers}


def predicted_labels(
    labels: Sequence[str], probabilities: np.ndarray, multi_label: bool
) -> dict[str, object]:
    """Returns {"label": the most probable}, or {"labels": all of probability 0.5 and more}."""
    if not multi_label:
        return {"label": labels[int(probabilities.argmax())]}
    # A probability of one half is a logit of 0, see `ClassificationData.predictions`.
    return {"labels": [labels[number] for number in np.flatnonzero(probabilities >= 0.5)]}


@dataclasses.dataclass(frozen=True)
class TextSplit(Dataset):
    """Texts of a file, and the sequences made of them.

    Attributes:
      window_counts: int64 [E], sequences of each text; None if each has one.
    """

    window_counts: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class ClassificationData(Datasets):
    """Data sets of a run.

    Attributes:
      kind: `CLASSES`, `SCORES` or `SEVERAL_CLASSES`.
      positive_weights: weights of the classes in the loss of `SEVERAL_CLASSES`; None for 1.
      transfer: unlabeled texts for a teacher; None without them.
    """

    glue: GlueTask | None
    kind: str
    labels: tuple[str, ...]
    positive_weights: tuple[float, ...] | None
    transfer: TextSplit | None = None

    def files(self) -> dict[str, str]:
        paths = super().files()
        if self.transfer is not None:
            paths = {**paths, "transfer": self.transfer.source.path}
        return paths

    @property
    def regression(self) -> bool:
        """Whether scores are predicted."""
        return self.kind == SCORES

    @property
    def no_answer(self) -> dict[str, object]:
        """The key and the empty value of the prediction for a row that can't be predicted."""
        if self.regression:
            return {"score": None}
        return {"labels": None} if self.multi_label else {"label": ""}

    @property
    def multi_label(self) -> bool:
        """Whether several classes may apply to an example."""
        return self.kind == SEVERAL_CLASSES

    def values(self, logits: np.ndarray) -> np.ndarray:
        """Converts logits [E, C] to float64 probabilities [E, C] or, for scores, float32 [E]."""
        # The head of a regression has one output, the score itself.
        if self.regression:
            return logits[:, 0]
        if self.multi_label:
            return classification.sigmoid(logits)
        return classification.softmax(logits)

    def predictions(self, logits: np.ndarray) -> np.ndarray:
        """Converts logits [E, C] to predictions.

        Returns:
          int classes [E]; float32 scores [E]; or bool [E, C], the classes of a probability of at
          least one half.
        """
        if self.regression:
            return logits[:, 0]
        if self.multi_label:
            # The sigmoid of 0 is one half.
            return logits >= 0
        return logits.argmax(axis=-1)

    def official(self, values: np.ndarray) -> np.ndarray:
        """Returns classes of a GLUE task, int [E], with the numbers of the original's order.

        F1 counts class 1, also where a published head has it first. Other values are returned
        as they are.
        """
        if self.glue is None or self.regression:
            return values
        names = GLUE_TASKS[self.glue.name].labels
        return np.array([names.index(label) for label in self.labels], values.dtype)[values]


class LazyValues:
    """`ClassificationData.values` of each example, computed when they are asked for.

    The probabilities of 30,000 examples and as many classes would take 7 GB at once.
    """

    def __init__(self, data: ClassificationData, logits: np.ndarray):
        self._data = data
        self._logits = logits
        self.shape = data.values(logits[:1]).shape

    def __getitem__(self, row: int) -> np.ndarray:
        return self._data.values(self._logits[row : row + 1])[0]


def read_data(
    options: ClassificationOptions, checkpoint: Checkpoint, teacher_labels: Sequence[str] = ()
) -> ClassificationData:
    """Reads the files that the run needs and encodes their texts.

    Args:
      teacher_labels: names of the classes if no training file contains them.
    """
    # Fail before reading files, which may take minutes.
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    task_files = _read_files(options, checkpoint, teacher_labels)
    # A new model does not follow the task.json of the checkpoint that it starts from.
    task = {}
    side = None
    if not options.do_train:
        task = checkpoint.task_settings
        side = checkpoint.source.truncation_side
    # The rule depends on the task's files in one case only: pairs have no windows, which is checked
    # once they are read.
    long_texts = LongTexts.choose(
        options.long_texts, options.max_seq_length, options.window_stride, task, side
    )
    _check_options(options, task_files, long_texts)
    notes = list(task_files.notes)
    notes += class_names.order_notes(
        task_files.labels, checkpoint_labels(checkpoint), meanings_of(task_files.glue)
    )
    splits = {}
    for name, texts in task_files.texts.items():
        # Limits on the number of examples are per set; all transfer texts are used.
        if name == "train" or name.startswith("dev"):
            texts = options.limited(name, texts)
        elif name != "transfer":
            texts = options.limited("test", texts)
        splits[name] = _encode_split(texts, task_files, long_texts, checkpoint.tokenizer)
        notes += texts.notes
        notes += _split_notes(name, splits[name], long_texts)
    # The remaining splits are development and test sets, in the order of the files: the first
    # development set selects the best weights.
    train = splits.pop("train", None)
    transfer = splits.pop("transfer", None)
    if train is not None:
        positive_weights = _weight_examples(train, task_files, options)
    else:
        positive_weights = None
    # Predictions read these keys from `task.json`. The default rule for long texts is not written,
    # as `LongTexts.choose` takes it anyway.
    description = {
        "kind": task_files.kind,
        "task_name": task_files.name,
        "labels": task_files.labels,
        "pair": task_files.pair,
        "max_seq_length": options.max_seq_length,
    }
    if long_texts.how != TRUNCATE:
        description["long_texts"] = long_texts.how
    if long_texts.is_windows:
        description["window_stride"] = long_texts.window_stride
    dev = {}
    test = {}
    for name, split in splits.items():
        if name.startswith("dev"):
            dev[name] = split
        else:
            test[name] = split
    return ClassificationData(
        glue=task_files.glue,
        kind=task_files.kind,
        labels=tuple(task_files.labels),
        metrics=task_files.metrics,
        train=train,
        dev=dev,
        test=test,
        positive_weights=positive_weights,
        transfer=transfer,
        notes=notes,
        description=description,
    )


def _check_options(
    options: ClassificationOptions, task_files: TaskFiles, long_texts: LongTexts
) -> None:
    """Raises `UserError` for options that do not fit the kind of task."""
    if long_texts.is_windows and task_files.pair:
        raise UserError(
            "--long_texts=windows is for single texts: pairs can be cut by truncate or head_tail"
        )
    if task_files.kind == SCORES:
        if options.class_weights:
            raise UserError("--class_weights is for classes, this task is a regression")
        if options.distillation_temperature or "distillation_temperature" in options.sweep:
            raise UserError(
                "--distillation_temperature is for classes: a teacher's scores are learned as they "
                "are"
            )
    # The weights would silently have no effect on unlabeled texts.
    if options.class_weights and options.do_train and "train" not in task_files.texts:
        raise UserError(
            "--class_weights is for labels: texts of --transfer_file, which have none, count the "
            "same"
        )


def _encode_split(
    texts: LabeledTexts, task_files: TaskFiles, long_texts: LongTexts, tokenizer: Tokenizer
) -> TextSplit:
    """Encodes the texts of a file, with their labels."""
    examples, window_counts, truncated = long_texts.encode(tokenizer, texts.text_a, texts.text_b)
    classes = {}
    if texts.labels is not None:
        # Every window of a text is trained on the label of the text.
        labels = {"label_ids": per_window(texts.labels, window_counts)}
        examples = dataclasses.replace(examples, values=labels)
        if task_files.kind == SEVERAL_CLASSES:
            counts = texts.labels.sum(axis=0, dtype=np.int64)
            classes = dict(zip(task_files.labels, counts.tolist(), strict=True))
        elif task_files.kind == CLASSES:
            counts = np.bincount(texts.labels, minlength=len(task_files.labels))
            classes = dict(zip(task_files.labels, counts.tolist(), strict=True))
    return TextSplit(texts, examples, window_counts, classes=classes, truncated=truncated)


def _split_notes(name: str, split: TextSplit, long_texts: LongTexts) -> list[str]:
    """Returns notes on the texts of a file that do not fit one sequence."""
    notes = []
    if split.truncated:
        notes.append(
            f"{name}: {split.truncated} of {len(split)} examples were truncated to "
            f"{long_texts.max_seq_length} tokens"
        )
    if split.window_counts is not None:
        # Count texts whose prediction averages several windows.
        num_long = np.count_nonzero(split.window_counts > 1)
        if num_long:
            notes.append(
                f"{name}: {num_long} of {len(split)} examples have several windows, "
                f"{len(split.examples)} windows in all"
            )
    return notes


def _weight_examples(
    train: TextSplit, task_files: TaskFiles, options: ClassificationOptions
) -> tuple[float, ...] | None:
    """Sets "loss_weight" of the training sequences if they do not all count the same.

    Returns:
      weights of the positive labels in the loss if an example may have several; else None.
    """
    weights = _class_weights(train, task_files, options)
    positive_weights = None
    if weights is not None and task_files.kind == SEVERAL_CLASSES:
        positive_weights = tuple(weights)
        weights = None
    counts = train.window_counts
    if weights is None and counts is None:
        return positive_weights
    # A feature for all sequences or for none: batches must have the same structure.
    per_text = np.ones(len(train), np.float32)
    if weights is not None:
        per_text = np.array(weights, np.float32)[train.source.labels]
    if counts is not None:
        # All windows of a text count as much together as one text.
        per_text = per_text / counts.astype(np.float32)
    train.examples.values["loss_weight"] = per_window(per_text, counts)
    return positive_weights


def _class_weights(
    train: TextSplit, task_files: TaskFiles, options: ClassificationOptions
) -> list[float] | None:
    """Returns the weights by --class_weights, one a class; None without that flag.

    They are for the examples of a class; if several classes may apply, for the examples that have
    the class beside those that do not. The balanced weight is examples / (number of classes that
    occur * examples of the class), or examples without the class / examples with it. It is 1 for a
    class that no example or every example has.
    """
    if options.class_weights is None:
        return None
    if options.class_weights != BALANCED:
        weights = options.listed_weights()
        # The number of classes is known only after the training file was read.
        if len(weights) != len(task_files.labels):
            raise UserError(
                f"--class_weights={options.class_weights}: {len(task_files.labels)} numbers are "
                f"expected, for {', '.join(task_files.labels)}"
            )
        return weights
    num_examples = len(train)
    # A class without examples must not make the others lighter.
    num_classes = np.count_nonzero(list(train.classes.values()))
    weights = []
    for count in train.classes.values():
        weight = 1.0
        if task_files.kind == SEVERAL_CLASSES:
            if 0 < count < num_examples:
                weight = (num_examples - count) / count
        elif count > 0:
            weight = num_examples / (int(num_classes) * count)
        weights.append(weight)
    return weights


def check_head(checkpoint: Checkpoint, data: ClassificationData, do_train: bool) -> str | None:
    """Returns why the checkpoint's classification head can't be used for this task.

    None if it can be used, or there is none.
    """
    if checkpoint.source is None or "output_weights" not in checkpoint.source.tensors:
        return None
    # The original names the weights of every classifier `output_weights`, [classes, H].
    head_classes = checkpoint.source.tensors["output_weights"][0]
    classes = len(data.labels)
    if data.regression:
        classes = 1
    if head_classes != classes:
        return f"that of the checkpoint has {head_classes} classes, this task has {classes}"
    expected = data.description
    # Keys that `task.json` lacks can't be compared: they count as equal.
    trained = {**expected, **checkpoint.task_settings}
    if checkpoint.task is None and not data.regression:
        trained |= _described_head(checkpoint)
    if trained["kind"] not in (CLASSES, SCORES, SEVERAL_CLASSES):
        return None
    # A head with the same classes in another order would predict the wrong names.
    labels = class_names.order_of_head(
        expected["labels"], trained["labels"], meanings_of(data.glue)
    )
    if labels != expected["labels"] or trained["kind"] != expected["kind"]:
        names = ", ".join(trained["labels"]) or "of a regression"
        if trained["kind"] == SEVERAL_CLASSES:
            several = ", of which several may apply"
        else:
            several = ""
        return f"that of the checkpoint is for the labels {names}{several}"
    if not do_train and trained["pair"] != expected["pair"]:
        inputs = "pairs of texts" if trained["pair"] else "single texts"
        return f"the checkpoint was trained on {inputs}, unlike the files of this run"
    # MNLI's head may predict another set with the same labels, e.g. AX, but training another task
    # starts with a new one.
    if do_train and trained["task_name"] != expected["task_name"]:
        return f"that of the checkpoint was trained for {trained['task_name']}"
    return None


def _described_head(checkpoint: Checkpoint) -> dict[str, object]:
    """Returns names and kind of a head of others, by the keys of `task.json`."""
    described: dict[str, object] = {}
    labels = checkpoint_labels(checkpoint)
    if labels:
        described["labels"] = labels
    if problem_kind(checkpoint) == SEVERAL_CLASSES:
        described["kind"] = SEVERAL_CLASSES
    return described


def _read_files(
    options: ClassificationOptions, checkpoint: Checkpoint, teacher_labels: Sequence[str]
) -> TaskFiles:
    """Reads the files of the task, and the texts of --transfer_file."""
    if options.is_custom:
        task_files = read_custom(options, checkpoint, teacher_labels)
    elif not options.data_dir:
        raise UserError("--data_dir must be given: the directory with the files of GLUE or XNLI")
    elif options.is_xnli:
        task_files = read_xnli(options, checkpoint)
    else:
        task_files = read_glue(options, checkpoint)
    if options.do_train and options.transfer_file:
        has_pairs = options.text_b_column is not None
        if task_files.pair and not has_pairs:
            raise UserError(
                "--transfer_file: --text_b_column must be given, as this task is for pairs of texts"
            )
        if has_pairs and not task_files.pair:
            raise UserError(
                "--transfer_file: --text_b_column is given, but this task is for single texts"
            )
        # Labels of these texts would come from the teachers, so that the column is not read.
        task_files.texts["transfer"] = read_labeled_file(
            SourceFile(
                files.check_readable(options.transfer_file, "transfer_file"),
                "transfer_file",
                options.file_format,
                options.skip_bad_rows,
                options.delimiter,
            ),
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
        )
    return task_files
