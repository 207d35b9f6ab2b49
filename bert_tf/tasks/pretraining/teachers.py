"""Pre-trained models whose masked-LM predictions a smaller one learns: which fit, and what they predict.

Input: `--teacher_checkpoint` and batches of records. Output: soft labels for `modeling/distillation.py`, computed in
the training step, by every replica for its own share: of tens of thousands of tokens they would not fit on a disk.
"""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf.common.errors import UserError
from data_gen.tokenization.tokenizer_config import short
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import StoredWeights
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.vocabulary_check import check_vocabulary
from modeling.config import BertConfig
from modeling.distillation import mean_soft_labels
from modeling.flops import training_flops
from modeling.losses import HeadLoss
from modeling.pretraining import BertForPreTraining

# Of the arithmetic of a training step that of the forward pass.
_FORWARD_SHARE = 1 / 3


class Teachers:
  """The teachers of a pre-training.

  Args:
    paths: of checkpoints.
    config: of the student.
    vocabulary, vocab_sha256: of the records, and its fingerprint; None where they are not known.
    longest: tokens of the longest sequences.

  Raises:
    UserError: a teacher can't be read, has no masked-LM head, reads fewer tokens, is left-to-right as the student may
      be, or has another vocabulary.
  """

  def __init__(self, paths: Sequence[str], config: BertConfig, vocabulary: Vocabulary | None, vocab_sha256: str | None,
               longest: int):
    self._sources = {path: read_checkpoint(path) for path in paths}
    self._models: list[BertForPreTraining] = []
    for path, source in self._sources.items():
      _check(f"--teacher_checkpoint={path}", source, config, longest)
      _check_vocabulary(f"--teacher_checkpoint={path}", source, vocabulary, vocab_sha256)

  def load(self, dtype: str) -> None:
    """Makes the models; called in the strategy's scope."""
    self._models = []
    for source in self._sources.values():
      model = BertForPreTraining(source.config, dtype=dtype)
      load_weights(model, source)
      model.trainable = False
      self._models.append(model)

  def soft_labels(self, loss: HeadLoss, features: dict, temperature: float) -> tf.Tensor:
    """Their mean for the masked tokens of a batch, float32 [B * P, V]; see `mean_soft_labels`."""
    logits = [model(features)["masked_lm_logits"] for model in self._models]
    return tf.stop_gradient(mean_soft_labels(loss, logits, temperature))

  def row_flops(self, length: int, predictions: int) -> float:
    """Floating-point operations of all teachers for a row of so many tokens."""
    return _FORWARD_SHARE * sum(training_flops(source.config, length, predictions) for source in self._sources.values())


def _check(flag: str, source: StoredWeights, config: BertConfig, longest: int) -> None:
  if source.config is None:
    raise UserError(f"{flag}: there is no bert_config.json beside the checkpoint")
  if "masked_lm" not in source.heads:
    raise UserError(f"{flag} has no masked-LM head: take a model as run_pretraining.py leaves it")
  if source.config.causal or config.causal:
    raise UserError(f"{flag}: teachers are for masked tokens, not for left-to-right models")
  source.config.check_sequence_length(longest, flag)
  if source.config.vocab_size != config.vocab_size:
    raise UserError(f"{flag} has a vocabulary of {source.config.vocab_size:,} entries, this model of "
                    f"{config.vocab_size:,}: take a teacher with the vocabulary of the records")


def _check_vocabulary(flag: str, source: StoredWeights, vocabulary: Vocabulary | None, vocab_sha256: str | None
                      ) -> None:
  if vocabulary is not None:
    check_vocabulary(vocabulary, source, flag, "take a teacher with the vocabulary of the records")
  elif None not in (vocab_sha256, source.vocab_sha256) and vocab_sha256 != source.vocab_sha256:
    raise UserError(f"{flag} has another vocabulary ({short(source.vocab_sha256)}) than the records "
                    f"({short(vocab_sha256)}): take a teacher with that of the records")
