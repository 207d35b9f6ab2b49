"""Opening a checkpoint of any format, and loading its weights into a model.

A format is one function that looks at what is there and returns a `Checkpoint` or None.
"""

import dataclasses
import os

import numpy as np

from common.errors import UserError
from modeling.checkpoints.bundle import Bundle, find_prefix
from modeling.checkpoints.checkpoint import Checkpoint
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD, with_companion_files
from modeling.checkpoints.huggingface import find_safetensors, read_huggingface, refuse_pickle
from modeling.checkpoints.model_garden import read_model_garden
from modeling.checkpoints.names import original_names
from modeling.checkpoints.native import read_native
from modeling.checkpoints.original import read_original
from modeling.checkpoints.shapes import missing_from_encoder, show_shape, some

# Formats that are kept in TensorFlow's checkpoint files: Bundle → Checkpoint or None.
_BUNDLE_FORMATS = (read_native, read_original, read_model_garden)


@dataclasses.dataclass(frozen=True)
class LoadReport:
  """What became of the weights, by the names of the original.

  Attributes:
    description: of the checkpoint.
    loaded: weights of the model that were read.
    newly_initialised: weights of the model that the checkpoint does not have; they keep their initial values.
    unused: weights of the checkpoint that the model does not have.
  """

  description: str
  loaded: list[str]
  newly_initialised: list[str]
  unused: list[str]

  def describe(self) -> str:
    """The account as a user reads it, a line for each kind."""
    lines = [f"loaded {len(self.loaded)} tensors from {self.description}"]
    if self.newly_initialised:
      lines.append(f"freshly initialised, not in the checkpoint: {', '.join(self.newly_initialised)}")
    if self.unused:
      lines.append(f"in the checkpoint, but not in this model: {', '.join(self.unused)}")
    return "\n".join(lines)


def read_checkpoint(path: str) -> Checkpoint:
  """Looks into a checkpoint.

  Args:
    path: a directory of ours (of a fine-tuning run its best weights are taken), one of its `ckpt-N` prefixes; an
      original checkpoint: its prefix (`bert_model.ckpt`), one of its files, or the directory it is in; the same of a
      Model Garden checkpoint; a Hugging Face directory, its `.safetensors` file or the index of several. Configuration,
      vocabulary and casing are looked for beside it.

  Raises:
    UserError: nothing is there, a file of it is missing or damaged, several checkpoints are there, the format
      is unknown, or the configuration beside it contradicts the tensors.
  """
  if os.path.exists(os.path.join(path, BEST_DIRECTORY, BEST_RECORD)):
    path = os.path.join(path, BEST_DIRECTORY)
  prefix = find_prefix(path)
  candidates = find_safetensors(path)
  if len(candidates) + (prefix is not None) > 1:
    names = ", ".join([*map(os.path.basename, candidates), *([os.path.basename(prefix)] if prefix else [])])
    raise UserError(f"{path} holds several checkpoints ({names}): name the one that is meant, e.g. {candidates[0]}")
  if candidates:
    return with_companion_files(read_huggingface(candidates[0]), os.path.dirname(candidates[0]) or ".")
  if prefix is not None:
    return with_companion_files(_read_bundle(prefix), os.path.dirname(prefix) or ".")
  if not os.path.exists(path):
    raise UserError(f"there is no checkpoint {path}: neither a directory nor {path}.index exists")
  refuse_pickle(path)
  raise UserError(f"{path} holds no checkpoint: a directory with an .index or a .safetensors file, or the path of one "
                  "is wanted")


def load_weights(model, source: Checkpoint) -> LoadReport:
  """Reads the weights a model and a checkpoint have in common.

  Nothing is changed unless everything fits.

  Args:
    model: a `BertEncoder`, or a model with an `encoder` and `heads`; its variables must exist.
    source: from `read_checkpoint`.

  Raises:
    UserError: a tensor has another shape, a weight of the encoder is missing, or the data are damaged.
  """
  variables = original_names(model)
  _check_shapes(variables, source)
  _check_encoder(variables, source)
  loaded = [name for name in variables if name in source.tensors]
  values = {name: np.asarray(source.read(name), np.float32) for name in loaded}
  for name, value in values.items():
    variables[name].assign(value)
  return LoadReport(
      description=source.description,
      loaded=loaded,
      newly_initialised=[name for name in variables if name not in source.tensors],
      unused=sorted(name for name in source.tensors if name not in variables))


def _read_bundle(prefix: str) -> Checkpoint:
  bundle = Bundle(prefix)
  for read_format in _BUNDLE_FORMATS:
    source = read_format(bundle)
    if source is not None:
      return source
  names = ", ".join(sorted(bundle.shapes)[:3])
  raise UserError(f"{prefix} is a checkpoint of an unknown kind (it holds {names}, ...): those of this project, of the "
                  "original BERT and of the Model Garden can be read")


def _check_shapes(variables: dict, source: Checkpoint) -> None:
  wrong = [f"{name} is {show_shape(source.tensors[name])} there and {show_shape(variable.shape)} here"
           for name, variable in variables.items()
           if name in source.tensors and tuple(source.tensors[name]) != tuple(variable.shape)]
  if wrong:
    raise UserError(f"{source.description} does not fit this network: {some(wrong)}. "
                    "Use the bert_config.json that belongs to the checkpoint")


def _check_encoder(variables: dict, source: Checkpoint) -> None:
  missing = missing_from_encoder({name: tuple(variable.shape) for name, variable in variables.items()}, source.tensors)
  if missing:
    raise UserError(f"{source.description} does not hold the whole encoder of this network: "
                    f"{some(missing)} not found. Use the bert_config.json that belongs to the checkpoint")
