"""Plots of what the given sources contain, for `plot.py`."""

import importlib
import os
from collections.abc import Callable

from bert_tf.common import files
from bert_tf.common.errors import UserError
from bert_tf.plotting.options import KINDS, PlotOptions
from bert_tf.plotting.picture import Picture, write

# --what → module and function that finds its pictures, and what they need.
_FINDERS = {
    "curves": ("bert_tf.plotting.runs:curves", "a run directory with metrics.jsonl"),
    "selection": ("bert_tf.plotting.runs:selection", "a directory with selection.json"),
    "threshold": ("bert_tf.plotting.predictions:threshold", "a run on SQuAD v2.0 with null_odds.json"),
    "reliability": ("bert_tf.plotting.predictions:reliability_diagrams",
                    "a classifier's run with eval_predictions.jsonl (run_classifier.py --do_eval)"),
    "records": (
        "bert_tf.plotting.records:records", "record files, their statistics, or a run that was pre-trained on some"),
    "embeddings": ("bert_tf.plotting.models:embeddings", "a checkpoint with its vocabulary"),
    "attention": ("bert_tf.plotting.models:attention", "a checkpoint with its vocabulary, and --sentence"),
}
_PROJECTOR = "projector"
# Drawn where nothing is asked for.
_BY_ITSELF = tuple(kind for kind in KINDS if kind != _PROJECTOR)


def run(options: PlotOptions) -> None:
  """Draws, and prints the paths of the pictures; raises `UserError` where there is nothing to draw."""
  for path in options.sources:
    if not files.exists(path) and not files.exists(f"{path}.index"):
      raise UserError(f"{path} does not exist: a run directory, a checkpoint or record files are expected")
  directory = options.output_dir or os.path.join(_directory(options), "plots")
  pictures = []
  for kind in options.what or _BY_ITSELF:
    if kind == _PROJECTOR:
      continue
    target, needed = _FINDERS[kind]
    found = _finder(target)(options)
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
    _write_projector(options, directory)


def _finder(target: str) -> Callable[[PlotOptions], list[Picture]]:
  """Imported when it is needed: pictures of files do without TensorFlow."""
  module, _, function = target.partition(":")
  return getattr(importlib.import_module(module), function)


def _directory(options: PlotOptions) -> str:
  first = options.sources[0]
  return first if files.is_directory(first) else os.path.dirname(first) or "."


def _write_projector(options: PlotOptions, directory: str) -> None:
  from bert_tf.plotting.models import write_projector

  # Away from checkpoints: TensorBoard would list all their matrices, the optimizer's included, before the embeddings.
  directory = os.path.join(directory, _PROJECTOR)
  print("\n".join(write_projector(options, directory)))
  print(f"tensorboard --logdir={directory}, page Projector")
