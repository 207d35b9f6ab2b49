"""The models that benchmarks compare with, of the same shape as ours; for the peers' own processes."""

import os

from common.errors import UserError
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


def tanh_gelu(x):
  """The original's GELU."""
  import tensorflow as tf

  return tf.nn.gelu(x, approximate=True)


def huggingface_config(config: BertConfig, **changes):
  """The same shape as transformers writes it."""
  import transformers

  return transformers.BertConfig(
      vocab_size=config.vocab_size, hidden_size=config.hidden_size, num_hidden_layers=config.num_hidden_layers,
      num_attention_heads=config.num_attention_heads, intermediate_size=config.intermediate_size,
      max_position_embeddings=config.max_position_embeddings, **changes)


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
  try:
    import torch  # noqa: F401
    import transformers  # noqa: F401
  except ImportError as error:
    raise UserError(f"{error.name} is not installed: pip install -r requirements-peers.txt") from None
