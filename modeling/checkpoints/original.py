"""Checkpoints of the original BERT (TensorFlow 1): the released models and what its scripts write."""

import os
import re

from modeling.checkpoints.companion_files import Checkpoint
from modeling.checkpoints.tensorflow_files import Bundle

# Not weights: the optimizer's state and the step counter.
_NOT_WEIGHTS = re.compile(r"(/adam_[mv]|^global_step)$")


def read_original(bundle: Bundle) -> Checkpoint | None:
  """The weights of an original checkpoint; None if it is of another kind."""
  if not any(key.startswith("bert/") for key in bundle.shapes):
    return None
  tensors = {key: shape for key, shape in sorted(bundle.shapes.items()) if not _NOT_WEIGHTS.search(key)}
  return Checkpoint(
      description=f"{bundle.prefix} (original TensorFlow 1 checkpoint)", tensors=tensors, read=bundle.read,
      do_lower_case=_casing_of_release(bundle.prefix))


def _casing_of_release(prefix: str) -> bool | None:
  """The released models tell their casing by the name of their directory only."""
  name = os.path.basename(os.path.dirname(os.path.abspath(prefix))).lower()
  if "uncased" in name or name in ("chinese_l-12_h-768_a-12", "multilingual_l-12_h-768_a-12"):
    return True
  return False if "cased" in name else None
