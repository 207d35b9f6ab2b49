"""The feature-based half of section 5.3 of the paper: a BiLSTM on the activations of an encoder that stays as it is.

Input: the same files as for fine-tuning, and an encoder. Output: in `--output_dir` the activations, a directory for
each choice of layers and seed with its best weights and scores, and a table of them, on the console and as
`feature_based.json`. `--layers=all` runs the six rows of table 7. `best/` has the encoder with the best
tagger of all, for predictions and exports (`feature_inference.py`). What is finished is not run again, what was stopped
resumes.
"""

import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Sequence

import numpy as np

from bert_tf.common import files, json_files
from bert_tf.common.errors import UserError
from bert_tf.tasks import run as driver
from bert_tf.tasks.token_classification.activations import stored_activations
from bert_tf.tasks.token_classification.data import Split
from bert_tf.tasks.token_classification.feature_inference import write_tagger
from bert_tf.tasks.token_classification.options import FEATURE_BASED_FILE, TokenClassificationOptions
from bert_tf.tasks.token_classification.tagger_training import TaggerTraining
from bert_tf.tasks.token_classification.task import TokenClassificationTask
from bert_tf.training.checkpoints import copy_best
from bert_tf.training.devices import Devices
from bert_tf.training.reports import printer
from bert_tf.training.signals import Interrupted, StopSignal
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD
from modeling.checkpoints.load import load_weights
from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.feature_tagger import FeatureTagger

# Name, layers, way of combining them, and F1 on the development set of CoNLL-2003 in table 7 of the paper.
TABLE_7 = (
    ("embeddings", ("0",), "concat", 91.0), ("second to last", ("-2",), "concat", 95.6),
    ("last", ("-1",), "concat", 94.9),
    ("weighted sum of the last four", ("-4", "-3", "-2", "-1"), "weighted_sum", 95.9),
    ("concatenation of the last four", ("-4", "-3", "-2", "-1"), "concat", 96.1),
    ("weighted sum of all layers", ("1:",), "weighted_sum", 95.5))
_RESULT_FILE = "result.json"
# Where the best tagger is put together before it takes its place.
_UNFINISHED = "unfinished"


@dataclasses.dataclass(frozen=True)
class Choice:
  """A row of the table: which layers, 0 the embeddings, and how they become one vector."""

  name: str
  layers: tuple[int, ...]
  combine: str
  paper_f1: float | None = None

  @property
  def folder(self) -> str:
    """The name of its directory."""
    return f"{self.combine}_{'_'.join(map(str, self.layers))}"


def run(options: TokenClassificationOptions) -> int:
  """What `run_ner.py --feature_based` does; returns the exit status."""
  options.check()
  task = TokenClassificationTask(options)
  if task.data.dev is None:
    raise UserError("--feature_based chooses by the development set: give --dev_file")
  files.make_output_directory(options.output_dir, "output_dir")
  devices = driver.set_up_devices(options, options.paths())
  log, stop = printer(devices.is_chief), StopSignal()
  for note in task.notes:
    log(note)
  choices = make_choices(options, task.config)
  try:
    with stop.listening(log):
      _run_all(options, task, choices, devices, log, stop.check)
  except Interrupted as interruption:
    log(f"{interruption}; run the same command again to resume")
  return 0


def make_choices(options: TokenClassificationOptions, config: BertConfig) -> list[Choice]:
  """The rows that the options ask for.

  Raises:
    UserError: a layer that the model does not have.
  """
  count = config.num_hidden_layers
  if options.layers == ("all",):
    rows = [Choice(name, _numbers(layers, count), combine, paper) for name, layers, combine, paper in TABLE_7
            if not (layers[0].startswith("-") and int(layers[0]) < -count)]
    return rows
  layers = _numbers(options.layers, count)
  return [Choice(f"{options.combine} of {','.join(map(str, layers))}", layers, options.combine)]


def table(rows: Sequence[tuple[Choice, list[dict]]], metric: str, count: int) -> str:
  """One line a row: mean ± sample standard deviation over the seeds, seconds of an epoch, the paper's score.

  Args:
    rows: choice and the results of its seeds.
    metric: of the results.
    count: layers of the model.
  """
  lines = [f"{'layers':34} {metric + ' dev':>17} {metric + ' test':>17} {'s/epoch':>8} {'s in all':>9}  paper (dev)"]
  for choice, found in rows:
    dev, test = (_mean([one[split][metric] for one in found if split in one]) for split in ("dev", "test"))
    paper = "" if choice.paper_f1 is None else f"{choice.paper_f1:.1f}"
    lines.append(f"{choice.name:34} {dev:>17} {test:>17} {np.mean([one['epoch_seconds'] for one in found]):8.1f} "
                 f"{np.mean([one['seconds'] for one in found]):9.0f}  {paper}")
  if count != 12 and any(choice.paper_f1 is not None for choice, _ in rows):
    lines.append(f"(the paper's model has 12 layers and is scored on CoNLL-2003; this one has {count})")
  return "\n".join(lines)


