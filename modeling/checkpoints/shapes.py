"""Which weights a configuration asks for, and whether a checkpoint has them: known before any network is built.

Used by the readers and writers beside it.
"""

from collections.abc import Mapping

from common.errors import UserError
from modeling.checkpoints.names import LINEAR_HEADS, POOLER
from modeling.config import BertConfig

# Tensors named in an error before it says how many more there are.
_NAMED_TENSORS = 6

_MASKED_LM_BIAS = "cls/predictions/output_bias"
_NEXT_SENTENCE = LINEAR_HEADS["next_sentence"] + "output_weights"


def encoder_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
  """Original name → shape of every weight of the encoder, in the original's order."""
  hidden, inner = config.hidden_size, config.intermediate_size
  shapes = {
      "bert/embeddings/word_embeddings": (config.vocab_size, hidden),
      "bert/embeddings/token_type_embeddings": (config.type_vocab_size, hidden),
      "bert/embeddings/position_embeddings": (config.max_position_embeddings, hidden),
      **_layer_norm("bert/embeddings/LayerNorm", hidden),
  }
  for index in range(config.num_hidden_layers):
    prefix = f"bert/encoder/layer_{index}"
    shapes |= {
        **_dense(f"{prefix}/attention/self/query", hidden, hidden),
        **_dense(f"{prefix}/attention/self/key", hidden, hidden),
        **_dense(f"{prefix}/attention/self/value", hidden, hidden),
        **_dense(f"{prefix}/attention/output/dense", hidden, hidden),
        **_layer_norm(f"{prefix}/attention/output/LayerNorm", hidden),
        **_dense(f"{prefix}/intermediate/dense", hidden, inner),
        **_dense(f"{prefix}/output/dense", inner, hidden),
        **_layer_norm(f"{prefix}/output/LayerNorm", hidden),
    }
  return shapes | _dense("bert/pooler/dense", hidden, hidden)


def head_shapes(config: BertConfig, tensors: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
  """Original name → shape of the weights of every head that a checkpoint has a tensor of.

  Args:
    tensors: name → shape of what is there; the number of classes is taken from it.
  """
  hidden = config.hidden_size
  shapes = {}
  if any(name.startswith("cls/predictions/") for name in tensors):
    shapes |= {
        **_dense("cls/predictions/transform/dense", hidden, hidden),
        **_layer_norm("cls/predictions/transform/LayerNorm", hidden),
        _MASKED_LM_BIAS: (config.vocab_size,),
    }
  fixed_sizes = {"next_sentence": 2, "span": 2, "multiple_choice": 1}
  for head, prefix in LINEAR_HEADS.items():
    weights, bias = f"{prefix}output_weights", f"{prefix}output_bias"
    there = tensors.get(weights) or tensors.get(bias)
    if there:
      classes = fixed_sizes.get(head, there[0])
      shapes |= {weights: (classes, hidden), bias: (classes,)}
  return shapes


def heads_of(tensors: Mapping[str, object]) -> list[str]:
  """The heads that a checkpoint has, by the keys of `model.heads`."""
  heads = ["masked_lm"] if _MASKED_LM_BIAS in tensors else []
  return heads + [head for head, prefix in LINEAR_HEADS.items() if f"{prefix}output_weights" in tensors]


def may_lack_pooler(tensors: Mapping[str, object]) -> bool:
  """Whether it is no damage that the pooler is not in a checkpoint.

  Hugging Face's networks for masked LM, question answering and token classification have none: their heads read the
  sequence, not the pooled output.
  """
  heads = heads_of(tensors)
  return not any(name in tensors for name in POOLER) and (
      heads == ["masked_lm"] or "span" in heads or "tagging" in heads)


def missing_from_encoder(wanted: Mapping[str, tuple[int, ...]], tensors: Mapping[str, object]) -> list[str]:
  """Weights of the encoder that a checkpoint should have and has not, with their shapes."""
  excused = POOLER if may_lack_pooler(tensors) else ()
  return [f"{name} {show_shape(shape)}" for name, shape in wanted.items()
          if name.startswith("bert/") and name not in tensors and name not in excused]


def check_fits(config: BertConfig, tensors: Mapping[str, tuple[int, ...]], description: str) -> None:
  """Refuses a configuration that contradicts the tensors.

  Args:
    tensors: original name → shape.
    description: of the checkpoint, for the message.

  Raises:
    UserError: a tensor has another shape, or there are layers that the configuration does not have.
  """
  if config.num_hidden_layers > len(tensors):
    # Not worth listing what is missing of a million layers.
    raise UserError(f"{description}: the configuration contradicts the tensors: num_hidden_layers is "
                    f"{config.num_hidden_layers}, but there are only {len(tensors)} tensors")
  wanted = encoder_shapes(config) | head_shapes(config, tensors)
  wrong = [f"{name} is {show_shape(shape)} and would be {show_shape(wanted[name])}"
           for name, shape in tensors.items() if name in wanted and tuple(shape) != wanted[name]]
  wrong += [f"{name} is there, but num_hidden_layers is {config.num_hidden_layers}"
            for name in tensors if name.startswith("bert/encoder/layer_") and name not in wanted]
  if wrong:
    raise UserError(f"{description}: the configuration contradicts the tensors: {some(wrong)}. "
                    "Use the configuration that belongs to the checkpoint")


def show_shape(shape) -> str:
  """A shape as messages show it, e.g. [2, 768]."""
  return f"[{', '.join(map(str, shape))}]"


def some(parts: list[str]) -> str:
  """The first few, and how many more there are."""
  more = len(parts) - _NAMED_TENSORS
  return "; ".join(parts[:_NAMED_TENSORS]) + (f"; and {more} more" if more > 0 else "")


def _dense(prefix: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
  return {f"{prefix}/kernel": (inputs, outputs), f"{prefix}/bias": (outputs,)}


def _layer_norm(prefix: str, units: int) -> dict[str, tuple[int, ...]]:
  return {f"{prefix}/beta": (units,), f"{prefix}/gamma": (units,)}
