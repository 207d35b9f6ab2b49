"""A fine-tuned network, or several together, asked for the logits of starts and ends.

After `tasks/fine_tuning.py` and `training/prediction.py`; used by `tasks/question_answering/task.py`.
"""

import dataclasses
import gc
import os
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np

from common import files
from common.errors import UserError
from common.progress import Progress
from evaluation.squad_answers import average_logits
from modeling.checkpoints.load import LoadedCheckpoint, open_checkpoint, trained_step
from modeling.question_answering import BertForQuestionAnswering
from tasks.fine_tuning import FineTuning, FineTuningOptions
from tasks.question_answering.data import SquadSplit
from tasks.question_answering.settings import DEFAULT, GIVEN, SquadSettings, choose_settings
from training.devices import Devices
from training.prediction import Prediction

_OUTPUTS = ("start_logits", "end_logits")
_MEAN = "the mean of the runs' thresholds"
# In the output directory of an ensemble: whose threshold was tuned.
_ENSEMBLE_FILE = "ensemble.json"

# float32 [T] each.
Logits = tuple[np.ndarray, np.ndarray]


def fine_tuning(options: FineTuningOptions, opened: LoadedCheckpoint, task: Mapping[str, object], devices: Devices,
                flags: Mapping[str, object], say: Callable[[str], None]) -> FineTuning:
  """The network of a run, restored or initialised; see `FineTuning`."""
  return FineTuning(options, opened, opened.config, devices,
                    lambda: BertForQuestionAnswering(opened.config, seed=options.seed, dtype=devices.dtype),
                    task, "run_squad.py", flags, None, say)


def span_prediction(tuning: FineTuning) -> Callable[[SquadSplit, str], Logits]:
  """(questions, what the progress line says) → the logits of all windows, one behind the other in their order."""
  network = tuning.prediction(*span_outputs(tuning.model))
  return lambda split, what: predict_spans(network, split, what)


def span_outputs(model: BertForQuestionAnswering) -> tuple[Callable[[dict], dict], tuple[str, ...]]:
  """What `Prediction` is made of: features → outputs, and the names of those with one row a token."""
  return lambda features: dict(zip(_OUTPUTS, model(features), strict=True)), _OUTPUTS


def predict_spans(network: Prediction, split: SquadSplit, what: str) -> Logits:
  """The logits of all windows, with a progress line that begins with `what`; `network` is of `span_outputs`."""
  if not len(split.windows):
    return np.zeros(0, np.float32), np.zeros(0, np.float32)
  with Progress(what, len(split.windows), "windows") as progress:
    outputs = network(split.examples, progress.advance)
  return outputs["start_logits"], outputs["end_logits"]


@dataclasses.dataclass(frozen=True)
class Ensemble:
  """Several runs whose logits are averaged.

  Attributes:
    directories: of the runs.
    members: their networks.
    settings: which they share; the threshold is the mean of theirs.
  """

  directories: tuple[str, ...]
  members: tuple[LoadedCheckpoint, ...]
  settings: SquadSettings

  @property
  def step(self) -> int:
    """Updates of the member that has most."""
    return max(map(trained_step, self.members))

  def logits(self, options: FineTuningOptions, split: SquadSplit, devices: Devices, flags: Mapping[str, object],
             say: Callable[[str], None]) -> Logits:
    """The mean of the runs' logits. One network is in memory at a time.

    Raises:
      UserError: a member has no span head.
      Interrupted: a signal came.
    """
    runs = []
    for number, (directory, opened) in enumerate(zip(self.directories, self.members, strict=True), 1):
      member = dataclasses.replace(options, output_dir=directory, init_checkpoint=None)
      tuning = fine_tuning(member, opened, {}, devices, flags, say)
      with tuning.stop.listening(say):
        runs.append(span_prediction(tuning)(split, f"predicting, run {number} of {len(self.members)}"))
      del tuning
      keras.backend.clear_session()
      gc.collect()
    return average_logits(runs)

  def keep_threshold(self, directory: str, settings: SquadSettings) -> None:
    """Notes in the output directory what was tuned, for later predictions of the same runs."""
    task = settings.to_task()
    files.write_json(os.path.join(directory, _ENSEMBLE_FILE), {"ensemble": self._names(), **task})

  def with_kept_threshold(self, directory: str) -> "Ensemble":
    """The same with the threshold that was tuned for these runs in the output directory, where one was."""
    path = os.path.join(directory, _ENSEMBLE_FILE)
    kept = files.read_json(path) if os.path.exists(path) else {}
    if kept.get("ensemble") != self._names() or self.settings.null_score_diff_threshold_is == GIVEN:
      return self
    threshold = choose_settings({}, kept, threshold_only=True)
    return dataclasses.replace(self, settings=self.settings.with_threshold(
        threshold.null_score_diff_threshold, threshold.null_score_diff_threshold_is))

  def _names(self) -> list[str]:
    return sorted(map(os.path.abspath, self.directories))


def open_ensemble(directories: Sequence[str], given: Mapping[str, object], do_lower_case: bool | None) -> Ensemble:
  """Opens the runs and checks that their logits are about the same windows.

  Args:
    directories: at least two.
    given: see `choose_settings`.
    do_lower_case: None for that of the runs.

  Raises:
    UserError: a run can't be opened, or its vocabulary or lengths are not those of the first.
  """
  members = [open_checkpoint(directory, do_lower_case=do_lower_case) for directory in directories]
  each = [choose_settings(given, opened.task) for opened in members]
  first, settings = members[0], each[0]
  for directory, opened, own in zip(directories[1:], members[1:], each[1:], strict=True):
    if (opened.tokenizer.vocabulary.tokens != first.tokenizer.vocabulary.tokens
        or opened.tokenizer.do_lower_case != first.tokenizer.do_lower_case):
      raise UserError(f"--ensemble: the vocabulary of {directory} is not that of {directories[0]}: only runs with the "
                      "same vocabulary and casing can be averaged")
    for name in (*settings.lengths(), "version_2_with_negative"):
      if getattr(own, name) != getattr(settings, name):
        raise UserError(f"--ensemble: {name} is {getattr(own, name)} in {directory} and {getattr(settings, name)} in "
                        f"{directories[0]}: give --{name} for all of them")
  for opened in members:
    settings.check(opened.config)
  if any(own.null_score_diff_threshold_is not in (DEFAULT, GIVEN) for own in each):
    settings = settings.with_threshold(float(np.mean([own.null_score_diff_threshold for own in each])), _MEAN)
  return Ensemble(tuple(directories), tuple(members), settings)
