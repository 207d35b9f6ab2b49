"""The models that benchmarks compare with, of the same shape as ours, in the form that is fastest for each.

Hugging Face: the tanh form of GELU under the name that PyTorch has one kernel for ("gelu_new" is eight operations),
AdamW with `fused=True`. `torch.compile` is offered where shapes stay the same, and not among the defaults: on the CPU
it was no faster, and takes minutes. The Model Garden and KerasHub: graphs, with and without XLA.
"""

import importlib.util
import os

from bert_tf.common.errors import UserError
from modeling.config import BertConfig


def model_garden_encoder(config: BertConfig):
  """The Model Garden's encoder, and the initialiser that belongs to it."""
  import tf_keras
  from official.nlp.modeling import networks

  initializer = tf_keras.initializers.TruncatedNormal(config.initializer_range)
  encoder = networks.BertEncoderV2(
      vocab_size=config.vocab_size, hidden_size=config.hidden_size, num_layers=config.num_hidden_layers,
      num_attention_heads=config.num_attention_heads, inner_dim=config.intermediate_size, inner_activation=tanh_gelu,
      output_dropout=config.hidden_dropout_prob, attention_dropout=config.attention_probs_dropout_prob,
      initializer=initializer)
  return encoder, initializer


def model_garden_optimizer(learning_rate: float):
  """The Model Garden's AdamW, with the original's constants."""
  from official.modeling.optimization import legacy_adamw

  return legacy_adamw.AdamWeightDecay(
      learning_rate=learning_rate, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=1.0,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])


def model_garden_features(batch: dict) -> dict:
  """A batch of ours, int32, under the names of the Model Garden's inputs."""
  import tensorflow as tf

  names = {"input_word_ids": "input_ids", "input_mask": "input_mask", "input_type_ids": "segment_ids"}
  return {name: tf.constant(batch[ours], tf.int32) for name, ours in names.items()}


def tanh_gelu(x):
  """The original's GELU."""
  import tensorflow as tf

  return tf.nn.gelu(x, approximate=True)


def huggingface_config(config: BertConfig, **changes):
  """The same shape as transformers writes it, with the tanh form of GELU as one kernel."""
  import transformers

  return transformers.BertConfig(**{
      "vocab_size": config.vocab_size, "hidden_size": config.hidden_size,
      "num_hidden_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads,
      "intermediate_size": config.intermediate_size, "max_position_embeddings": config.max_position_embeddings,
      "hidden_act": "gelu_pytorch_tanh", **changes})


def torch_features(batch: dict) -> dict:
  """A batch of ours under the names of transformers' arguments."""
  import torch

  names = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
  return {name: torch.tensor(batch[ours]) for name, ours in names.items()}


def torch_optimizer(model, learning_rate: float):
  """PyTorch's AdamW as one kernel; biases and LayerNorm are not decayed."""
  import torch

  def is_decayed(name: str) -> bool:
    return "LayerNorm" not in name and "bias" not in name

  decayed = [one for name, one in model.named_parameters() if is_decayed(name)]
  others = [one for name, one in model.named_parameters() if not is_decayed(name)]
  return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                           lr=learning_rate, eps=1e-6, fused=True)


def torch_update(model, optimizer, loss) -> None:
  """The rest of a step of PyTorch: the gradient of `loss`, clipped to norm 1, and the update."""
  import torch

  loss.backward()
  torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
  optimizer.step()
  optimizer.zero_grad()


def check_torch() -> None:
  """Raises `UserError` where PyTorch or transformers are missing."""
  os.environ.setdefault("HF_HUB_OFFLINE", "1")
  _check("torch", "transformers")


def check_keras_hub() -> None:
  """Raises `UserError` where KerasHub is missing."""
  _check("keras_hub")


def _check(*modules: str) -> None:
  missing = next((module for module in modules if importlib.util.find_spec(module) is None), None)
  if missing:
    raise UserError(f"{missing} is not installed: pip install -r requirements-peers.txt")
