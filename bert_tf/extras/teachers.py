"""Teachers: trained models whose outputs a smaller one learns; which fit, and their soft labels for
`modeling/losses.py`.

Input: `--teacher_checkpoint`. `Teachers` read the batches of their student in the training step,
each replica its own part: masked tokens have tens of thousands of soft labels, too many to store.
`TeacherOutputs` are of classifiers, each of which reads the texts with its own tokenizer and at its
own length; they are stored, and may be removed at any time:

- .teacher_outputs/<split>-<digest>.npy: logits of one teacher for the texts of a split
- .teacher_outputs/<split>-<digest>.json: their manifest, whose sources give the digest
"""

import contextlib
import dataclasses
import os
import types
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_common import files, manifests
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.runs import contents
from bert_tf.runs.options import DistillationOptions
from bert_tf.runs.results import digest
from bert_tf.runs.task import Run
from bert_tf.tasks.class_names import order_of_head
from bert_tf.tasks.classification.checkpoint_classes import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    problem_kind,
)
from bert_tf.tasks.classification.data import ClassificationData
from bert_tf.tasks.classification.inference import ClassificationInference, class_labels
from bert_tf.tasks.classification.long_texts import per_window
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.examples import Examples, concatenated
from bert_tf.training.run_directory import TEACHER_OUTPUTS
from data_gen.labeled.labeled_texts import LabeledTexts
from data_gen.tokenization.vocabulary import Vocabulary, short
from modeling.checkpoints.companion_files import check_vocabulary
from modeling.checkpoints.load import Checkpoint, load_weights, open_checkpoint, read_checkpoint
from modeling.checkpoints.weights import HEADS
from modeling.config import BertConfig, label_names
from modeling.costs import training_flops
from modeling.losses import IS_LABELED, SOFT_LABELS, HeadLoss, mean_soft_labels
from modeling.task_model import BertTaskModel

# Share of the forward pass in the arithmetic of a training step.
_FORWARD_SHARE = 1 / 3
# Version of the files; raised when their content, or how it is computed, changes.
_VERSION = 2
# Texts between two checks for a signal to stop.
_TEXTS_AT_ONCE = 4096
_KINDS = {
    CLASSES: "one of several classes",
    SCORES: "a score",
    SEVERAL_CLASSES: "classes of which several may apply",
}


class Teachers:
    """The teachers of a run.

    Args:
      paths: checkpoints of the teachers.
      head: head that they need, a key of `HEADS`.
      make_model: (configuration, dtype) → a model with that head.
      config: configuration of the student.
      longest: tokens of the longest sequences.

    Raises:
      UserError: a checkpoint can't teach this student.
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
        # The number that each class of the student has in a teacher; empty for heads without names.
        self._orders: list[list[int]] = []
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
            # A teacher reads the batches of its student as they are.
            source.config.check_sequence_length(longest, flag)
            if source.config.vocab_size != config.vocab_size:
                raise UserError(
                    f"{flag} has a vocabulary of {source.config.vocab_size:,} entries, this model "
                    f"of {config.vocab_size:,}: take a teacher with the vocabulary of the data"
                )

    def check_vocabulary(
        self,
        vocabulary: Vocabulary | None,
        do_lower_case: bool | None,
        vocab_sha256: str | None = None,
    ) -> None:
        """Raises `UserError` for a teacher with another vocabulary or casing than the data.

        Args:
          vocabulary: vocabulary of the data; None if only its digest is known.
          do_lower_case: casing of the data; None if unknown.
          vocab_sha256: digest of the vocabulary; None if unknown.
        """
        for flag, source in self._sources.items():
            digests = (vocab_sha256, source.vocab_sha256)
            casings = (do_lower_case, source.do_lower_case)
            # Records know only the digest of their vocabulary.
            if vocabulary is not None:
                advice = "take a teacher with the vocabulary of the data"
                check_vocabulary(vocabulary, source, flag, advice)
            elif None not in digests and len(set(digests)) == 2:
                raise UserError(
                    f"{flag} has another vocabulary ({short(source.vocab_sha256)}) than the data "
                    f"({short(vocab_sha256)}): take a teacher with that of the data"
                )
            if None not in casings and len(set(casings)) == 2:
                raise UserError(
                    f"{flag} has do_lower_case={source.do_lower_case}, this model {do_lower_case}: "
                    "take a teacher with the casing of the data"
                )

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raises `UserError` for a teacher with other classes; learns the order of its classes."""
        for flag, source in self._sources.items():
            teacher_labels = label_names(source.config)
            order = order_of_head(labels, teacher_labels)
            if order is None or sorted(order) != sorted(labels):
                raise UserError(
                    f"{flag} is for the labels {', '.join(teacher_labels)}, this task has "
                    f"{', '.join(labels)}: take a teacher that was fine-tuned on this task"
                )
            self._orders.append([order.index(label) for label in labels])

    def load(self, dtype: str) -> None:
        """Builds the models; to be called in the strategy's scope."""
        self._models = []
        for source in self._sources.values():
            model = self._make_model(source.config, dtype)
            load_weights(model, source)
            # Variables of the teachers must not reach the optimizer.
            model.trainable = False
            self._models.append(model)

    def distilled(
        self,
        loss: HeadLoss,
        options: DistillationOptions,
        logits_of: Callable = lambda outputs: outputs,
    ) -> HeadLoss:
        """Returns the loss with the teachers' part.

        Args:
          logits_of: outputs of a model → the logits that the loss is of.
        """

        def soft_labels(features: dict):
            logits = [logits_of(model(features)) for model in self._models]
            # The classes of a teacher in the order of the student's.
            for number, order in enumerate(self._orders):
                logits[number] = tf.gather(logits[number], order, axis=-1)
            # Gradients flow through the student alone.
            means = mean_soft_labels(loss, logits, options.temperature)
            return tf.nest.map_structure(tf.stop_gradient, means)

        return options.distilled(loss, soft_labels)

    def row_flops(self, length: int, predictions: int) -> float:
        """Returns the floating-point operations of all teachers for a row of `length` tokens."""
        flops = 0.0
        for source in self._sources.values():
            flops += training_flops(source.config, length, predictions)
        return _FORWARD_SHARE * flops


