"""From the files of a classification task to examples in memory, and whether the checkpoint fits
them.

Input: files of GLUE, XNLI or custom ones, and the checkpoint. Output: sequences with labels, which
`bert_tf/tasks/classification/task.py` trains on. Runs and predictions make sequences of texts by
the same functions.

Letters: E texts, W sequences, of which a long text may have several, C classes.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks.classification.options import BALANCED, CUSTOM, LONG_TEXTS, ClassificationOptions
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labelled import glue, tables
from data_gen.labelled.glue import GlueTask
from data_gen.labelled.pair_features import END, MIDDLE, encode_pairs, encode_windows
from data_gen.labelled.tables import LabelledTexts
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint
from modeling.config import label_names

# "kind" in task.json, and "problem_type" of Hugging Face where it is not the first.
CLASSES, SCORES, SEVERAL_CLASSES = "classification", "regression", "multi_label_classification"
TRUNCATE, HEAD_TAIL, WINDOWS = LONG_TEXTS


@dataclasses.dataclass(frozen=True)
class LongTexts:
    """Sequences of texts, also of those of more than `max_seq_length` tokens, [CLS] and [SEP]
    included.

    Attributes:
      how: one of `LONG_TEXTS`.
      stride: tokens from one window to the next; None where there are none.
    """

    how: str
    max_seq_length: int
    stride: int | None = None

    def __post_init__(self):
        room = self.max_seq_length - 2
        if self.is_windows and not 1 <= self.stride <= room:
            raise UserError(
                f"--window_stride is {self.stride}: it must be from 1 to {room}, the tokens of a window of "
                f"--max_seq_length={self.max_seq_length}"
            )

    @classmethod
    def choose(
        cls, how: str | None, max_seq_length: int, stride: int | None, task: Mapping | None
    ) -> "LongTexts":
        """As asked for; else as in `task.json`; else truncated, with windows that overlap by half.

        The stride of `task.json` is for its own length: windows that are shorter than it touch.
        """
        task, room = task or {}, max_seq_length - 2
        how = how or task.get("long_texts", TRUNCATE)
        if how != WINDOWS:
            return cls(how, max_seq_length)
        return cls(
            how, max_seq_length, stride or min(task.get("window_stride", max(room // 2, 1)), room)
        )

    @property
    def is_windows(self) -> bool:
        """Whether a text may have several sequences."""
        return self.how == WINDOWS

    @property
    def lose(self) -> str:
        """Which tokens of a text that is cut are lost, see `encode_pairs`."""
        return MIDDLE if self.how == HEAD_TAIL else END

    def encode(
        self, tokenizer: Tokenizer, text_a: Sequence[str], text_b: Sequence[str] | None
    ) -> tuple[Examples, np.ndarray | None, int]:
        """W sequences of texts or pairs; int64 [E], how many each has, None where that is one; how
        many lost tokens."""
        if self.is_windows:
            windows = encode_windows(tokenizer, text_a, self.max_seq_length, self.stride)
            tokens = {
                "input_ids": windows.input_ids,
                "segment_ids": np.zeros(len(windows.input_ids), np.uint8),
            }
            return Examples(tokens, windows.row_lengths), windows.window_counts, 0
        features = encode_pairs(tokenizer, text_a, text_b, self.max_seq_length, lose=self.lose)
        tokens = {"input_ids": features.input_ids, "segment_ids": features.segment_ids}
        return Examples(tokens, features.row_lengths), None, features.truncated


def per_window(values: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """Values of texts, [E, ...], as those of their sequences, [W, ...]."""
    return values if window_counts is None else np.repeat(values, window_counts, axis=0)


def pool(logits: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """The mean over the sequences of each text: [W, C] → [E, C]."""
    if window_counts is None:
        return logits
    sums = np.add.reduceat(
        logits.astype(np.float64), np.cumsum(window_counts) - window_counts, axis=0
    )
    return (sums / window_counts[:, None]).astype(logits.dtype)


def predicted_labels(
    labels: Sequence[str], probabilities: np.ndarray, multi_label: bool
) -> dict[str, object]:
    """{"label": the most probable}; or {"labels": those of a probability of at least one half}."""
    if multi_label:
        return {
            "labels": [
                label for label, value in zip(labels, probabilities, strict=True) if value >= 0.5
            ]
        }
    return {"label": labels[int(probabilities.argmax())]}


@dataclasses.dataclass(frozen=True)
class TextSplit(Dataset):
    """A file's texts, and the sequences made of them: `window_counts`, int64 [E]; None where each
    text has one."""

    window_counts: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class ClassificationData(Datasets):
    """What a run reads.

    Attributes:
      kind: `CLASSES`, `SCORES` or `SEVERAL_CLASSES`.
      positive_weights: of the classes in the loss, where several may apply; None for 1.
      transfer: texts without labels for a teacher; None where there are none.
    """

    glue: GlueTask | None
    kind: str
    labels: tuple[str, ...]
    positive_weights: tuple[float, ...] | None
    transfer: TextSplit | None = None

    def files(self) -> dict[str, str]:
        return super().files() | (
            {} if self.transfer is None else {"transfer": self.transfer.source.path}
        )

    @property
    def regression(self) -> bool:
        """Whether scores are predicted."""
        return self.kind == SCORES

    @property
    def multi_label(self) -> bool:
        """Whether several classes may apply to an example."""
        return self.kind == SEVERAL_CLASSES

    def values(self, logits: np.ndarray) -> np.ndarray:
        """What is written of logits [E, C]: float64 probabilities [E, C]; float32 scores [E] of a
        regression."""
        if self.regression:
            return logits[:, 0]
        return (
            classification.sigmoid(logits) if self.multi_label else classification.softmax(logits)
        )

    def predictions(self, logits: np.ndarray) -> np.ndarray:
        """Classes, int [E]; scores, float32 [E]; or the classes of a probability of at least one
        half, bool [E, C]."""
        if self.regression:
            return logits[:, 0]
        return logits >= 0 if self.multi_label else logits.argmax(axis=-1)


def read_data(
    options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str] = ()
) -> ClassificationData:
    """Reads the files that the run needs and makes sequences of their texts.

    `teacher_labels` are the names of the classes where no training file contains them.
    """
    opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    found = _read_files(options, opened, teacher_labels)
    long_texts = LongTexts.choose(
        options.long_texts,
        options.max_seq_length,
        options.window_stride,
        None if options.do_train else opened.task,
    )
    if long_texts.is_windows and found.pair:
        raise UserError(
            "--long_texts=windows is for single texts: pairs can be cut by truncate or head_tail"
        )
    if options.class_weights and found.kind == SCORES:
        raise UserError("--class_weights is for classes, this task is a regression")
    if found.kind == SCORES and (
        options.distillation_temperature or "distillation_temperature" in options.sweep
    ):
        raise UserError(
            "--distillation_temperature is for classes: a teacher's scores are learnt as they are"
        )
    if options.class_weights and options.do_train and "train" not in found.texts:
        raise UserError(
            "--class_weights is for labels: texts of --transfer_file, which have none, count the same"
        )
    notes, splits = list(found.notes), {}
    for name, texts in found.texts.items():
        if name != "transfer":
            texts = options.limited(
                name if name == "train" or name.startswith("dev") else "test", texts
            )
        examples, counts, truncated = long_texts.encode(
            opened.tokenizer, texts.text_a, texts.text_b
        )
        if texts.labels is not None:
            examples = dataclasses.replace(
                examples, values={"label_ids": per_window(texts.labels, counts)}
            )
        counted = (
            {}
            if texts.labels is None or found.kind == SCORES
            else dict(
                zip(
                    found.labels,
                    (
                        texts.labels.sum(axis=0, dtype=np.int64)
                        if found.kind == SEVERAL_CLASSES
                        else np.bincount(texts.labels, minlength=len(found.labels))
                    ).tolist(),
                    strict=True,
                )
            )
        )
        splits[name] = TextSplit(texts, examples, counts, classes=counted, truncated=truncated)
        notes += texts.notes
        if truncated:
            notes.append(
                f"{name}: {truncated} of {len(texts)} examples were truncated to {long_texts.max_seq_length} tokens"
            )
        if counts is not None and (several := int((counts > 1).sum())):
            notes.append(
                f"{name}: {several} of {len(texts)} examples have several windows, {len(examples)} windows in all"
            )
    train, transfer, positive_weights = (
        splits.pop("train", None),
        splits.pop("transfer", None),
        None,
    )
    if train is not None:
        weights, counts = _weights_of_classes(train, found, options), train.window_counts
        if found.kind == SEVERAL_CLASSES:
            weights, positive_weights = None, weights and tuple(weights)
        if weights is not None or counts is not None:
            per_text = (
                np.ones(len(train), np.float32)
                if weights is None
                else np.array(weights, np.float32)[train.source.labels]
            )
            # The windows of a text count as much together as one text.
            if counts is not None:
                per_text = per_text / counts.astype(np.float32)
            train.examples.values["loss_weight"] = per_window(per_text, counts)
    return ClassificationData(
        glue=found.glue,
        kind=found.kind,
        labels=tuple(found.labels),
        metrics=found.metrics,
        train=train,
        dev={name: split for name, split in splits.items() if name.startswith("dev")},
        test={name: split for name, split in splits.items() if not name.startswith("dev")},
        positive_weights=positive_weights,
        transfer=transfer,
        notes=notes,
        description={
            "kind": found.kind,
            "task_name": found.name,
            "labels": found.labels,
            "pair": found.pair,
            "max_seq_length": options.max_seq_length,
            **({} if long_texts.how == TRUNCATE else {"long_texts": long_texts.how}),
            **({"window_stride": long_texts.stride} if long_texts.is_windows else {}),
        },
    )


def check_head(opened: Checkpoint, data: ClassificationData, do_train: bool) -> str | None:
    """Why the checkpoint's classification head can't be used for this task; None where it can, or
    there is none."""
    shape = opened.source.tensors.get("output_weights") if opened.source else None
    if shape is None:
        return None
    classes = 1 if data.regression else len(data.labels)
    if shape[0] != classes:
        return f"that of the checkpoint has {shape[0]} classes, this task has {classes}"
    here = data.description
    there = {**here, **(opened.task or {})}
    if there["kind"] not in (CLASSES, SCORES, SEVERAL_CLASSES):
        return None
    if list(there["labels"]) != here["labels"] or there["kind"] != here["kind"]:
        several = ", of which several may apply" if there["kind"] == SEVERAL_CLASSES else ""
        return f"that of the checkpoint is for the labels {', '.join(there['labels']) or 'of a regression'}{several}"
    if do_train and there["task_name"] != here["task_name"]:
        return f"that of the checkpoint was trained for {there['task_name']}"
    return None


@dataclasses.dataclass
class _TaskFiles:
    """The files of a task that a run reads, with some of what `ClassificationData` and `task.json`
    have.

    Attributes:
      labels: names of the classes in the order of their numbers; empty for scores.
      texts: split → whole files: "train"; "dev…", of which the first selects; and those that are
        predicted.
    """

    name: str
    pair: bool
    labels: list[str]
    metrics: tuple[str, ...]
    kind: str = CLASSES
    glue: GlueTask | None = None
    texts: dict[str, LabelledTexts] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)


def _weights_of_classes(
    train: TextSplit, found: _TaskFiles, options: ClassificationOptions
) -> list[float] | None:
    """By --class_weights, of each class; None for 1 each and of scores.

    Balanced are: examples / (classes that have some x those of the class); where several may apply,
    the examples without the class / those with it. 1 for a class without any, or that all have.
    """
    if found.kind == SCORES or options.class_weights is None:
        return None
    if options.class_weights != BALANCED:
        weights = options.listed_weights()
        if len(weights) != len(found.labels):
            raise UserError(
                f"--class_weights={options.class_weights}: {len(found.labels)} numbers are expected, for "
                f"{', '.join(found.labels)}"
            )
        return weights
    counts, examples = list(train.classes.values()), len(train)
    if found.kind == SEVERAL_CLASSES:
        return [(examples - count) / count if 0 < count < examples else 1.0 for count in counts]
    num_classes = sum(count > 0 for count in counts)
    return [examples / (num_classes * count) if count else 1.0 for count in counts]


def _read_files(
    options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str]
) -> _TaskFiles:
    if options.is_custom:
        found = _read_custom(options, opened, teacher_labels)
    else:
        if not options.data_dir:
            what = "the files of XNLI" if options.is_xnli else "the folders of GLUE's tasks"
            raise UserError(f"--data_dir must be given: where {what} are")
        found = (_read_xnli if options.is_xnli else _read_glue)(options, opened)
    if options.do_train and options.transfer_file:
        if found.pair != (options.text_b_column is not None):
            raise UserError(
                "--transfer_file: --text_b_column must be given, as this task is for pairs of texts"
                if found.pair
                else "--transfer_file: --text_b_column is given, but this task is for single texts"
            )
        found.texts["transfer"] = tables.read_labelled_file(
            files.check_readable(options.transfer_file, "transfer_file"),
            "transfer_file",
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
            labels=None,
            file_format=options.file_format,
        )
    return found


def _read_glue(options: ClassificationOptions, opened: Checkpoint) -> _TaskFiles:
    task = glue.find_task(options.task_name)
    if task.name == "ax" and options.evaluates:
        raise UserError(
            "the diagnostic set AX has no labels here: give --do_predict only, and an --init_checkpoint "
            "that is trained for MNLI"
        )
    labels = _order_of_checkpoint(task.labels, opened)
    found = _TaskFiles(
        task.name,
        task.columns.text_b is not None,
        labels,
        classification.TASK_METRICS.get(task.name, ()),
        SCORES if task.regression else CLASSES,
        task,
    )
    task, dev, test = (
        dataclasses.replace(task, labels=tuple(labels)),
        glue.dev_splits(task),
        glue.test_splits(task),
    )
    needed = (
        [("train",)] * options.do_train + [dev] * options.evaluates + [test] * options.do_predict
    )
    for names in needed:
        # The first must be there.
        for name in names:
            if name == names[0] or glue.find_path(task, options.data_dir, name):
                found.texts[name] = glue.read_split(
                    task,
                    options.data_dir,
                    name,
                    skip_bad_rows=None if names is test else options.skip_bad_rows,
                )
            else:
                found.notes.append(
                    f"{task.folder} has no {name}.tsv in {options.data_dir}: only {names[0]} is used"
                )
        if names is dev:
            found.texts |= {
                f"dev_{name}": glue.read_split(
                    task, options.data_dir, dev[0], path, options.skip_bad_rows
                )
                for name, path in options.named_eval_files.items()
            }
    return found


def _read_xnli(options: ClassificationOptions, opened: Checkpoint) -> _TaskFiles:
    found = _TaskFiles(
        glue.XNLI, True, _order_of_checkpoint(glue.XNLI_LABELS, opened), ("accuracy",)
    )
    if options.do_train:
        train = glue.read_xnli(
            options.data_dir,
            "train",
            (options.train_language,),
            found.labels,
            options.skip_bad_rows,
        )
        found.texts["train"] = train[options.train_language]
    for split, is_needed in (("dev", options.evaluates), ("test", options.do_predict)):
        if is_needed:
            texts = glue.read_xnli(
                options.data_dir,
                split,
                options.eval_languages or (options.train_language,),
                found.labels,
                options.skip_bad_rows if split == "dev" else None,
            )
            found.texts |= {
                split if len(texts) == 1 else f"{split}_{language}": one
                for language, one in texts.items()
            }
    return found


def _read_custom(
    options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str]
) -> _TaskFiles:
    # Text of --transfer_file may be all there is to learn from.
    paths = options.split_files(optional=("train",) if options.transfer_file else ())
    if not options.text_a_column:
        raise UserError(
            f"--task_name={CUSTOM}: --text_a_column must be given: the column with the text"
        )
    is_labelled = options.train_file or options.dev_file
    if options.evaluates and is_labelled and not options.label_column:
        raise UserError(
            f"--task_name={CUSTOM}: --label_column must be given: the column with the labels"
        )
    kind = SCORES if options.regression else SEVERAL_CLASSES if options.multi_label else CLASSES
    # Of a model that is not trained further, what it is.
    if (
        kind == CLASSES
        and not options.do_train
        and problem_kind(opened) in (SCORES, SEVERAL_CLASSES)
    ):
        kind = problem_kind(opened)
    separator = options.label_separator if kind == SEVERAL_CLASSES else None
    # Those of the training file are known when it is read.
    labels: Sequence[str] | None = [] if kind == SCORES else None
    if kind != SCORES and not options.do_train:
        labels = opened.task.get("labels") if opened.task else _names_in_config(opened)
        if not labels:
            raise UserError(
                f"{opened.source.description} does not contain the names of its classes: it is not a classifier "
                "trained here; give --do_train, or the directory of one"
            )
    elif kind != SCORES and not options.train_file:
        labels = _order_of_checkpoint(teacher_labels, opened)
    metrics = {
        CLASSES: classification.OWN_CLASSIFICATION,
        SCORES: classification.OWN_REGRESSION,
        SEVERAL_CLASSES: classification.OWN_MULTI_LABEL,
    }[kind]

    def read(name: str, flag: str, path: str) -> LabelledTexts:
        nonlocal labels
        is_test = name == "test"
        texts = tables.read_labelled_file(
            path,
            flag,
            text_a_column=options.text_a_column,
            text_b_column=options.text_b_column,
            label_column=None if is_test else options.label_column,
            labels=labels,
            order=lambda names: _order_of_checkpoint(names, opened),
            regression=kind == SCORES,
            separator=separator,
            file_format=options.file_format,
            skip_bad_rows=None if is_test else options.skip_bad_rows,
        )
        labels = list(texts.label_names) if labels is None else labels
        return texts

    texts = options.read_sets(
        {
            f"dev_{name}" if flag == "eval_files" else name: (flag, path)
            for name, (flag, path) in paths.items()
        },
        read,
    )
    return _TaskFiles(
        CUSTOM, options.text_b_column is not None, list(labels or ()), metrics, kind, texts=texts
    )


def problem_kind(opened: Checkpoint) -> str | None:
    """`CLASSES`, `SCORES` or `SEVERAL_CLASSES`, as in task.json or Hugging Face's configuration;
    else None."""
    return opened.task.get("kind") if opened.task else opened.config.extra.get("problem_type")


def _names_in_config(opened: Checkpoint) -> list[str]:
    """The names of the classes from a configuration of Hugging Face; empty where there are none, or
    no head."""
    return label_names(opened.config) if "output_weights" in opened.source.tensors else []


def _order_of_checkpoint(labels: Sequence[str], opened: Checkpoint) -> list[str]:
    """The labels in the order that the checkpoint's head has them in, where it is one for these
    labels."""
    if opened.source is None or not labels:
        return list(labels)
    names = (
        opened.task["labels"]
        if opened.task and "labels" in opened.task
        else _names_in_config(opened)
    )
    return list(names if sorted(names) == sorted(labels) else labels)
