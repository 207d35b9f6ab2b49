"""Trained models whose outputs a smaller one learns: which fit, and their soft labels for
`modeling/losses.py`.

Input: `--teacher_checkpoint`. `Teachers` read the batches of their student in the training step,
every replica its own share: masked tokens have tens of thousands of soft labels, which would not
fit on a disk. `TeacherOutputs` are of classifiers, each of which reads the texts with its own
tokenizer and at its own length; they are kept and may be removed at any time:

  .teacher_outputs/<split>-<digest>.npy    logits of one teacher for the texts of a split
  .teacher_outputs/<split>-<digest>.json   their manifest: what they were made from, of which the
  name has the digest
"""

import dataclasses
import os
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.runs import provenance
from bert_tf.runs.options import DistillationOptions
from bert_tf.runs.results import digest
from bert_tf.tasks.classification.data import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    ClassificationData,
    per_window,
    problem_kind,
)
from bert_tf.tasks.classification.inference import ClassificationInference, class_labels
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.examples import Examples, concatenated
from bert_tf.training.run_directory import TEACHER_OUTPUTS
from data_gen.labelled.tables import LabelledTexts
from data_gen.tokenization.vocabulary import Vocabulary, short
from modeling.checkpoints.companion_files import check_vocabulary
from modeling.checkpoints.load import load_weights, open_checkpoint, read_checkpoint
from modeling.checkpoints.weights import HEADS
from modeling.config import BertConfig, label_names
from modeling.costs import training_flops
from modeling.losses import IS_LABELLED, SOFT_LABELS, HeadLoss, mean_soft_labels
from modeling.task_model import BertTaskModel

if TYPE_CHECKING:
    from bert_tf.runs.trainer import Trainer

# Of the arithmetic of a training step that of the forward pass.
_FORWARD_SHARE = 1 / 3
# Of the files; raised when what is in them, or how it is computed, changes.
_VERSION = 2
# Texts between two looks for a signal.
_TEXTS_AT_ONCE = 4096
_KINDS = {
    CLASSES: "one of several classes",
    SCORES: "a score",
    SEVERAL_CLASSES: "classes of which several may apply",
}