class TeacherOutputs:
    """The outputs of the teachers of a run, or of all runs of a sweep, for texts.

    Attributes:
      labels: names of the classes, in the order of the first teacher; empty for scores.

    Raises:
      UserError: a checkpoint is no classifier.
    """

    def __init__(self, options: ClassificationOptions):
        self._directory = os.path.join(options.output_dir, TEACHER_OUTPUTS)
        self._batch_size = options.predict_batch_size
        self._checkpoints: dict[str, Checkpoint] = {}
        self._labels: dict[str, list[str]] = {}
        for path in options.teacher_checkpoint:
            checkpoint = open_checkpoint(path)
            if checkpoint.source.classes("classification") is None:
                raise UserError(
                    f"--teacher_checkpoint={path} is no classifier: take a model that was "
                    "fine-tuned on this task"
                )
            self._checkpoints[path] = checkpoint
            self._labels[path] = class_labels(checkpoint) or []
        # The weights are read when their outputs are first needed.
        self._facts = contents.InputFacts(
            {"teacher_checkpoint": contents.weight_files(options.teacher_checkpoint)}
        )
        self.labels = next(iter(self._labels.values()))
        # Path of a file → its logits: the runs of a sweep share them.
        self._logits: dict[str, np.ndarray] = {}

    def check_fit(self, data: ClassificationData) -> None:
        """Raises `UserError` for a teacher of another task than the data."""
        inputs = {True: "pairs of texts", False: "single texts"}
        for path, checkpoint in self._checkpoints.items():
            labels = self._labels[path]
            # Checkpoints of other libraries don't record whether they read pairs.
            is_pair = checkpoint.task_settings.get("pair")
            if labels:
                kind = problem_kind(checkpoint) or CLASSES
            else:
                kind = SCORES
            problem = ""
            if kind != data.kind:
                problem = f"predicts {_KINDS[kind]}, this task is for {_KINDS[data.kind]}"
            elif self._order(path, data) is None:
                problem = (
                    f"is for the labels {', '.join(labels)}, this task has {', '.join(data.labels)}"
                )
            elif is_pair not in (None, data.description["pair"]):
                problem = (
                    f"is for {inputs[is_pair]}, this task for {inputs[data.description['pair']]}"
                )
            if problem:
                raise UserError(
                    f"--teacher_checkpoint={path} {problem}: take a teacher that was fine-tuned on "
                    "this task"
                )

    def examples_with_soft_labels(
        self, data: ClassificationData, loss: HeadLoss, temperature: float, run: Run
    ) -> Examples:
        """Returns the training set, transfer text included, with the means of the teachers' soft
        labels.

        Transfer text has the teachers' prediction as its label: metrics count agreement with it,
        the loss does not use it. All windows of a text together have the weight of one text, or of
        its class.
        """
        parts = []
        for name, split in (("train", data.train), ("transfer", data.transfer)):
            if split is None:
                continue
            logits = [
                self._logits_of(path, name, split.source, data, run) for path in self._checkpoints
            ]
            soft_labels = np.asarray(mean_soft_labels(loss, logits, temperature), np.float32)
            values = {
                SOFT_LABELS: soft_labels,
                IS_LABELED: np.full(len(split), name == "train", np.float32),
                "loss_weight": np.ones(len(split), np.float32),
            }
            if split.window_counts is not None:
                values["loss_weight"] = np.float32(1 / split.window_counts)
            if name == "transfer":
                values["label_ids"] = _predicted_labels(soft_labels, data)
            # Values are by text; examples are windows of texts.
            for key, value in values.items():
                values[key] = per_window(value, split.window_counts)
            # The values of the training set win: its labels, and weights by --class_weights.
            values |= split.examples.values
            parts.append(dataclasses.replace(split.examples, values=values))
        return concatenated(parts)

    def _logits_of(
        self,
        path: str,
        name: str,
        texts: LabeledTexts,
        data: ClassificationData,
        run: Run,
    ) -> np.ndarray:
        """Returns float32 [E, C] of one teacher, its classes in the order of the data; stored
        logits if there are any."""
        sources = {
            "teacher": contents.content_digest(contents.weight_files([path])),
            "texts": digest([texts.text_a, texts.text_b]),
        }
        key = digest(sources).removeprefix("sha256:")[:16]
        file = os.path.join(self._directory, f"{name}-{key}.npy")
        if file not in self._logits:
            logits = read_outputs(file, sources, (len(texts), max(len(self._labels[path]), 1)))
            if logits is None:
                logits = self._compute_logits(path, name, texts, run)
                self._facts.check()
                # One process writes the directory of a run; the others have computed the same.
                if run.devices.is_chief:
                    write_outputs(file, sources, logits)
            self._logits[file] = logits
        return self._logits[file][:, self._order(path, data)]

    def _order(self, path: str, data: ClassificationData) -> list[int] | None:
        """Returns the number that each class of the data has in a teacher; None for others."""
        # A teacher of scores has one column, and no labels.
        if not data.labels:
            return [0]
        names = order_of_head(data.labels, self._labels[path])
        if names is None or sorted(names) != sorted(data.labels):
            return None
        return [names.index(label) for label in data.labels]

    def _compute_logits(self, path: str, name: str, texts: LabeledTexts, run: Run) -> np.ndarray:
        """Runs a teacher on texts; raises `UserError` if its outputs are not finite."""
        settings = types.SimpleNamespace(batch_size=self._batch_size, max_seq_length=None)
        teacher = ClassificationInference(self._checkpoints[path], settings)
        run.log(f"teacher      {path}: outputs for {len(texts):,} texts ({name})")
        columns = [texts.text_a]
        if texts.text_b is not None:
            columns.append(texts.text_b)
        inputs = list(zip(*columns, strict=True))
        parts = []
        with Progress(f"{name} teacher", len(inputs), "text") as progress:
            for start in range(0, len(inputs), _TEXTS_AT_ONCE):
                run.check_stop()
                parts.append(teacher.logits(inputs[start : start + _TEXTS_AT_ONCE]))
                progress.advance(len(parts[-1]))
        logits = np.concatenate(parts)
        # NaN would make every loss NaN, and look like a diverged student.
        if not np.isfinite(logits).all():
            raise UserError(
                f"--teacher_checkpoint={path}: its outputs are not all finite numbers: its weights "
                "are damaged"
            )
        return logits


