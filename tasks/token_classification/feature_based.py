"""The feature-based half of section 5.3 of the paper: a BiLSTM on the activations of an encoder that stays as it is.

Input: the same files as for fine-tuning, and an encoder. Output: in `--output_dir` the activations, a directory for
each choice of layers and seed with its best weights and scores, and a table of them, on the console and as
`feature_based.json`. `--layers=all` runs the six rows of table 7. What is finished is not run again, what was stopped
resumes.
"""

import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError
from data_gen.tokenization.vectorized import ragged_range
from evaluation import conlleval
from modeling.checkpoints.companion_files import FEATURE_BASED_FILE
from modeling.checkpoints.load import load_weights
from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.feature_tagger import FeatureTagger
from tasks import run as driver
from tasks.token_classification import results
from tasks.token_classification.activations import stored_activations
from tasks.token_classification.data import Split
from tasks.token_classification.options import TokenClassificationOptions
from tasks.token_classification.results import score, tag_split
from tasks.token_classification.task import TokenClassificationTask
from training.devices import Devices
from training.examples import epoch_batches, sorted_batches
from training.reports import printer
from training.signals import Interrupted, StopSignal

# Name, layers, way of combining them, and F1 on the development set of CoNLL-2003 in table 7 of the paper.
TABLE_7 = (
    ("embeddings", ("0",), "concat", 91.0), ("second to last", ("-2",), "concat", 95.6),
    ("last", ("-1",), "concat", 94.9),
    ("weighted sum of the last four", ("-4", "-3", "-2", "-1"), "weighted_sum", 95.9),
    ("concatenation of the last four", ("-4", "-3", "-2", "-1"), "concat", 96.1),
    ("weighted sum of all layers", ("1:",), "weighted_sum", 95.5))
_LEARNING_RATE, _EPOCHS = 1e-3, 15.0
_CLIP_NORM = 5.0
_STATE_FILE, _RESULT_FILE = "state.npz", "result.json"


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
  activations = _activations(options, task, splits, layers, devices, log, check_stop)
  log(f"activations took {time.monotonic() - started:.0f} s")
  metric, rows = "accuracy" if task.data.chunk_names is None else "f1", []
  for choice in choices:
    found = []
    for seed in options.sweep.get("seed", (options.seed,)):
      directory = os.path.join(options.output_dir, f"{choice.folder}_seed{seed}")
      path = os.path.join(directory, _RESULT_FILE)
      if not files.exists(path):
        log(f"\n{choice.name}, seed {seed}: {directory}")
        files.make_output_directory(directory, "output_dir")
        tagger = _Training(options, task, choice, [layers.index(layer) for layer in choice.layers], activations, splits,
                           seed, directory, metric)
        files.write_json(path, tagger.run(log, check_stop))
      found.append(files.read_json(path))
    rows.append((choice, found))
  log(f"\n{table(rows, metric, task.config.num_hidden_layers)}")
  best_row, best = max(((choice, one) for choice, found in rows for one in found),
                       key=lambda pair: pair[1]["dev"][metric])
  log(f"best: {best_row.name}, seed {best['seed']}")
  files.write_json(os.path.join(options.output_dir, FEATURE_BASED_FILE), {
      "metric": metric, "rows": [{"name": choice.name, "layers": list(choice.layers), "combine": choice.combine,
                                  "paper_f1": choice.paper_f1, "runs": found} for choice, found in rows]})


def _activations(options: TokenClassificationOptions, task: TokenClassificationTask, splits: dict[str, Split],
                 layers: tuple[int, ...], devices: Devices, log: Callable[[str], None], check_stop: Callable[[], None]
                 ) -> dict[str, np.ndarray]:
  with devices.strategy.scope():
    encoder = BertEncoder(task.config, dtype=devices.dtype)
    encoder.build_weights()
    log(load_weights(encoder, task.start).describe())
  digest = hashlib.sha256()
  for name, variable in original_names(encoder).items():
    digest.update(name.encode() + np.asarray(variable.value).tobytes())
  return {name: stored_activations(
      os.path.join(options.output_dir, "activations"), name, split.windows, encoder, layers,
      options.activation_precision, digest.hexdigest(), options.predict_batch_size, options.max_seq_length, devices,
      log, check_stop) for name, split in splits.items()}


