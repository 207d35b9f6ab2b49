"""Classes and scores of sequences and pairs: GLUE's tasks and anybody's own (section 4.1 of the paper).

Comes after `tasks/classification/data.py` (files → examples) and `tasks/fine_tuning.py`; `run_classifier.py` turns
flags into `ClassificationOptions` and calls `run`. Several combinations of learning rate, batch size, epochs and seed
are run one after the other, and the best on the development set predicts.
"""

import dataclasses
import gc
import itertools
import math
import os
import time
from collections.abc import Callable, Mapping

import keras
import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError
from evaluation import confusion, glue_submission
from evaluation.classification import is_degenerate, score, softmax
from modeling.checkpoints.load import LoadedCheckpoint, open_checkpoint, trained_step
from modeling.classification import (
  BertForClassification,
  classification_metrics,
  classification_sums,
  regression_metrics,
  regression_sums,
)
from modeling.losses import example_weights
from tasks import selection as selection_report
from tasks.classification import results as classification_files
from tasks.classification.data import ClassificationData, Split, check_head, labelled_config, read_data
from tasks.eval_results import describe_evaluation
from tasks.fine_tuning import FineTuning, FineTuningOptions, starting_point
from tasks.selection import RunResult
from training import report, run_directory
from training.devices import Devices, set_up
from training.loop import Task
from training.session import Interrupted

_RESULT_FILE = "result.json"


@dataclasses.dataclass(frozen=True)
class ClassificationOptions(FineTuningOptions):
  """The flags of `run_classifier.py`, which explains them. The four that may be lists are tuples in `sweep`."""

  task_name: str = ""
  data_dir: str | None = None
  do_eval: bool = False
  train_file: str | None = None
  dev_file: str | None = None
  test_file: str | None = None
  file_format: str = "auto"
  text_a_column: str | None = None
  text_b_column: str | None = None
  label_column: str | None = None
  regression: bool = False
  sweep: Mapping[str, tuple] = dataclasses.field(default_factory=dict)

  def combinations(self) -> list["ClassificationOptions"]:
    """One set of options for each combination, each with a directory of its own where there are several."""
    combinations = [dict(zip(self.sweep, values, strict=True)) for values in itertools.product(*self.sweep.values())]
    if len(combinations) < 2:
      return [dataclasses.replace(self, sweep={}, **(combinations[0] if combinations else {}))]
    return [dataclasses.replace(self, sweep={}, output_dir=os.path.join(self.output_dir, _folder(values)), **values)
            for values in combinations]


def make_task(model: BertForClassification, regression: bool = False) -> Task:
  """Classification or regression as the loop sees it."""
  name, sums, metrics = (("regression", regression_sums, regression_metrics) if regression else
                         ("classification", classification_sums, classification_metrics))
  return Task(losses=(name,), counts=lambda features: {f"{name}_count": tf.reduce_sum(example_weights(features))},
              sums=lambda features, dropout: sums(model(features, dropout=dropout), features), metrics=metrics)


def run(options: ClassificationOptions, flags: Mapping[str, object]) -> int:
  """Checks everything, then trains, evaluates and predicts.

  Args:
    options: what to do.
    flags: the effective flags, kept in `flags.json`.

  Returns:
    the process's exit status: 0, also when it was interrupted and can be resumed.

  Raises:
    UserError: see `tasks/classification/data.py` and `training`.
  """
  if not (options.do_train or options.do_eval or options.do_predict):
    raise UserError("nothing to do: give --do_train, --do_eval, --do_predict or several of them")
  combinations = options.combinations()
  for combination in combinations:
    combination.check()
  if len(combinations) > 1 and not options.do_train:
    raise UserError("several values of a flag are for --do_train: to evaluate or predict there is one model")
  # Each combination starts from the checkpoint, also when another one has been trained already.
  start = starting_point(combinations[0]) if len(combinations) == 1 else options.init_checkpoint
  opened = open_checkpoint(start, bert_config_file=options.bert_config_file,
                        vocab_file=options.vocab_file, do_lower_case=options.do_lower_case)
  opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
  data = read_data(options, opened)
  if len(combinations) > 1 and not data.dev:
    raise UserError("to choose among several values a development set is needed: give --dev_file")
  files.make_output_directory(options.output_dir, "output_dir")
  devices = set_up(options.distribution_strategy, options.precision, options.jit_compile, options.tpu,
                   (options.output_dir, options.init_checkpoint, options.data_dir, options.train_file))
  for combination in combinations:
    combination.check_devices(devices)
  say = report.printer(devices.is_chief)
  for note in data.notes:
    say(note)
  try:
    if len(combinations) == 1:
      _run_one(combinations[0], opened, data, devices, flags, say)
    else:
      _select(options, combinations, opened, data, devices, flags, say)
  except Interrupted as interruption:
    say(f"{interruption}: saved in {options.output_dir}; run the same command again to go on from there")
  return 0


