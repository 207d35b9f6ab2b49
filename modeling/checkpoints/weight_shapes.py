"""Shapes of weights: what a configuration asks for, and whether a checkpoint has it, before any model is built.

Input: a `BertConfig`, and names of the original with the shapes that a reader has found. Output: shapes, or a
`UserError` that names the tensors that differ.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bert_common.errors import UserError
from modeling.checkpoints.weights import BILSTM, ENCODER_PREFIX, HEADS, POOLER, SIZES, encoder_weights
from modeling.config import BertConfig

_LAYER_PREFIX = f"{ENCODER_PREFIX}encoder/layer_"
# Tensors named in an error before it says how many more there are.
_NAMED_TENSORS = 6


def encoder_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
  """Original name → shape of every weight of the encoder, in the original's order."""
  return {weight.original: weight.sizes(config) for weight in encoder_weights(range(config.num_hidden_layers))}


def head_shapes(config: BertConfig, tensors: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
  """Original name → shape of the weights of every head that a checkpoint has a tensor of, and of the BiLSTM if it has
  one.

  Args:
    tensors: name → shape of what is there; the number of classes is taken from it where it is not fixed.
  """
  shapes = {weight.original: weight.sizes(config) for weight in BILSTM
            if any(one.original in tensors for one in BILSTM)}
  for head in HEADS.values():
    there = [weight.original for weight in head.weights if tensors.get(weight.original)]
    if there:
      classes = tensors[there[0]][0] if head.has_free_classes else head.classes or 0
      shapes |= {weight.original: weight.sizes(config, classes) for weight in head.weights}
  return shapes


def heads_of(tensors: Iterable[str]) -> list[str]:
  """The heads that a checkpoint has, by the keys of `model.heads`."""
  return [head.name for head in HEADS.values() if head.signature_name in tensors]


def pooled_weights(tensors: Iterable[str]) -> list[str]:
  """The weights in a checkpoint of the pooler and of the heads that stand on it."""
  heads = [HEADS[name] for name in heads_of(tensors) if HEADS[name].reads == "pooled_output"]
  pooled = {weight.original for weight in (*POOLER, *(weight for head in heads for weight in head.weights))}
  return [name for name in tensors if name in pooled]


def may_lack_pooler(tensors: Mapping[str, object]) -> bool:
  """Whether it is no damage that the pooler is not in a checkpoint.

  Hugging Face's models for masked LM, question answering and token classification have none: their heads read the
  sequence, not the pooled output.
  """
  heads = heads_of(tensors)
  return not any(weight.original in tensors for weight in POOLER) and bool(heads) and all(
      HEADS[head].reads == "sequence_output" for head in heads)


def missing_from_encoder(expected: Mapping[str, tuple[int, ...]], tensors: Mapping[str, object]) -> list[str]:
  """Weights of the encoder that a checkpoint should have and has not, with their shapes."""
  excused = [weight.original for weight in POOLER] if may_lack_pooler(tensors) else ()
  return [f"{name} {show_shape(shape)}" for name, shape in expected.items()
          if name.startswith(ENCODER_PREFIX) and name not in tensors and name not in excused]


def check_fits(config: BertConfig, tensors: Mapping[str, tuple[int, ...]], description: str,
               encoder_only: bool = False) -> None:
  """Refuses a configuration that contradicts the tensors.

  Args:
    tensors: original name → shape.
    description: of the checkpoint, for the message.
    encoder_only: heads and further layers are not looked at: the model that is built may be without them.

  Raises:
    UserError: a tensor has another shape, or there are layers that the configuration does not have.
  """
  if config.num_hidden_layers > len(tensors):
    # Not worth listing what is missing of a million layers.
    raise UserError(f"{description}: the configuration contradicts the tensors: num_hidden_layers is "
                    f"{config.num_hidden_layers}, but there are only {len(tensors)} tensors")
  expected = encoder_shapes(config) | ({} if encoder_only else head_shapes(config, tensors))
  wrong = [f"{name} is {show_shape(shape)} and would be {show_shape(expected[name])}"
           for name, shape in tensors.items() if name in expected and tuple(shape) != expected[name]]
  wrong += [f"{name} is there, but num_hidden_layers is {config.num_hidden_layers}"
            for name in tensors if not encoder_only and name.startswith(_LAYER_PREFIX) and name not in expected]
  if wrong:
    raise UserError(f"{description}: the configuration contradicts the tensors: {some(wrong)}. "
                    "Use the configuration that belongs to the checkpoint")


def config_from_shapes(shapes: Mapping[str, tuple[int, ...]], letters: Mapping[str, str], source: str
                       ) -> BertConfig | None:
  """The configuration that follows from shapes: all sizes; activation and rates are the defaults.

  Args:
    shapes: original name → shape as it is in a file.
    letters: original name → letters of that shape.
    source: named in errors, usually the file.

  Returns:
    None where they do not determine all of it.

  Raises:
    UserError: they are those of no model, e.g. of too many layers.
  """
  sizes = {letter: size for name, shape in shapes.items() for letter, size in zip(letters[name], shape, strict=True)}
  known: dict[str, Any] = {SIZES[letter]: size for letter, size in sizes.items() if letter in SIZES}
  head_size = known.pop("head_size", None)
  layers = {match[1] for name in shapes if (match := re.match(rf"{_LAYER_PREFIX}(\d+)/", name))}
  if head_size is None or len(known) < len(SIZES) - 1:
    return None
  return BertConfig.from_dict({"num_hidden_layers": len(layers), **known}, source)


def show_shape(shape) -> str:
  """A shape as messages show it, e.g. [2, 768]."""
  return f"[{', '.join(map(str, shape))}]"


def some(parts: list[str]) -> str:
  """The first few, and how many more there are."""
  more = len(parts) - _NAMED_TENSORS
  return "; ".join(parts[:_NAMED_TENSORS]) + (f"; and {more} more" if more > 0 else "")
