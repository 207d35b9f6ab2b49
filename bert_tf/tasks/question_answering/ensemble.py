"""Several fine-tuned runs that answer together: the mean of their logits (the paper's ensembles, section 4.2).

Input: run directories. Output: the files of a prediction; `ensemble.json` keeps a threshold that was tuned.
"""

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence

import keras
import numpy as np

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.tasks.question_answering.options import (
  DEFAULT,
  GIVEN,
  THRESHOLD,
  TUNED_ON,
  SquadOptions,
  SquadSettings,
  choose_settings,
)
from bert_tf.tasks.question_answering.task import Logits, SquadTask
from bert_tf.tasks.running import Run
from modeling.checkpoints.load import Checkpoint, open_checkpoint, trained_step

_MEAN = "the mean of the runs' thresholds"
# In the output directory of an ensemble: whose threshold was tuned.
_ENSEMBLE_FILE = "ensemble.json"


class EnsembleTask(SquadTask):
  """Questions that several runs answer together; the driver loads the first of them."""

  def __init__(self, options: SquadOptions):
    self._ensemble = open_ensemble(options.ensemble, options.given_settings, options.do_lower_case)
    if options.output_dir:
      self._ensemble = self._ensemble.with_kept_threshold(options.output_dir)
    super().__init__(options, self._ensemble.members[0], self._ensemble.settings)
    self.start.step = max(map(trained_step, self._ensemble.members))

  def logits(self, run: Run, what: str) -> Logits:
    """The mean of the runs' logits. One model is in memory at a time, beside the first."""
    members = self._ensemble.members
    found = [super().logits(run, f"{what}, run 1 of {len(members)}")]
    for number, member in enumerate(members[1:], 2):
      task = SquadTask(self.options.replace(output_dir="", ensemble=()), member, self.settings, self.prediction_split)
      one = Run(task, run.devices, run.log)
      one.stop = run.stop
      found.append(task.logits(one, f"{what}, run {number} of {len(members)}"))
      del one
      keras.backend.clear_session()
    # One by one: stacking an ensemble's logits would double the memory.
    return tuple((sum(logits.astype(np.float64) for logits in side) / len(members)).astype(np.float32)
                 for side in zip(*found, strict=True))

  def _tunes(self, origin: str) -> bool:
    return origin != GIVEN and not origin.startswith(TUNED_ON)

  def _keep_threshold(self, run: Run, settings: SquadSettings) -> None:
    """For later predictions of the same runs into this directory."""
    if run.devices.is_chief and settings != self.settings:
      json_files.write(os.path.join(self.options.output_dir, _ENSEMBLE_FILE),
                       {"ensemble": self._ensemble.fingerprints, **settings.to_task()})


@dataclasses.dataclass(frozen=True)
class Ensemble:
  """Several runs whose logits are averaged.

  Attributes:
    settings: which they share; the threshold is the mean of theirs.
  """

  members: tuple[Checkpoint, ...]
  settings: SquadSettings

  @functools.cached_property
  def fingerprints(self) -> list[str]:
    """Of the members' weights, whatever their order."""
    return sorted(member.source.fingerprint() for member in self.members)

  def with_kept_threshold(self, directory: str) -> "Ensemble":
    """The same with the threshold that was tuned for these runs in the output directory, where one was."""
    kept = json_files.read_object(os.path.join(directory, _ENSEMBLE_FILE), {
        "ensemble": list[str], THRESHOLD: float, f"{THRESHOLD}_is": str})
    is_given = self.settings.null_score_diff_threshold_is == GIVEN
    if not kept or is_given or kept["ensemble"] != self.fingerprints:
      return self
    return dataclasses.replace(self, settings=self.settings.with_threshold(
        float(kept[THRESHOLD]), kept[f"{THRESHOLD}_is"]))


def open_ensemble(directories: Sequence[str], given: Mapping[str, object], do_lower_case: bool | None) -> Ensemble:
  """Opens the runs and checks that their logits are about the same windows.

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
  return Ensemble(tuple(members), settings)