class _Classifier:
  """A network in its run directory, with what can be done with it."""

  def __init__(self, options: ClassificationOptions, opened: LoadedCheckpoint, data: ClassificationData, devices: Devices,
               flags: Mapping[str, object], say: Callable[[str], None]):
    classes = 1 if data.regression else len(data.labels)
    self.tuning = FineTuning(
        options, opened, labelled_config(opened.config, data), devices,
        lambda: BertForClassification(opened.config, classes, seed=options.seed, dtype=devices.dtype),
        data.description, "run_classifier.py", flags, check_head(opened, data, options.do_train), say)
    self._data = data
    self._devices = devices
    self._say = say
    model = self.tuning.model
    self._predict = self.tuning.prediction(lambda features: {"logits": model(features)})

  def train(self) -> None:
    """Raises `Interrupted` when a signal came."""
    data = self._data
    self.tuning.train(
        make_task(self.tuning.model, data.regression), data.train.examples,
        "mean_absolute_error" if data.regression else "accuracy", self.evaluate if data.dev else None,
        data.main_metric, self._show)

  def logits(self, split: Split) -> np.ndarray:
    """float32 [E, C]."""
    return self._predict(split.examples)["logits"]

  def evaluate(self) -> dict[str, float]:
    """Metrics of all development sets; those of the second and further ones have its name in front."""
    metrics: dict[str, float] = {}
    self.predictions = {}
    for number, (name, split) in enumerate(self._data.dev.items()):
      logits = self.logits(split)
      prefix = f"{name.removeprefix('dev_')}_" if number else ""
      metrics |= {f"{prefix}{metric}": value for metric, value in _score(self._data, split, logits).items()}
      self.predictions[name] = logits[:, 0] if self._data.regression else logits.argmax(axis=-1)
    return metrics

  def _show(self, unused_metrics: dict[str, float]) -> None:
    if not self._data.regression:
      tf.summary.image("confusion", confusion.confusion_picture(self._confusion(), self._data.labels)[None])

  def _confusion(self) -> np.ndarray:
    name, split = next(iter(self._data.dev.items()))
    return confusion.confusion_matrix(self.predictions[name], split.texts.labels, len(self._data.labels))

  def describe_classes(self) -> str:
    """The table of the classes and the confusion matrix of the first development set."""
    name, split = next(iter(self._data.dev.items()))
    table = confusion.per_class_table(self.predictions[name], split.texts.labels, self._data.labels)
    return f"{table}\n\n{confusion.confusion_text(self._confusion(), self._data.labels)}"


def _run_one(options: ClassificationOptions, opened: LoadedCheckpoint, data: ClassificationData, devices: Devices,
             flags: Mapping[str, object], say: Callable[[str], None]) -> RunResult | None:
  """One run; returns its result where there is a development set to measure it on."""
  started = time.monotonic()
  if options.do_train:
    for change in run_directory.changed_flags(options.output_dir, flags):
      say(f"changed since the last run in {options.output_dir}: {change}")
  classifier = _Classifier(options, opened, data, devices, flags, say)
  tuning = classifier.tuning
  step = trained_step(opened)
  if options.do_train:
    classifier.train()
    record = tuning.load_best()
    step = record["step"] if record else tuning.step
    if record:
      say(f"best {record['metric']} {record['metrics'][record['metric']]:.4f} at step {record['step']}, "
          f"kept in {options.output_dir}/{run_directory.BEST_DIRECTORY}")
  result = None
  with tuning.stop.listening(say):
    if data.dev and (options.do_eval or options.do_train):
      metrics = classifier.evaluate()
      first = next(iter(classifier.predictions.values()))
      result = RunResult(options.output_dir, options.learning_rate, options.train_batch_size, options.num_train_epochs,
                         options.seed, metrics, is_degenerate(first), time.monotonic() - started)
    if options.do_eval and devices.is_chief:
      named = classification_files.write_eval_results(options.output_dir, step, metrics)
      say(describe_evaluation(options.output_dir, sum(map(len, data.dev.values())), named))
      if not data.regression:
        say(classifier.describe_classes())
    if options.do_predict:
      for name, split in data.test.items():
        logits = classifier.logits(split)
        if devices.is_chief:
          say(_write_predictions(options.output_dir, data, name, split, logits))
  return result


