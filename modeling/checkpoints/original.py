"""Checkpoints of the original BERT (TensorFlow 1): the released models and what its scripts write."""

import os
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from data_gen.tokenization.vocabulary import casing_of_release
from modeling.checkpoints.companion_files import CONFIG_FILE, StoredWeights
from modeling.checkpoints.tensorflow_files import Bundle
from modeling.checkpoints.weights import ENCODER_PREFIX
from modeling.config import BertConfig

# Not weights: the optimizer's state and the step counter.
_NOT_WEIGHTS = re.compile(r"(/adam_[mv]|^global_step)$")


def read_original(bundle: Bundle) -> StoredWeights | None:
  """The weights of an original checkpoint; None if it is of another kind."""
  if not any(key.startswith(ENCODER_PREFIX) for key in bundle.shapes):
    return None
  tensors = {key: shape for key, shape in sorted(bundle.shapes.items()) if not _NOT_WEIGHTS.search(key)}
  return StoredWeights(
      description=f"{bundle.prefix} (original TensorFlow 1 checkpoint)", tensors=tensors, read=bundle.read,
      do_lower_case=casing_of_release(os.path.dirname(bundle.prefix)))


def write_original(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """Writes tensors as TensorFlow 1's Saver does: by their names, without an object graph."""
  tf.raw_ops.SaveV2(
      prefix=os.path.join(directory, "bert_model.ckpt"), tensor_names=list(weights),
      shape_and_slices=[""] * len(weights), tensors=[tf.constant(value) for value in weights.values()])
  config.to_file(os.path.join(directory, CONFIG_FILE))
