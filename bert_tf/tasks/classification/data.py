"""Examples in memory of the files of a classification task, and whether the checkpoint fits them.

Input: files of GLUE, XNLI or custom ones, and the checkpoint. Output: sequences with labels, which
`bert_tf/tasks/classification/task.py` trains on. Training and predictions encode texts with the
same functions.

Letters: E texts, W sequences (a long text may have several), C classes.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks import class_names
from bert_tf.tasks.classification.options import BALANCED, CUSTOM, LONG_TEXTS, ClassificationOptions
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labeled import glue, tables
from data_gen.labeled.glue import GLUE_TASKS, GlueTask
from data_gen.labeled.pair_features import END, MIDDLE, encode_pairs, encode_windows
from data_gen.labeled.rows import Skip
from data_gen.labeled.tables import LabeledTexts
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint
from modeling.config import label_names

# Values of "kind" in task.json. The last two are values of Hugging Face's "problem_type", too.
CLASSES = "classification"
SCORES = "regression"
SEVERAL_CLASSES = "multi_label_classification"
TRUNCATE, HEAD_TAIL, WINDOWS = LONG_TEXTS

# Maximum number of classes in a row of results.
_MAX_PROBABILITIES = 1000
_METRICS = {
    CLASSES: classification.CUSTOM_CLASSIFICATION,
    SCORES: classification.CUSTOM_REGRESSION,
    SEVERAL_CLASSES: classification.CUSTOM_MULTI_LABEL,
}


@dataclasses.dataclass(frozen=True)
class LongTexts:
    """Rule for texts of more than `max_seq_length` tokens, [CLS] and [SEP] included.

    Attributes:
      how: one of `LONG_TEXTS`.
      stride: tokens from one window to the next; None without windows.
    """

    how: str
    max_seq_length: int
    stride: int | None = None

    def __post_init__(self):
        room = self.max_seq_length - 2
        if self.is_windows and not 1 <= self.stride <= room:
            raise UserError(
                f"--window_stride is {self.stride}: it must be from 1 to {room}, the tokens of a "
                f"window of --max_seq_length={self.max_seq_length}"
            )

    @classmethod
    def choose(
        cls, how: str | None, max_seq_length: int, stride: int | None, task: Mapping | None
    ) -> "LongTexts":
        """Returns the rule given by options, else by `task.json`, else truncation.

        Windows overlap by half by default.
        """
        task = task or {}
        # Training gets options, predictions get `task.json`: both must cut texts in the same way.
        how = how or task.get("long_texts", TRUNCATE)
        if how != WINDOWS:
            return cls(how, max_seq_length)
        if not stride:
            # The stride in task.json belongs to the length there: shorter windows must not leave
            # gaps between them.
            room = max_seq_length - 2
            stride = min(task.get("window_stride", max(room // 2, 1)), room)
        return cls(how, max_seq_length, stride)

    @property
    def is_windows(self) -> bool:
        """Whether a text may have several sequences."""
        return self.how == WINDOWS

    @property
    def truncation(self) -> str:
        """Which tokens of a text that is too long are lost, see `encode_pairs`."""
        if self.how == HEAD_TAIL:
            return MIDDLE
        return END

    def encode(
        self, tokenizer: Tokenizer, text_a: Sequence[str], text_b: Sequence[str] | None
    ) -> tuple[Examples, np.ndarray | None, int]:
        """Encodes E texts or pairs.

        Returns:
          W sequences; int64 [E], the number of sequences of each text, or None if each has one;
          and the number of texts that lost tokens.
        """
        if self.is_windows:
            windows = encode_windows(tokenizer, text_a, self.max_seq_length, self.stride)
            # Windows have a single text: all tokens are of segment 0.
            tokens = {
                "input_ids": windows.input_ids,
                "segment_ids": np.zeros(len(windows.input_ids), np.uint8),
            }
            return Examples(tokens, windows.row_lengths), windows.window_counts, 0
        features = encode_pairs(
            tokenizer, text_a, text_b, self.max_seq_length, truncation=self.truncation
        )
        tokens = {"input_ids": features.input_ids, "segment_ids": features.segment_ids}
        return Examples(tokens, features.row_lengths), None, features.truncated


def per_window(values: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """Repeats values of texts, [E, ...], for each of their sequences: [W, ...]."""
    if window_counts is None:
        return values
    return np.repeat(values, window_counts, axis=0)


def pool(logits: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """Averages logits over the sequences of each text: [W, C] → [E, C]."""
    if window_counts is None:
        return logits
    # Windows of a text are side by side: sum from its first one to the next text's. Float64 keeps
    # the rounding errors of the sum far below those of the model.
    first_windows = np.cumsum(window_counts) - window_counts
    sums = np.add.reduceat(logits.astype(np.float64), first_windows, axis=0)
    return (sums / window_counts[:, None]).astype(logits.dtype)


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

        F1 is that of class 1, also where a published head has it first. Other values are returned
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


@dataclasses.dataclass
class _TaskFiles:
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
    task = None
    if not options.do_train:
        task = checkpoint.task
    # The rule depends on the task's files in one case only: pairs have no windows, which is checked
    # once they are read.
    long_texts = LongTexts.choose(
        options.long_texts, options.max_seq_length, options.window_stride, task
    )
    _check_options(options, task_files, long_texts)
    notes = list(task_files.notes)
    notes += class_names.order_notes(
        task_files.labels, _checkpoint_labels(checkpoint), _meanings(task_files.glue)
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
    positive_weights = None
    if train is not None:
        positive_weights = _weight_examples(train, task_files, options)
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
        description["window_stride"] = long_texts.stride
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
    options: ClassificationOptions, task_files: _TaskFiles, long_texts: LongTexts
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
    texts: LabeledTexts, task_files: _TaskFiles, long_texts: LongTexts, tokenizer: Tokenizer
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
    train: TextSplit, task_files: _TaskFiles, options: ClassificationOptions
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
    train: TextSplit, task_files: _TaskFiles, options: ClassificationOptions
) -> list[float] | None:
    """Returns the weight of each class by --class_weights; None for scores and equal weights.

    The balanced weight of a class is examples / (number of classes that occur * examples of the
    class); if several classes may apply, examples without the class / examples with it. It is 1 for
    a class that no example or every example has.
    """
    if task_files.kind == SCORES or options.class_weights is None:
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
    trained = {**expected, **(checkpoint.task or {})}
    if checkpoint.task is None and not data.regression:
        trained |= _described_head(checkpoint)
    if trained["kind"] not in (CLASSES, SCORES, SEVERAL_CLASSES):
        return None
    # A head with the same classes in another order would predict the wrong names.
    labels = class_names.order_of_head(expected["labels"], trained["labels"], _meanings(data.glue))
    if labels != expected["labels"] or trained["kind"] != expected["kind"]:
        names = ", ".join(trained["labels"]) or "of a regression"
        several = ""
        if trained["kind"] == SEVERAL_CLASSES:
            several = ", of which several may apply"
        return f"that of the checkpoint is for the labels {names}{several}"
    # MNLI's head may predict another set with the same labels, e.g. AX, but training another task
    # starts with a new one.
    if do_train and trained["task_name"] != expected["task_name"]:
        return f"that of the checkpoint was trained for {trained['task_name']}"
    return None


def _described_head(checkpoint: Checkpoint) -> dict[str, object]:
    """Returns names and kind of a head of others, by the keys of `task.json`."""
    described: dict[str, object] = {}
    labels = _checkpoint_labels(checkpoint)
    if labels:
        described["labels"] = labels
    if problem_kind(checkpoint) == SEVERAL_CLASSES:
        described["kind"] = SEVERAL_CLASSES
    return described


def _read_files(
    options: ClassificationOptions, checkpoint: Checkpoint, teacher_labels: Sequence[str]
) -> _TaskFiles:
    """Reads the files of the task, and the texts of --transfer_file."""
    if options.is_custom:
        task_files = _read_custom(options, checkpoint, teacher_labels)
    elif not options.data_dir:
        raise UserError("--data_dir must be given: the directory with the files of GLUE or XNLI")
    elif options.is_xnli:
        task_files = _read_xnli(options, checkpoint)
    else:
        task_files = _read_glue(options, checkpoint)
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
        # Labels of these texts would be those of the teachers, so that the column is not read.
        task_files.texts["transfer"] = tables.read_labeled_file(
            files.check_readable(options.transfer_file, "transfer_file"),
            "transfer_file",
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
            file_format=options.file_format,
            delimiter=options.delimiter,
        )
    return task_files


def _read_glue(options: ClassificationOptions, checkpoint: Checkpoint) -> _TaskFiles:
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
    labels = _order_of_checkpoint(task.labels, checkpoint, _meanings(task))
    kind = CLASSES
    if task.regression:
        kind = SCORES
    task_files = _TaskFiles(
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
        _read_glue_splits(task_files, task, options, ("train",), options.skip_bad_rows)
    if options.evaluates:
        dev_splits = glue.dev_splits(task)
        _read_glue_splits(task_files, task, options, dev_splits, options.skip_bad_rows)
        for name, path in options.named_eval_files.items():
            task_files.texts[f"dev_{name}"] = glue.read_split(
                task, options.data_dir, dev_splits[0], path, options.skip_bad_rows
            )
    if options.do_predict:
        _read_glue_splits(task_files, task, options, glue.test_splits(task), options.skip_bad_rows)
    return task_files


def _read_glue_splits(
    task_files: _TaskFiles,
    task: GlueTask,
    options: ClassificationOptions,
    splits: Sequence[str],
    skip_bad_rows: Skip,
) -> None:
    """Adds official files; the first is required, MNLI's second (mismatched) is optional."""
    for split in splits:
        is_required = split == splits[0]
        if is_required or glue.find_path(task, options.data_dir, split):
            task_files.texts[split] = glue.read_split(
                task, options.data_dir, split, skip_bad_rows=skip_bad_rows
            )
        else:
            task_files.notes.append(
                f"{task.folder} has no {split}.tsv in {options.data_dir}: only {splits[0]} is used"
            )