def _select(options: ClassificationOptions, combinations: list[ClassificationOptions], opened: LoadedCheckpoint,
            data: ClassificationData, devices: Devices, flags: Mapping[str, object],
            say: Callable[[str], None]) -> None:
  """The paper's selection (A.3): all combinations, the best on the development set predicts."""
  results = []
  for number, combination in enumerate(combinations, 1):
    say(f"\nrun {number} of {len(combinations)}: {os.path.basename(combination.output_dir)}")
    own_flags = {**flags, **{name: getattr(combination, name) for name in (*options.sweep, "output_dir")}}
    result = _finished(combination)
    if result is not None:
      changes = run_directory.changed_flags(combination.output_dir, own_flags)
      say(f"finished already{', with other flags: ' + ', '.join(changes) if changes else ''}")
    else:
      once = dataclasses.replace(combination, do_eval=True, do_predict=False)
      files.make_output_directory(once.output_dir, "output_dir")
      result = _run_one(once, opened, data, devices, own_flags, say)
      if devices.is_chief:
        files.write_json(os.path.join(once.output_dir, _RESULT_FILE), dataclasses.asdict(result))
      keras.backend.clear_session()
      gc.collect()
    results.append(result)
  best = selection_report.best_run(results, data.main_metric)
  say(f"\n{selection_report.table(results, data.main_metric)}")
  if devices.is_chief:
    selection_report.write_json(options.output_dir, results, best, data.main_metric)
    selection_report.write_hparams(options.output_dir, results, data.main_metric)
    run_directory.copy_best(best.directory, options.output_dir)
  if options.do_eval or options.do_predict:
    chosen = next(one for one in combinations if one.output_dir == best.directory)
    final = dataclasses.replace(chosen, output_dir=options.output_dir, do_train=False, do_eval=options.do_eval)
    reopened = open_checkpoint(starting_point(final), vocab_file=opened.vocab_file)
    _run_one(final, reopened, data, devices, flags, say)


def _finished(options: ClassificationOptions) -> RunResult | None:
  path = os.path.join(options.output_dir, _RESULT_FILE)
  return RunResult(**files.read_json(path)) if os.path.exists(path) else None


def _folder(values: Mapping[str, object]) -> str:
  """Name of a combination's directory, e.g. lr2e-05_bs32_ep3_seed1."""
  short = {"learning_rate": "lr", "train_batch_size": "bs", "num_train_epochs": "ep", "seed": "seed"}
  return "_".join(f"{short[name]}{value:g}" if isinstance(value, float) else f"{short[name]}{value}"
                  for name, value in values.items())


def _score(data: ClassificationData, split: Split, logits: np.ndarray) -> dict[str, float]:
  """The task's metrics and the loss of a labelled split."""
  labels = split.texts.labels
  if data.regression:
    predictions = logits[:, 0]
    loss = float(np.mean(np.square(predictions.astype(np.float64) - labels)))
    return {**score(data.metrics, predictions, labels, None), "loss": loss}
  probabilities = softmax(logits)[np.arange(len(labels)), labels]
  loss = float(-np.log(np.maximum(probabilities, math.ulp(0.0))).mean())
  return {**score(data.metrics, logits.argmax(axis=-1), labels, len(data.labels)), "loss": loss}


def _write_predictions(directory: str, data: ClassificationData, name: str, split: Split, logits: np.ndarray) -> str:
  """All files of a test set; returns what was written, for the user."""
  values = logits[:, 0] if data.regression else softmax(logits)
  suffix = name.removeprefix("test").removeprefix("_")
  paths = [os.path.join(directory, f"test_results_{suffix}.tsv" if suffix else "test_results.tsv")]
  classification_files.write_test_results(paths[0], values)
  if data.glue is None:
    paths.append(os.path.join(directory, "predictions.jsonl"))
    classification_files.write_predictions(paths[1], split.texts.ids, split.texts.text_a, split.texts.text_b,
                                           None if data.regression else data.labels, values)
  else:
    paths.append(os.path.join(directory, glue_submission.submission_name(data.glue.folder, name)))
    predictions = values if data.regression else [data.labels[number] for number in logits.argmax(axis=-1)]
    glue_submission.write_submission_file(paths[1], split.texts.ids, predictions, data.regression)
  return f"predicted {len(split)} examples of {split.texts.path}: {', '.join(paths)}"