class Teachers:
    """The teachers of a run.

    Args:
      paths: of checkpoints; raises `UserError` for one that can't teach this student.
      head: that they need, a key of `HEADS`.
      make_model: (configuration, dtype) → a model with that head.
      config: of the student.
      longest: tokens of the longest sequences.
    """

    def __init__(
        self,
        paths: Sequence[str],
        head: str,
        make_model: Callable[[BertConfig, str], BertTaskModel],
        config: BertConfig,
        longest: int,
    ):
        self._make_model = make_model
        self._sources = {f"--teacher_checkpoint={path}": read_checkpoint(path) for path in paths}
        self._models: list[BertTaskModel] = []
        for flag, source in self._sources.items():
            if source.config is None:
                raise UserError(f"{flag}: there is no bert_config.json beside the checkpoint")
            if head not in source.heads:
                raise UserError(
                    f"{flag} has no {HEADS[head].title}: take a model that was trained for this"
                )
            if source.config.causal or config.causal:
                raise UserError(
                    f"{flag}: left-to-right models neither teach nor learn from a teacher"
                )
            source.config.check_sequence_length(longest, flag)
            if source.config.vocab_size != config.vocab_size:
                raise UserError(
                    f"{flag} has a vocabulary of {source.config.vocab_size:,} entries, this model of "
                    f"{config.vocab_size:,}: take a teacher with the vocabulary of the data"
                )

    def check_vocabulary(
        self,
        vocabulary: Vocabulary | None,
        do_lower_case: bool | None,
        vocab_sha256: str | None = None,
    ) -> None:
        """Raises `UserError` for a teacher of another vocabulary or casing than that of the data;
        None where not known."""
        for flag, source in self._sources.items():
            if vocabulary is not None:
                check_vocabulary(
                    vocabulary, source, flag, "take a teacher with the vocabulary of the data"
                )
            elif (
                None not in (vocab_sha256, source.vocab_sha256)
                and vocab_sha256 != source.vocab_sha256
            ):
                raise UserError(
                    f"{flag} has another vocabulary ({short(source.vocab_sha256)}) than the data "
                    f"({short(vocab_sha256)}): take a teacher with that of the data"
                )
            if (
                None not in (do_lower_case, source.do_lower_case)
                and do_lower_case != source.do_lower_case
            ):
                read, here = (
                    "lower-cased" if one else "cased"
                    for one in (source.do_lower_case, do_lower_case)
                )
                raise UserError(
                    f"{flag} reads {read} text, this model {here}: take a teacher with the casing of the data"
                )

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raises `UserError` for a teacher with other classes, or in another order."""
        for flag, source in self._sources.items():
            found = label_names(source.config)
            if found != list(labels):
                raise UserError(
                    f"{flag} is for the labels {', '.join(found)}, this task has {', '.join(labels)}: take "
                    "a teacher that was fine-tuned on this task"
                )

    def load(self, dtype: str) -> None:
        """Makes the models; called in the strategy's scope."""
        self._models = []
        for source in self._sources.values():
            model = self._make_model(source.config, dtype)
            load_weights(model, source)
            model.trainable = False
            self._models.append(model)

    def distilled(
        self,
        loss: HeadLoss,
        options: DistillationOptions,
        logits_of: Callable = lambda outputs: outputs,
    ) -> HeadLoss:
        """The loss with the teachers' part; `logits_of` takes the logits that it is of from the
        outputs of a model."""

        def soft_labels(features: dict):
            logits = [logits_of(model(features)) for model in self._models]
            return tf.nest.map_structure(
                tf.stop_gradient, mean_soft_labels(loss, logits, options.temperature)
            )

        return options.distilled(loss, soft_labels)

    def row_flops(self, length: int, predictions: int) -> float:
        """Floating-point operations of all teachers for a row of so many tokens."""
        return _FORWARD_SHARE * sum(
            training_flops(source.config, length, predictions) for source in self._sources.values()
        )


