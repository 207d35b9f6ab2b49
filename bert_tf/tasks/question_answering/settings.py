"""How contexts are read and answers chosen: as given, else as a run was trained, else the original's defaults.

`task.json` keeps it beside the weights, so that `--do_predict` alone needs no flags.
"""

import dataclasses
from collections.abc import Mapping

from bert_common import json_files
from bert_common.options import declared_options
from bert_tf.evaluation.squad_answers import AnswerOptions
from data_gen.labelled.squad_features import WindowOptions
from modeling.config import BertConfig

KIND = "question_answering"
THRESHOLD = "null_score_diff_threshold"
# Where a threshold is from; one that was tuned names the file.
DEFAULT, GIVEN, TUNED_ON = "the default", "given", "tuned on "


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadSettings(WindowOptions, AnswerOptions):
  """Windows and answers.

  Attributes:
    null_score_diff_threshold_is: where the threshold is from: "the default", "given" or "tuned on <file>".
  """

  null_score_diff_threshold_is: str = DEFAULT

  def check_model(self, config: BertConfig) -> None:
    """Raises `UserError` for windows that leave no room or text out, or that the model has no positions for."""
    config.check_sequence_length(self.max_seq_length, "--max_seq_length")
    self.check()
    self.check_room()

  def with_threshold(self, threshold: float, origin: str) -> "SquadSettings":
    """The same with another threshold; `origin` is one of `DEFAULT`, `GIVEN`, `TUNED_ON` + file."""
    return self.replace(null_score_diff_threshold=threshold, null_score_diff_threshold_is=origin)

  @property
  def given_settings(self) -> dict[str, object]:
    """The settings that were chosen, on the command line or in Python; the others are those of the run."""
    return {name: getattr(self, name) for name in SETTINGS
            if name in self.given or getattr(self, name) != getattr(SquadSettings, name)}

  @property
  def main_metric(self) -> str:
    """What checkpoints are compared by."""
    return "best_f1" if self.version_2_with_negative else "f1"

  def describe_threshold(self) -> str:
    """Which threshold decides between an answer and none."""
    return f"{THRESHOLD} {self.null_score_diff_threshold:.4f} ({self.null_score_diff_threshold_is})"

  def threshold(self) -> dict[str, object]:
    """The threshold and where it is from, as in `task.json`."""
    return {name: value for name, value in self.to_task().items() if name.startswith(THRESHOLD)}

  def to_task(self) -> dict[str, object]:
    """What `task.json` holds."""
    return {"kind": KIND, **{name: getattr(self, name) for name in SETTINGS}}


# Names of what `task.json` keeps.
SETTINGS = (*(one.name for base in (WindowOptions, AnswerOptions) for one in declared_options(base)), f"{THRESHOLD}_is")


def choose_settings(given: Mapping[str, object], task: Mapping[str, object] | None, threshold_only: bool = False
                    ) -> SquadSettings:
  """What is given wins, then `task.json`, then the defaults.

  Args:
    task: what was read of `task.json`; None where there is none. That of another kind of task says nothing.
    threshold_only: take nothing but the threshold from it: a training run is told everything else by its flags.
  """
  kept: dict[str, object] = {}
  if task is not None and task.get("kind") == KIND:
    defaults = SquadSettings().to_task()
    kept = {name: task[name] for name in SETTINGS
            if name in task and (not threshold_only or name.startswith(THRESHOLD))}
    json_files.check_object(kept, {name: type(defaults[name]) for name in kept}, "task.json")
  settings = SquadSettings(**{**kept, **given})
  if THRESHOLD in given:
    return settings.with_threshold(settings.null_score_diff_threshold, GIVEN)
  return settings