def _read_xnli(options: ClassificationOptions, checkpoint: Checkpoint) -> _TaskFiles:
    """Reads the files of XNLI; with several languages there is a split for each."""
    labels = _order_of_checkpoint(glue.XNLI_LABELS, checkpoint)
    task_files = _TaskFiles(glue.XNLI, True, labels, ("accuracy",))
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


def _read_custom(
    options: ClassificationOptions, checkpoint: Checkpoint, teacher_labels: Sequence[str]
) -> _TaskFiles:
    """Reads the user's own files."""
    optional = ()
    if options.transfer_file:
        # The texts of --transfer_file may be all that there is to learn from.
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
    named_paths = {}
    for name, (flag, path) in paths.items():
        if flag == "eval_files":
            name = f"dev_{name}"
        named_paths[name] = (flag, path)
    texts = options.read_sets(named_paths, reader.read)
    labels = list(reader.labels or ())
    task_files = _TaskFiles(
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
        return _order_of_checkpoint(teacher_labels, checkpoint)
    labels = _checkpoint_labels(checkpoint)
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
        separator = None
        if self.kind == SEVERAL_CLASSES:
            separator = options.label_separator
        # Files that are only trained on need no ids.
        id_column = None
        if name != "train" or options.dev_fraction:
            id_column = options.id_column
        texts = tables.read_labeled_file(
            path,
            flag,
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
            label_column=label_column,
            labels=self.labels,
            order=self._order,
            ignore_case=not options.do_train,
            regression=self.kind == SCORES,
            separator=separator,
            file_format=options.file_format,
            skip_bad_rows=options.skip_bad_rows,
            delimiter=options.delimiter,
            label_columns=label_columns,
            id_column=id_column,
            # Predictions have a line for every row.
            keep_unusable=name == "test",
        )
        if self.labels is None:
            self.labels = list(texts.label_names)
        return texts

    def _order(self, labels: list[str]) -> list[str]:
        return _order_of_checkpoint(labels, self.checkpoint)


def problem_kind(checkpoint: Checkpoint) -> str | None:
    """Returns the kind of task in task.json or Hugging Face's configuration, if they name one."""
    if checkpoint.task:
        return checkpoint.task.get("kind")
    return checkpoint.config.extra.get("problem_type")


def _checkpoint_labels(checkpoint: Checkpoint) -> list[str]:
    """Returns the names of the classes in task.json, else those that a Hugging Face configuration
    gives to the head; empty if there are none."""
    if checkpoint.task:
        return checkpoint.task.get("labels") or []
    if checkpoint.source is not None and "output_weights" in checkpoint.source.tensors:
        return label_names(checkpoint.config)
    return []


def _order_of_checkpoint(
    labels: Sequence[str], checkpoint: Checkpoint, meanings: Mapping[str, str] | None = None
) -> list[str]:
    """Returns the labels in the order of the checkpoint's head, if it has the same labels."""
    if checkpoint.source is None or not labels:
        return list(labels)
    names = class_names.order_of_head(labels, _checkpoint_labels(checkpoint), meanings)
    # A head with further classes is one for another task.
    if names is None or len(names) != len(labels):
        return list(labels)
    return names


def _meanings(task: GlueTask | None) -> dict[str, str]:
    """Returns numbered label → name of a GLUE task, by the original's order of the labels."""
    if task is None:
        return {}
    numbered = GLUE_TASKS[task.name].labels
    return dict(zip(numbered, task.class_names, strict=False))
