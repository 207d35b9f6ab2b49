"""The names of the weights: the original's, which every reader translates to, and the paths in our checkpoints.

Variables have the shapes of the original's, so translating a name is all it takes.
"""

from collections.abc import Mapping

import keras

from common.errors import UserError
from modeling.config import BertConfig
from modeling.dense import Dense
from modeling.encoder import BertEncoder
from modeling.normalization import LayerNorm

# Original prefix → prefix in our checkpoints. A classifier's head has no prefix in the original; tagging and multiple
# choice are not in the original, their names follow those of the span head.
_PREFIXES = {
    "bert/": "encoder/",
    "cls/predictions/": "heads/masked_lm/",
    "cls/seq_relationship/": "heads/next_sentence/",
    "cls/squad/": "heads/span/",
    "cls/tagging/": "heads/tagging/",
    "cls/multiple_choice/": "heads/multiple_choice/",
    "": "heads/classifier/",
}
# Heads of output_weights and output_bias only: key of `model.heads` → original prefix.
LINEAR_HEADS = {
    "next_sentence": "cls/seq_relationship/",
    "classifier": "",
    "span": "cls/squad/",
    "tagging": "cls/tagging/",
    "multiple_choice": "cls/multiple_choice/",
}
POOLER = ("bert/pooler/dense/kernel", "bert/pooler/dense/bias")


def native_path(name: str) -> str:
  """Path in our checkpoints of a variable of the original, e.g. bert/pooler/dense/bias → encoder/pooler/dense/bias."""
  for original, native in _PREFIXES.items():
    if name.startswith(original):
      return native + name.removeprefix(original)
  raise AssertionError("the empty prefix matches every name")


def original_name(path: str) -> str:
  """The inverse of `native_path`.

  Raises:
    ValueError: no weight of ours lies at `path`.
  """
  for original, native in _PREFIXES.items():
    if path.startswith(native):
      return original + path.removeprefix(native)
  raise ValueError(f"{path} is not the path of a weight")


def original_names(model) -> dict[str, keras.Variable]:
  """Every weight of a model under the name it has in the original's checkpoints.

  Args:
    model: a `BertEncoder`, or a model with an `encoder` and `heads` by name. Its variables must exist.

  Returns:
    name → variable, in the original's order.
  """
  if isinstance(model, BertEncoder):
    return _encoder_names(model)
  names = _encoder_names(model.encoder)
  for head, layer in model.heads.items():
    names |= _masked_lm_names(layer) if head == "masked_lm" else _linear_names(LINEAR_HEADS[head], layer)
  return names


def raw_variables(model) -> dict:
  """`original_names` with the backend's own variables (`tf.Variable`), for optimizers and checkpoints."""
  return {name: variable.value for name, variable in original_names(model).items()}


def _encoder_names(encoder: BertEncoder) -> dict[str, keras.Variable]:
  names = {
      "bert/embeddings/word_embeddings": encoder.embeddings.word_embeddings,
      "bert/embeddings/token_type_embeddings": encoder.embeddings.token_type_embeddings,
      "bert/embeddings/position_embeddings": encoder.embeddings.position_embeddings,
      **_layer_norm("bert/embeddings/LayerNorm", encoder.embeddings.layer_norm),
  }
  for index, layer in enumerate(encoder.layers):
    prefix = f"bert/encoder/layer_{index}"
    names |= {
        **_dense(f"{prefix}/attention/self/query", layer.attention.query),
        **_dense(f"{prefix}/attention/self/key", layer.attention.key),
        **_dense(f"{prefix}/attention/self/value", layer.attention.value),
        **_dense(f"{prefix}/attention/output/dense", layer.attention_output),
        **_layer_norm(f"{prefix}/attention/output/LayerNorm", layer.attention_layer_norm),
        **_dense(f"{prefix}/intermediate/dense", layer.intermediate),
        **_dense(f"{prefix}/output/dense", layer.output_dense),
        **_layer_norm(f"{prefix}/output/LayerNorm", layer.output_layer_norm),
    }
  return names | _dense("bert/pooler/dense", encoder.pooler)


def _masked_lm_names(head) -> dict[str, keras.Variable]:
  return {
      **_dense("cls/predictions/transform/dense", head.dense),
      **_layer_norm("cls/predictions/transform/LayerNorm", head.layer_norm),
      "cls/predictions/output_bias": head.output_bias,
  }


def _linear_names(prefix: str, head) -> dict[str, keras.Variable]:
  return {f"{prefix}output_weights": head.output_weights, f"{prefix}output_bias": head.output_bias}


def _dense(prefix: str, layer: Dense) -> dict[str, keras.Variable]:
  return {f"{prefix}/kernel": layer.kernel, f"{prefix}/bias": layer.bias}


def _layer_norm(prefix: str, layer: LayerNorm) -> dict[str, keras.Variable]:
  return {f"{prefix}/beta": layer.beta, f"{prefix}/gamma": layer.gamma}


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
      **_layer_norm_shapes("bert/embeddings/LayerNorm", hidden),
  }
  for index in range(config.num_hidden_layers):
    prefix = f"bert/encoder/layer_{index}"
    shapes |= {
        **_dense_shapes(f"{prefix}/attention/self/query", hidden, hidden),
        **_dense_shapes(f"{prefix}/attention/self/key", hidden, hidden),
        **_dense_shapes(f"{prefix}/attention/self/value", hidden, hidden),
        **_dense_shapes(f"{prefix}/attention/output/dense", hidden, hidden),
        **_layer_norm_shapes(f"{prefix}/attention/output/LayerNorm", hidden),
        **_dense_shapes(f"{prefix}/intermediate/dense", hidden, inner),
        **_dense_shapes(f"{prefix}/output/dense", inner, hidden),
        **_layer_norm_shapes(f"{prefix}/output/LayerNorm", hidden),
    }
  return shapes | _dense_shapes("bert/pooler/dense", hidden, hidden)


def head_shapes(config: BertConfig, tensors: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
  """Original name → shape of the weights of every head that a checkpoint has a tensor of.

  Args:
    tensors: name → shape of what is there; the number of classes is taken from it.
  """
  hidden = config.hidden_size
  shapes = {}
  if any(name.startswith("cls/predictions/") for name in tensors):
    shapes |= {
        **_dense_shapes("cls/predictions/transform/dense", hidden, hidden),
        **_layer_norm_shapes("cls/predictions/transform/LayerNorm", hidden),
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


def _dense_shapes(prefix: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
  return {f"{prefix}/kernel": (inputs, outputs), f"{prefix}/bias": (outputs,)}


def _layer_norm_shapes(prefix: str, units: int) -> dict[str, tuple[int, ...]]:
  return {f"{prefix}/beta": (units,), f"{prefix}/gamma": (units,)}
