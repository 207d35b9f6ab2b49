"""Trained models that read the batches of a smaller one, which learns their outputs: which fit, and what they say.

Input: `--teacher_checkpoint` and batches. Output: soft labels for `modeling/losses.py`, computed in the training
step, by every replica for its own share: masked tokens have tens of thousands of them, which would not fit on a disk.
Classifiers, whose outputs do, have `teacher_outputs.py`.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.tasks.labels import label_names
from bert_tf.tasks.options import DistillationOptions
from data_gen.tokenization.vocabulary import Vocabulary, short
from modeling.checkpoints.companion_files import StoredWeights, check_vocabulary
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import HEADS
from modeling.config import BertConfig
from modeling.costs import training_flops
from modeling.losses import HeadLoss, mean_soft_labels
from modeling.task_model import BertTaskModel

# Of the arithmetic of a training step that of the forward pass.
_FORWARD_SHARE = 1 / 3


class Teachers:
  """The teachers of a run.

  Args:
    paths: of checkpoints.
    head: that they need, a key of `HEADS`.
    make_model: (configuration, dtype) → a model with that head.
    config: of the student.
    longest: tokens of the longest sequences.

  Raises:
    UserError: a teacher can't be read, lacks the head, reads fewer tokens, or is left-to-right as the student may be.
  """

  def __init__(self, paths: Sequence[str], head: str, make_model: Callable[[BertConfig, str], BertTaskModel],
               config: BertConfig, longest: int):
    self._make_model = make_model
    self._sources = {f"--teacher_checkpoint={path}": read_checkpoint(path) for path in paths}
    self._models: list[BertTaskModel] = []
    for flag, source in self._sources.items():
      _check(flag, source, head, config, longest)

  def check_vocabulary(self, vocabulary: Vocabulary | None, do_lower_case: bool | None,
                       vocab_sha256: str | None = None) -> None:
    """Raises `UserError` for a teacher of another vocabulary or casing than that of the data; None where not known."""
    for flag, source in self._sources.items():
      if vocabulary is not None:
        check_vocabulary(vocabulary, source, flag, "take a teacher with the vocabulary of the data")
      elif None not in (vocab_sha256, source.vocab_sha256) and vocab_sha256 != source.vocab_sha256:
        raise UserError(f"{flag} has another vocabulary ({short(source.vocab_sha256)}) than the data "
                        f"({short(vocab_sha256)}): take a teacher with that of the data")
      if None not in (do_lower_case, source.do_lower_case) and do_lower_case != source.do_lower_case:
        raise UserError(f"{flag} reads {_casing(source.do_lower_case)} text, this model {_casing(do_lower_case)}: take "
                        "a teacher with the casing of the data")

  def check_labels(self, labels: Sequence[str]) -> None:
    """Raises `UserError` for a teacher with other classes, or in another order."""
    for flag, source in self._sources.items():
      found = label_names(source.config)
      if found != list(labels):
        raise UserError(f"{flag} is for the labels {', '.join(found)}, this task has {', '.join(labels)}: take "
                        "a teacher that was fine-tuned on this task")

  def load(self, dtype: str) -> None:
    """Makes the models; called in the strategy's scope."""
    self._models = []
    for source in self._sources.values():
      model = self._make_model(source.config, dtype)
      load_weights(model, source)
      model.trainable = False
      self._models.append(model)

  def distilled(self, loss: HeadLoss, options: DistillationOptions, logits_of: Callable = lambda outputs: outputs
                ) -> HeadLoss:
    """The loss with the teachers' part.

    Args:
      logits_of: outputs of a model → the logits that the loss takes.
    """
    def soft_labels(features: dict):
      logits = [logits_of(model(features)) for model in self._models]
      return tf.nest.map_structure(tf.stop_gradient, mean_soft_labels(loss, logits, options.temperature))

    return options.distilled(loss, soft_labels)

  def row_flops(self, length: int, predictions: int) -> float:
    """Floating-point operations of all teachers for a row of so many tokens."""
    return _FORWARD_SHARE * sum(training_flops(source.config, length, predictions) for source in self._sources.values())


def _check(flag: str, source: StoredWeights, head: str, config: BertConfig, longest: int) -> None:
  if source.config is None:
    raise UserError(f"{flag}: there is no bert_config.json beside the checkpoint")
  if head not in source.heads:
    raise UserError(f"{flag} has no {HEADS[head].title}: take a model that was trained for this")
  if source.config.causal or config.causal:
    raise UserError(f"{flag}: left-to-right models neither teach nor learn from a teacher")
  source.config.check_sequence_length(longest, flag)
  if source.config.vocab_size != config.vocab_size:
    raise UserError(f"{flag} has a vocabulary of {source.config.vocab_size:,} entries, this model of "
                    f"{config.vocab_size:,}: take a teacher with the vocabulary of the data")


def _casing(do_lower_case: bool) -> str:
  return "lower-cased" if do_lower_case else "cased"
