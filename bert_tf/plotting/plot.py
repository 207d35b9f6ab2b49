"""Plots of what the given sources contain, for `plot.py`."""

import importlib
import os

from bert_common import files
from bert_common.errors import UserError
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import write

# --what → module and function that finds its pictures, and what they need.
_FINDERS = {
    "curves": ("bert_tf.plotting.runs:curves", "a run directory with metrics.jsonl"),
    "selection": ("bert_tf.plotting.runs:selection", "a directory with selection.json"),
    "records": (
        "bert_tf.plotting.records:records", "record files, their statistics, or a run that was pre-trained on some"),
    "embeddings": ("bert_tf.plotting.models:embeddings", "a checkpoint with its vocabulary"),
    "attention": ("bert_tf.plotting.models:attention", "a checkpoint with its vocabulary, and --sentence"),
}
_PROJECTOR = "projector"


def run(options: PlotOptions) -> None:
  """Draws, and prints the paths of the pictures; raises `UserError` where there is nothing to draw."""
  for path in options.sources:
    with files.user_error(f"can't read {path}"):
      is_there = files.exists(path) or files.exists(f"{path}.index")
    if not is_there:
      raise UserError(f"{path} does not exist: a run directory, a checkpoint or record files are expected")
  first = options.sources[0]
  beside = first if files.is_directory(first) else os.path.dirname(first) or "."
  directory = options.output_dir or os.path.join(beside, "plots")
  pictures = []
  for kind in options.what or _FINDERS:
    if kind == _PROJECTOR:
      continue
    target, needed = _FINDERS[kind]
    module, _, function = target.partition(":")
    # Imported when it is needed: pictures of files do without TensorFlow.
    found = getattr(importlib.import_module(module), function)(options)
    if not found and options.what:
      raise UserError(f"--what={kind}: {' and '.join(options.sources)} has nothing for it; it needs {needed}")
    pictures += found
  if not pictures and _PROJECTOR not in options.what:
    raise UserError(f"{' and '.join(options.sources)}: there is nothing to draw; {', '.join(_FINDERS)} were looked for")
  if pictures:
    files.make_output_directory(directory, "output_dir")
  for picture in pictures:
    print("\n".join(write(picture, directory, options.formats)))
  if _PROJECTOR in options.what:
    from bert_tf.plotting.models import write_projector

    # Away from checkpoints: TensorBoard would list all their matrices, the optimizer's included, before the embeddings.
    directory = os.path.join(directory, _PROJECTOR)
    print("\n".join(write_projector(options, directory)))
    print(f"tensorboard --logdir={directory}, page Projector")