def _predicted_labels(soft_labels: np.ndarray, data: ClassificationData) -> np.ndarray:
    """Returns the labels that soft labels predict, in the form of the task's own."""
    if data.regression:
        return soft_labels
    if data.multi_label:
        return (soft_labels >= 0.5).astype(np.uint8)
    return soft_labels.argmax(axis=-1).astype(np.int32)


def read_outputs(
    path: str, sources: Mapping[str, object], shape: tuple[int, int]
) -> np.ndarray | None:
    """Reads stored logits, float32; None if there are none, or they are damaged or of other
    sources."""
    names = [os.path.basename(path)]
    try:
        with contextlib.ExitStack() as opened:
            _, (file,) = manifests.read_manifest(
                _manifest_of(path), _VERSION, sources, names, {}, opened
            )
            logits = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, UserError):
        return None
    if logits.dtype != np.float32 or logits.shape != shape or not np.isfinite(logits).all():
        return None
    return logits


def write_outputs(path: str, sources: Mapping[str, object], logits: np.ndarray) -> None:
    """Stores logits; raises `UserError` if that is impossible."""
    files.make_directories(os.path.dirname(path))
    with (
        files.user_error(f"the teacher's outputs can't be kept in {path}"),
        files.atomic_write(path, "wb") as file,
    ):
        np.save(file, logits)
    # The manifest is written last: without it the file is not read.
    manifests.write_manifest(_manifest_of(path), _VERSION, sources, [os.path.basename(path)])


def _manifest_of(path: str) -> str:
    return path.removesuffix(".npy") + ".json"
