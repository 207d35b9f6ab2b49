"""The names of the weights: the original's, which every reader translates to, and the paths in our checkpoints.

Variables have the shapes of the original's, so translating a name is all it takes.
"""

import keras

from modeling.encoder import BertEncoder
from modeling.layers import Dense, LayerNorm

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