class TeacherOutputs:
    """What the teachers of a run, or of all runs of a selection, say of texts; raises `UserError`
    for no classifier.

    Attributes:
      labels: names of the classes, in the order of the first teacher; empty for scores.
    """

    def __init__(self, options: ClassificationOptions):
        self._directory = os.path.join(options.output_dir, TEACHER_OUTPUTS)
        self._batch_size = options.predict_batch_size
        self._opened = {path: open_checkpoint(path) for path in options.teacher_checkpoint}
        self._labels: dict[str, list[str]] = {}
        for path, opened in self._opened.items():
            if opened.source.classes("classification") is None:
                raise UserError(
                    f"--teacher_checkpoint={path} is no classifier: take a model that was fine-tuned on this task"
                )
            self._labels[path] = class_labels(opened) or []
        self.labels = next(iter(self._labels.values()))
        # Path of a file → what is in it.
        self._logits: dict[str, np.ndarray] = {}

    def check_fit(self, data: ClassificationData) -> None:
        """Raises `UserError` for a teacher of another task than that of the data."""
        shapes = {True: "pairs of texts", False: "single texts"}
        for path, opened in self._opened.items():
            labels, pair, here = (
                self._labels[path],
                (opened.task or {}).get("pair"),
                data.description["pair"],
            )
            kind = SCORES if not labels else problem_kind(opened) or CLASSES
            if kind != data.kind:
                wrong = f"predicts {_KINDS[kind]}, this task is for {_KINDS[data.kind]}"
            elif sorted(labels) != sorted(data.labels):
                wrong = (
                    f"is for the labels {', '.join(labels)}, this task has {', '.join(data.labels)}"
                )
            elif pair not in (None, here):
                wrong = f"is for {shapes[pair]}, this task for {shapes[here]}"
            else:
                continue
            raise UserError(
                f"--teacher_checkpoint={path} {wrong}: take a teacher that was fine-tuned on this task"
            )

    def distilled(
        self, data: ClassificationData, loss: HeadLoss, temperature: float, run: "Trainer"
    ) -> Examples:
        """The training set, transfer text included, with the means of the teachers' soft labels.

        Transfer text has the teachers' prediction as its label: metrics count agreement with it,
        the loss does not use it. The windows of a text count as much together as one text.
        """
        parts = []
        for name, split in (("train", data.train), ("transfer", data.transfer)):
            if split is None:
                continue
            logits = [self._logits_of(path, name, split.source, data, run) for path in self._opened]
            soft_labels = np.asarray(mean_soft_labels(loss, logits, temperature), np.float32)
            count, window_counts, is_labelled = len(split), split.window_counts, name == "train"
            values = {
                SOFT_LABELS: soft_labels,
                IS_LABELLED: np.full(count, is_labelled, np.float32),
                "loss_weight": np.ones(count, np.float32)
                if window_counts is None
                else np.float32(1 / window_counts),
            }
            if not is_labelled:
                values["label_ids"] = (
                    soft_labels
                    if data.regression
                    else (soft_labels >= 0.5).astype(np.uint8)
                    if data.multi_label
                    else soft_labels.argmax(axis=-1).astype(np.int32)
                )
            made = {name: per_window(value, window_counts) for name, value in values.items()}
            parts.append(
                dataclasses.replace(split.examples, values={**made, **split.examples.values})
            )
        return concatenated(parts)

    def _logits_of(
        self,
        path: str,
        name: str,
        texts: LabelledTexts,
        data: ClassificationData,
        run: "Trainer",
    ) -> np.ndarray:
        """float32 [E, C] of one teacher, the classes in the order of the data: from the file where
        there is one."""
        sources = {
            "teacher": provenance.content_digest(provenance.weight_files([path])),
            "texts": digest([texts.text_a, texts.text_b]),
        }
        file = os.path.join(
            self._directory, f"{name}-{digest(sources).rpartition(':')[2][:16]}.npy"
        )
        if file not in self._logits:
            logits = read_outputs(file, sources, (len(texts), len(self._labels[path]) or 1))
            if logits is None:
                teacher = ClassificationInference(
                    self._opened[path],
                    types.SimpleNamespace(batch_size=self._batch_size, max_seq_length=None),
                )
                run.log(f"teacher      {path}: outputs for {len(texts):,} texts ({name})")
                inputs = list(
                    zip(
                        texts.text_a, *([] if texts.text_b is None else [texts.text_b]), strict=True
                    )
                )
                parts = []
                with Progress(f"{name} teacher", len(inputs), "text") as progress:
                    for start in range(0, len(inputs), _TEXTS_AT_ONCE):
                        run.check_stop()
                        parts.append(teacher.logits(inputs[start : start + _TEXTS_AT_ONCE]))
                        progress.advance(len(parts[-1]))
                logits = np.concatenate(parts)
                if not np.isfinite(logits).all():
                    raise UserError(
                        f"--teacher_checkpoint={path}: its outputs are not all finite numbers: its weights are "
                        "damaged"
                    )
                if run.devices.is_chief:
                    write_outputs(file, sources, logits)
            self._logits[file] = logits
        order = [self._labels[path].index(label) for label in data.labels] or [0]
        return self._logits[file][:, order]


def read_outputs(
    path: str, sources: Mapping[str, object], shape: tuple[int, int]
) -> np.ndarray | None:
    """The logits in a file, float32; None where there is none, it is damaged, or made from
    something else."""
    try:
        provenance.read_manifest(path.removesuffix(".npy") + ".json", _VERSION, sources, {})
        with files.open_file(path, "rb") as file:
            logits = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, UserError):
        return None
    return (
        logits
        if logits.dtype == np.float32 and logits.shape == shape and np.isfinite(logits).all()
        else None
    )


def write_outputs(path: str, sources: Mapping[str, object], logits: np.ndarray) -> None:
    files.make_directories(os.path.dirname(path))
    with (
        files.user_error(f"the teacher's outputs can't be kept in {path}"),
        files.atomic_write(path, "wb") as file,
    ):
        np.save(file, logits)
    provenance.write_manifest(
        path.removesuffix(".npy") + ".json", _VERSION, sources, [os.path.basename(path)]
    )
