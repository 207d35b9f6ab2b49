"""Fills [MASK]s in sentences with the masked-LM head of any checkpoint that has one.

`fill_mask.py` and `inference/predictor.py` make these calls.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from common.errors import UserError
from modeling.checkpoints.load import LoadedCheckpoint, load_with_head, open_checkpoint
from modeling.pretraining import BertForPreTraining
from training.examples import Examples, lengths_for
from training.prediction import LocalPrediction

_MASK = "[MASK]"
# Masks whose scores of the whole vocabulary are in memory together.
_MASKS_AT_ONCE = 128


@dataclasses.dataclass(frozen=True)
class Candidate:
  """A token for a masked position, with its probability."""

  token: str
  probability: float


class MaskFiller:
  """A network loaded once, to fill masks again and again.

  Args:
    opened: from `open_checkpoint`, with a source.
    batch_size: most texts of a batch.

  Raises:
    UserError: the checkpoint has no masked-LM head, or can't be read.
  """

  def __init__(self, opened: LoadedCheckpoint, batch_size: int = 32):
    self.config, self.tokenizer = opened.config, opened.tokenizer
    self._model = BertForPreTraining(self.config)
    self._model.build_weights()
    self.account = load_with_head(self._model, opened, "masked_lm")
    self._encode = LocalPrediction(
        lambda features: {"sequence_output": self._model.encode(features)["sequence_output"]}, batch_size,
        lengths_for(self.config.max_position_embeddings, jit_compile=False), ("sequence_output",))

  @classmethod
  def from_checkpoint(cls, checkpoint: str, vocab_file: str | None = None,
                      do_lower_case: bool | None = None) -> "MaskFiller":
    """Opens the checkpoint first, see `open_checkpoint`."""
    return cls(open_checkpoint(checkpoint, vocab_file=vocab_file, do_lower_case=do_lower_case))

  def token_ids(self, text: str) -> np.ndarray:
    """[CLS] text [SEP], int32 [S], where "[MASK]" in the text is that token; of any length."""
    vocabulary = self.tokenizer.vocabulary
    ids = self.tokenizer.encode(text, special_tokens=True)
    return np.concatenate([[vocabulary.cls_id], ids, [vocabulary.sep_id]]).astype(np.int32)

  def fill(self, text: str, top_k: int = 5) -> list[list[Candidate]]:
    """The likeliest tokens for every [MASK] of a text.

    Args:
      text: one or two sentences with at least one [MASK].
      top_k: candidates for each mask.

    Returns:
      for each mask, from left to right, `top_k` candidates, the likeliest first.

    Raises:
      UserError: there is no [MASK] in the text, or it has more tokens than the position table.
    """
    ids = self.token_ids(text)
    if self.tokenizer.vocabulary.mask_id not in ids:
      raise UserError(f"there is no {_MASK} in {text!r}")
    self.config.check_sequence_length(len(ids), "the text's number of tokens")
    return self.fill_many([ids], top_k)[0]

  def fill_many(self, texts: Sequence[np.ndarray], top_k: int = 5) -> list[list[list[Candidate]]]:
    """As `fill`, for the ids of several texts, none longer than the position table."""
    ids = np.concatenate(texts)
    row_lengths = np.array([len(text) for text in texts])
    outputs = self._encode(Examples({"input_ids": ids, "segment_ids": np.zeros_like(ids)}, row_lengths))
    is_mask = ids == self.tokenizer.vocabulary.mask_id
    masked = outputs["sequence_output"][is_mask]  # [masks, H]
    candidates = []
    for start in range(0, len(masked), _MASKS_AT_ONCE):
      candidates += self._candidates(masked[start:start + _MASKS_AT_ONCE], top_k)
    masks_before = np.concatenate([[0], np.cumsum(is_mask)])[np.concatenate([[0], np.cumsum(row_lengths)])]
    return [candidates[first:last] for first, last in zip(masks_before[:-1], masks_before[1:], strict=True)]

  def _candidates(self, masked: np.ndarray, top_k: int) -> list[list[Candidate]]:
    """For each of the masks, float32 [masks, H], its candidates."""
    vocabulary = self.tokenizer.vocabulary
    embeddings = tf.convert_to_tensor(self._model.encoder.embeddings.word_embeddings)
    logits = self._model.masked_lm(tf.constant(masked[None]), tf.range(len(masked))[None], embeddings)[0]
    best = tf.math.top_k(tf.nn.softmax(logits), min(top_k, len(vocabulary)))  # [masks, k]
    return [[Candidate(vocabulary.token_of(int(token)), float(probability))
             for token, probability in zip(tokens, probabilities, strict=True)]
            for tokens, probabilities in zip(best.indices.numpy(), best.values.numpy(), strict=True)]


def filled(text: str, tokens: Sequence[str]) -> str:
  """The text with its masks replaced, a ## piece joined to the word before it."""
  for token in tokens:
    if token.startswith("##") and f" {_MASK}" in text:
      text = text.replace(f" {_MASK}", token.removeprefix("##"), 1)
    else:
      text = text.replace(_MASK, token, 1)
  return text