class _Training:
  """One BiLSTM: epochs, the best of them by the development set, its scores.

  The batches of an epoch are a function of the seed and the epoch, and all that changes is kept after every epoch: a
  run that was stopped gives what it would have given.
  """

  def __init__(self, options: TokenClassificationOptions, task: TokenClassificationTask, choice: Choice,
               columns: list[int], activations: dict[str, np.ndarray], splits: dict[str, Split], seed: int,
               directory: str, metric: str):
    self._options, self._data, self._splits, self._seed = options, task.data, splits, seed
    self._activations, self._columns, self._directory, self._metric = activations, columns, directory, metric
    self._epochs = int(np.ceil(options.num_train_epochs if "num_train_epochs" in options.given else _EPOCHS))
    rate = options.learning_rate if "learning_rate" in options.given else _LEARNING_RATE
    keras.utils.set_random_seed(seed)
    self._model = FeatureTagger(len(task.data.labels), len(columns), choice.combine, units=options.lstm_units,
                                depth=options.lstm_layers, dropout=options.classifier_dropout, seed=seed)
    hidden = activations["train"].shape[-1]
    self._model(tf.zeros([1, 1, len(columns), hidden]), tf.ones([1, 1], tf.bool))
    self._optimizer = keras.optimizers.Adam(rate, global_clipnorm=_CLIP_NORM)
    self._optimizer.build(self._model.trainable_variables)
    vectors = tf.TensorSpec([None, None, len(columns), hidden], tf.float32)
    mask, labels = tf.TensorSpec([None, None], tf.bool), tf.TensorSpec([None, None], tf.int32)
    self._step = tf.function(self._train_step, input_signature=[vectors, mask, labels])
    self._probabilities = tf.function(lambda vectors, mask: tf.nn.softmax(self._model(vectors, mask)),
                                      input_signature=[vectors, mask])

  def run(self, log: Callable[[str], None], check_stop: Callable[[], None]) -> dict:
    """Trains to the end; returns the result of the best epoch."""
    epoch, best, seconds = self._restore(log)
    rows = self._splits["train"].sentences.row_lengths
    while epoch < self._epochs:
      started, losses = time.monotonic(), []
      for chosen in epoch_batches(rows, self._options.train_batch_size, self._seed, epoch):
        check_stop()
        losses.append(float(self._step(*self._batch("train", chosen, self._splits["train"].labels))))
      seconds.append(time.monotonic() - started)
      epoch += 1
      metrics = score(tag_split(self._data, self._splits["dev"], self._predict("dev", check_stop)))
      log(f"epoch {epoch} of {self._epochs}: loss {np.mean(losses):.4f}, {self._metric} {metrics[self._metric]:.4f}, "
          f"{seconds[-1]:.1f} s")
      if best is None or metrics[self._metric] > best[0]:
        best = metrics[self._metric], [np.array(weight) for weight in self._model.get_weights()], epoch
      self._save(epoch, best, seconds)
    self._model.set_weights(best[1])
    return self._finish(best[2], seconds, log, check_stop)

  def _finish(self, epoch: int, seconds: list[float], log: Callable[[str], None], check_stop: Callable[[], None]
              ) -> dict:
    result = {"seed": self._seed, "epoch": epoch, "epoch_seconds": float(np.mean(seconds)),
              "seconds": float(np.sum(seconds))}
    for name in ("dev", "test"):
      if name in self._splits:
        tagged = tag_split(self._data, self._splits[name], self._predict(name, check_stop))
        results.write_predictions(os.path.join(self._directory, f"{name}_predictions.txt"), tagged)
        if tagged.is_scorable:
          result[name] = score(tagged)
          if tagged.counts is not None:
            log(f"{name}\n{conlleval.report(tagged.counts)}")
    return result

  def _train_step(self, vectors, mask, labels):
    with tf.GradientTape() as tape:
      logits = self._model(vectors, mask, training=True)
      known = tf.cast(labels >= 0, tf.float32)
      losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(labels, 0), logits)
      loss = tf.reduce_sum(losses * known) / tf.maximum(tf.reduce_sum(known), 1.0)
    self._optimizer.apply_gradients(zip(tape.gradient(loss, self._model.trainable_variables),
                                        self._model.trainable_variables, strict=True))
    return loss

  def _batch(self, name: str, chosen: np.ndarray, labels: np.ndarray | None = None) -> tuple:
    """(vectors, mask) of sentences, and their labels where they are given."""
    lengths = self._splits[name].sentences.row_lengths
    starts = (np.cumsum(lengths) - lengths)[chosen]
    mask = np.arange(lengths[chosen].max()) < lengths[chosen][:, None]
    words = ragged_range(starts, lengths[chosen])
    stored = self._activations[name]
    vectors = np.zeros((*mask.shape, len(self._columns), stored.shape[-1]), np.float32)
    vectors[mask] = stored[words][:, self._columns]
    if labels is None:
      return vectors, mask
    batch_labels = np.full(mask.shape, -1, np.int32)
    batch_labels[mask] = labels[words]
    return vectors, mask, batch_labels

  def _predict(self, name: str, check_stop: Callable[[], None]) -> np.ndarray:
    """float32 [W, C]."""
    lengths = self._splits[name].sentences.row_lengths
    starts = np.cumsum(lengths) - lengths
    result = np.zeros((lengths.sum(), len(self._data.labels)), np.float32)
    for chosen in sorted_batches(lengths, self._options.predict_batch_size):
      check_stop()
      vectors, mask = self._batch(name, chosen)
      result[ragged_range(starts[chosen], lengths[chosen])] = self._probabilities(vectors, mask).numpy()[mask]
    return result

  def _variables(self) -> list:
    return [*self._model.variables, *self._optimizer.variables]

  def _save(self, epoch: int, best: tuple, seconds: list[float]) -> None:
    arrays = {f"variable_{number}": np.asarray(one.value) for number, one in enumerate(self._variables())}
    arrays |= {f"best_{number}": value for number, value in enumerate(best[1])}
    with files.atomic_write(os.path.join(self._directory, _STATE_FILE), "wb") as file:
      np.savez(file, epoch=epoch, best_score=best[0], best_epoch=best[2], seconds=seconds, **arrays)

  def _restore(self, log: Callable[[str], None]) -> tuple[int, tuple | None, list[float]]:
    """(epochs done, the best of them, their seconds)."""
    path = os.path.join(self._directory, _STATE_FILE)
    if not files.exists(path):
      return 0, None, []
    with files.open_file(path, "rb") as file, np.load(file) as state:
      for number, one in enumerate(self._variables()):
        one.assign(state[f"variable_{number}"])
      count = len(self._model.get_weights())
      best = float(state["best_score"]), [state[f"best_{number}"] for number in range(count)], int(state["best_epoch"])
      log(f"resuming behind epoch {int(state['epoch'])}")
      return int(state["epoch"]), best, state["seconds"].tolist()


def _mean(values: list[float]) -> str:
  """In percent."""
  if not values:
    return "-"
  deviation = f" ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
  return f"{100 * np.mean(values):.2f}{deviation}"
