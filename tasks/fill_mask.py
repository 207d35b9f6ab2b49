"""Fills [MASK]s in sentences with the masked-LM head of any checkpoint that has one.

`fill_mask.py` turns flags into these calls.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError
from data_gen.tokenization import Tokenizer
from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.pretraining import BertForPreTraining

_MASK = "[MASK]"
_HEAD = "cls/predictions/"


@dataclasses.dataclass(frozen=True)
class Candidate:
  """A token for a masked position, with its probability."""

  token: str
  probability: float


class MaskFiller:
  """A network loaded once, to fill masks again and again.

  Args:
    checkpoint: whatever `open_checkpoint` reads; `bert_config.json` must be beside the weights.
    vocab_file: vocabulary; None where it is beside the weights.
    do_lower_case: its casing; None where the checkpoint tells, true where nothing tells.

  Raises:
    UserError: the checkpoint can't be read, has no masked-LM head, or its configuration or vocabulary is missing or
      does not fit.
  """

  def __init__(self, checkpoint: str, vocab_file: str | None = None, do_lower_case: bool | None = None):
    source = open_checkpoint(checkpoint)
    if source.config is None:
      raise UserError(f"{checkpoint}: there is no bert_config.json beside the checkpoint: put it there")
    vocab_file = vocab_file or source.vocab_file
    if vocab_file is None:
      raise UserError(f"{checkpoint}: there is no vocab.txt beside the checkpoint: give --vocab_file")
    if do_lower_case is None:
      do_lower_case = True if source.do_lower_case is None else source.do_lower_case
    self.config = source.config
    self.tokenizer = Tokenizer.from_file(files.check_readable(vocab_file, "vocab_file"), do_lower_case)
    if len(self.tokenizer.vocabulary) != self.config.vocab_size:
      raise UserError(f"{vocab_file} has {len(self.tokenizer.vocabulary)} entries, but vocab_size is "
                      f"{self.config.vocab_size} in the checkpoint's bert_config.json")
    self._model = BertForPreTraining(self.config)
    self._model.build_weights()
    self.account = load_weights(self._model, source)
    fresh = [name for name in self.account.fresh if name.startswith(_HEAD)]
    if fresh:
      raise UserError(f"{checkpoint} has no masked-LM head ({fresh[0]} and others are missing): take a checkpoint of "
                      "pre-training, not of a fine-tuned task")

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
    vocabulary = self.tokenizer.vocabulary
    ids = self.tokenizer.encode(text, special_tokens=True)
    if vocabulary.mask_id not in ids:
      raise UserError(f"there is no {_MASK} in {text!r}")
    ids = np.concatenate([[vocabulary.cls_id], ids, [vocabulary.sep_id]]).astype(np.int32)
    self.config.check_sequence_length(len(ids), "the text's number of tokens")
    positions = np.flatnonzero(ids == vocabulary.mask_id)
    outputs = self._model({
        "input_ids": tf.constant(ids[None]), "input_mask": tf.ones([1, len(ids)], tf.int32),
        "segment_ids": tf.zeros([1, len(ids)], tf.int32),
        "masked_lm_positions": tf.constant(positions[None], tf.int32)})
    best = tf.math.top_k(tf.nn.softmax(outputs["masked_lm_logits"][0]), min(top_k, len(vocabulary)))  # [masks, k]
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