def _numbers(layers: Sequence[str], count: int) -> tuple[int, ...]:
  """Numbers of layers from 0, the embeddings, to `count`."""
  if tuple(layers) == ("1:",):
    return tuple(range(1, count + 1))
  numbers = []
  for layer in layers:
    if not layer.removeprefix("-").isdecimal() or not -count <= int(layer) <= count:
      raise UserError(f"--layers={','.join(layers)}: there is no layer {layer}: the model has 1 to {count}, or "
                      f"-{count} to -1 from the end, and 0, the embeddings; all stands alone")
    numbers.append(int(layer) % (count + 1) if int(layer) < 0 else int(layer))
  return tuple(numbers)


def _run_all(options: TokenClassificationOptions, task: TokenClassificationTask, choices: list[Choice],
             devices: Devices, log: Callable[[str], None], check_stop: Callable[[], None]) -> None:
  splits = {name: split for name in ("train", "dev", "test") if (split := getattr(task.data, name)) is not None}
  layers = tuple(sorted({layer for choice in choices for layer in choice.layers}))
  started = time.monotonic()
  encoder = _load_encoder(task, devices, log)
  activations = _activations(options, encoder, splits, layers, devices, log, check_stop)
  log(f"activations took {time.monotonic() - started:.0f} s")
  metric, rows = "accuracy" if task.data.chunk_names is None else "f1", []

  def directory_of(choice: Choice, seed: int) -> str:
    return os.path.join(options.output_dir, f"{choice.folder}_seed{seed}")

  def training(choice: Choice, seed: int) -> TaggerTraining:
    return TaggerTraining(options, task.data, choice.combine, [layers.index(layer) for layer in choice.layers],
                          activations, splits, seed, directory_of(choice, seed), metric)

  for choice in choices:
    found = []
    for seed in options.sweep.get("seed", (options.seed,)):
      directory = directory_of(choice, seed)
      path = os.path.join(directory, _RESULT_FILE)
      if not files.exists(path):
        log(f"\n{choice.name}, seed {seed}: {directory}")
        files.make_output_directory(directory, "output_dir")
        json_files.write(path, training(choice, seed).run(log, check_stop))
      found.append(json_files.read(path))
    rows.append((choice, found))
  log(f"\n{table(rows, metric, task.config.num_hidden_layers)}")
  best_choice, best = max(((choice, one) for choice, found in rows for one in found),
                          key=lambda pair: pair[1]["dev"][metric])
  log(f"best: {best_choice.name}, seed {best['seed']}")
  _keep_best(options.output_dir, task, encoder, training(best_choice, best["seed"]).best_tagger(), best_choice, {
      "step": best["epoch"], "metric": metric, "metrics": best["dev"]})
  json_files.write(os.path.join(options.output_dir, FEATURE_BASED_FILE), {
      "metric": metric, "rows": [{"name": choice.name, "layers": list(choice.layers), "combine": choice.combine,
                                  "paper_f1": choice.paper_f1, "runs": found} for choice, found in rows]})


def _keep_best(output_dir: str, task: TokenClassificationTask, encoder: BertEncoder, tagger: FeatureTagger,
               choice: Choice, record: dict) -> None:
  """Makes encoder and tagger the best weights of the run, whole or not at all."""
  unfinished = os.path.join(output_dir, _UNFINISHED)
  files.remove_tree(unfinished)
  directory = os.path.join(unfinished, BEST_DIRECTORY)
  write_tagger(directory, encoder, tagger, choice.layers, task.data.description, task.checkpoint)
  json_files.write(os.path.join(directory, BEST_RECORD), record)
  copy_best(unfinished, output_dir)
  files.remove_tree(unfinished)


def _load_encoder(task: TokenClassificationTask, devices: Devices, log: Callable[[str], None]) -> BertEncoder:
  with devices.strategy.scope():
    encoder = BertEncoder(task.config, dtype=devices.dtype)
    encoder.build_weights()
    log(load_weights(encoder, task.start).describe())
  return encoder


def _activations(options: TokenClassificationOptions, encoder: BertEncoder, splits: dict[str, Split],
                 layers: tuple[int, ...], devices: Devices, log: Callable[[str], None], check_stop: Callable[[], None]
                 ) -> dict[str, np.ndarray]:
  digest = hashlib.sha256()
  for name, variable in original_names(encoder).items():
    digest.update(name.encode() + np.asarray(variable.value).tobytes())
  return {name: stored_activations(
      os.path.join(options.output_dir, "activations"), name, split.windows, encoder, layers,
      options.activation_precision, digest.hexdigest(), options.predict_batch_size, options.max_seq_length, devices,
      log, check_stop) for name, split in splits.items()}


def _mean(values: list[float]) -> str:
  """In percent."""
  if not values:
    return "-"
  deviation = f" ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
  return f"{100 * np.mean(values):.2f}{deviation}"
