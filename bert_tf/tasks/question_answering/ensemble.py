"""Several fine-tuned runs that answer together: the mean of their logits (the paper's ensembles, section 4.2).

Input: run directories. Output: the files of a prediction; `ensemble.json` keeps a threshold that was tuned.
"""

import dataclasses
import gc
import os
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np

from bert_tf.common import files, json_files
from bert_tf.common.errors import UserError
from bert_tf.evaluation.squad_answers import average_logits
from bert_tf.tasks.question_answering.data import SquadSplit
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.results import answer_questions
from bert_tf.tasks.question_answering.settings import DEFAULT, GIVEN, TUNED_ON, SquadSettings, choose_settings
from bert_tf.tasks.question_answering.task import Logits, SquadTask, read_prediction_split, show_answers, write_files
from bert_tf.tasks.run import Run, set_up_devices
from bert_tf.training.devices import Devices
from bert_tf.training.reports import printer
from bert_tf.training.signals import Interrupted
from modeling.checkpoints.load import Checkpoint, open_checkpoint, trained_step

_MEAN = "the mean of the runs' thresholds"
# In the output directory of an ensemble: whose threshold was tuned.
_ENSEMBLE_FILE = "ensemble.json"


def predict_together(options: SquadOptions) -> int:
  """What `run_squad.py --ensemble` does.

  Returns:
    the process's exit status.

  Raises:
    UserError: see `open_ensemble`.
  """
  options.check()
  ensemble = open_ensemble(options.ensemble, options.given_settings, options.do_lower_case)
  if options.output_dir:
    ensemble = ensemble.with_kept_threshold(options.output_dir)
  split = read_prediction_split(options, ensemble.settings, ensemble.members[0].tokenizer)
  if not options.asks:
    files.make_output_directory(options.output_dir, "output_dir")
  devices = set_up_devices(options, options.paths())
  log = printer(devices.is_chief)
  try:
    _answer(ensemble, options, split, devices, log)
  except Interrupted as interruption:
    log(f"{interruption}: run the same command again")
  return 0


@dataclasses.dataclass(frozen=True)
class Ensemble:
  """Several runs whose logits are averaged.

  Attributes:
    directories: of the runs.
    members: their checkpoints.
    settings: which they share; the threshold is the mean of theirs.
  """

  directories: tuple[str, ...]
  members: tuple[Checkpoint, ...]
  settings: SquadSettings

  @property
  def step(self) -> int:
    """Updates of the member that has most."""
    return max(map(trained_step, self.members))

  def logits(self, options: SquadOptions, split: SquadSplit, devices: Devices, log: Callable[[str], None]) -> Logits:
    """The mean of the runs' logits. One model is in memory at a time.

    Raises:
      UserError: a member has no question-answering head.
      Interrupted: a signal came.
    """
    all_logits = []
    for number, (directory, checkpoint) in enumerate(zip(self.directories, self.members, strict=True), 1):
      task = SquadTask(options.replace(output_dir=directory, ensemble=()), checkpoint, self.settings, split)
      task.check_devices(devices)
      run = Run(task, devices, log)
      with run.stop.listening(log):
        all_logits.append(task.logits(run, f"predicting, run {number} of {len(self.members)}"))
      del run
      keras.backend.clear_session()
      gc.collect()
    return average_logits(all_logits)

  def keep_threshold(self, directory: str, settings: SquadSettings) -> None:
    """Notes in the output directory what was tuned, for later predictions of the same runs."""
    json_files.write(os.path.join(directory, _ENSEMBLE_FILE), {"ensemble": self._names(), **settings.to_task()})

  def with_kept_threshold(self, directory: str) -> "Ensemble":
    """The same with the threshold that was tuned for these runs in the output directory, where one was."""
    kept = json_files.read_object(os.path.join(directory, _ENSEMBLE_FILE))
    if kept.get("ensemble") != self._names() or self.settings.null_score_diff_threshold_is == GIVEN:
      return self
    threshold = choose_settings({}, kept, threshold_only=True)
    return dataclasses.replace(self, settings=self.settings.with_threshold(
        threshold.null_score_diff_threshold, threshold.null_score_diff_threshold_is))

  def _names(self) -> list[str]:
    return sorted(path if files.is_remote(path) else os.path.abspath(path) for path in self.directories)


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
  each = [choose_settings(given, member.task) for member in members]
  first, settings = members[0], each[0]
  for directory, member, own in zip(directories[1:], members[1:], each[1:], strict=True):
    if (member.tokenizer.vocabulary.tokens != first.tokenizer.vocabulary.tokens
        or member.tokenizer.do_lower_case != first.tokenizer.do_lower_case):
      raise UserError(f"--ensemble: the vocabulary of {directory} is not that of {directories[0]}: only runs with the "
                      "same vocabulary and casing can be averaged")
    for name in (*settings.lengths(), "version_2_with_negative"):
      if getattr(own, name) != getattr(settings, name):
        raise UserError(f"--ensemble: {name} is {getattr(own, name)} in {directory} and {getattr(settings, name)} in "
                        f"{directories[0]}: give --{name} for all of them")
  for member in members:
    settings.check_model(member.config)
  if any(own.null_score_diff_threshold_is not in (DEFAULT, GIVEN) for own in each):
    settings = settings.with_threshold(float(np.mean([own.null_score_diff_threshold for own in each])), _MEAN)
  return Ensemble(tuple(directories), tuple(members), settings)


def _answer(ensemble: Ensemble, options: SquadOptions, split: SquadSplit, devices: Devices,
            log: Callable[[str], None]) -> None:
  if not options.asks:
    for note in split.notes:
      log(note)
  settings = ensemble.settings
  logits = ensemble.logits(options, split, devices, log)
  tuned = settings.null_score_diff_threshold_is
  answered = answer_questions(split, logits, settings, tune=tuned != GIVEN and not tuned.startswith(TUNED_ON))
  if options.asks:
    show_answers(answered, options, log)
    return
  if devices.is_chief and answered.settings != settings:
    ensemble.keep_threshold(options.output_dir, answered.settings)
  write_files(options, answered, ensemble.step, devices, log)
