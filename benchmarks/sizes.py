"""Sizes of the models that are measured."""

import dataclasses
import re

from bert_common.errors import UserError


def find_config(size: str, vocab_size: int):
  """The `BertConfig` of --size, with so many entries of the vocabulary.

  Args:
    size: a published one, e.g. base or L4-H256; others of this form have heads of 32 units, as MiniLM.

  Raises:
    UserError: there is no such size.
  """
  from modeling.config import BertConfig
  from modeling.presets import PRESETS

  for name in (size, f"bert-{size}"):
    if name in PRESETS:
      return dataclasses.replace(PRESETS[name], vocab_size=vocab_size)
  numbers = re.fullmatch(r"L(\d+)-H(\d+)", size)
  layers, hidden_size = map(int, numbers.groups()) if numbers else (0, 0)
  if not layers or not hidden_size or hidden_size % 32:
    raise UserError(f"--size={size} is unknown: use base, large, or L<layers>-H<hidden> with a multiple of 32")
  return BertConfig(vocab_size=vocab_size, hidden_size=hidden_size, num_hidden_layers=layers,
                    num_attention_heads=hidden_size // 32, intermediate_size=4 * hidden_size)
