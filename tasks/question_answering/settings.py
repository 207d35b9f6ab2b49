"""How contexts are read and answers chosen: as given, else as a run was trained, else the original's defaults.

`task.json` keeps it beside the weights, so that `--do_predict` alone needs no flags. Used by `tasks/question_answering/task.py`.
"""

import dataclasses
import math
from collections.abc import Mapping

from common.errors import UserError
from data_gen.labelled.squad_features import check_lengths
from evaluation.squad_answers import AnswerOptions
from modeling.config import BertConfig

KIND = "squad"
THRESHOLD = "null_score_diff_threshold"
# Where a threshold is from; one that was tuned names the file.
DEFAULT, GIVEN, TUNED_ON = "the default", "given", "tuned on "


@dataclasses.dataclass(frozen=True)
class SquadSettings:
  """Names and defaults are those of the original's flags.

  Attributes:
    max_seq_length: most tokens of a window.
    doc_stride: tokens from the start of a window to that of the next one.
    max_query_length: longer questions keep this many tokens.
    n_best_size, max_answer_length, version_2_with_negative, null_score_diff_threshold: see `AnswerOptions`.
    null_score_diff_threshold_is: "the default", "given" or "tuned on <file>".
  """

  max_seq_length: int = 384
  doc_stride: int = 128
  max_query_length: int = 64
  n_best_size: int = 20
  max_answer_length: int = 30
  version_2_with_negative: bool = False
  null_score_diff_threshold: float = 0.0
  null_score_diff_threshold_is: str = DEFAULT

  def check(self, config: BertConfig) -> None:
    """Raises `UserError` for lengths that leave no room or text out, or that the network has no positions for."""
    config.check_sequence_length(self.max_seq_length, "--max_seq_length")
    check_lengths(max_seq_length=self.max_seq_length, doc_stride=self.doc_stride,
                  max_query_length=self.max_query_length)
    self.answer_options()
    if not math.isfinite(self.null_score_diff_threshold):
      raise UserError(f"--{THRESHOLD}={self.null_score_diff_threshold}: a finite number is wanted")

  def answer_options(self) -> AnswerOptions:
    """Raises `UserError` for numbers below 1."""
    return AnswerOptions(
        n_best_size=self.n_best_size, max_answer_length=self.max_answer_length,
        version_2_with_negative=self.version_2_with_negative,
        null_score_diff_threshold=self.null_score_diff_threshold)

  def lengths(self) -> dict[str, int]:
    """What `make_windows` is told; logits belong to windows of these."""
    return {name: getattr(self, name) for name in ("max_seq_length", "doc_stride", "max_query_length")}

  def with_threshold(self, threshold: float, origin: str) -> "SquadSettings":
    """The same with another threshold; `origin` is one of `DEFAULT`, `GIVEN`, `TUNED_ON` + file."""
    return dataclasses.replace(self, null_score_diff_threshold=threshold, null_score_diff_threshold_is=origin)

  def threshold(self) -> dict[str, object]:
    """The threshold and where it is from, as in `task.json`."""
    return {name: value for name, value in dataclasses.asdict(self).items() if name.startswith(THRESHOLD)}

  def to_task(self) -> dict[str, object]:
    """What `task.json` holds."""
    return {"kind": KIND, **dataclasses.asdict(self)}


def choose_settings(given: Mapping[str, object], task: Mapping[str, object] | None, threshold_only: bool = False
                    ) -> SquadSettings:
  """What is given wins, then `task.json`, then the defaults.

  Args:
    given: the fields of `SquadSettings` that were on the command line.
    task: what was read of `task.json`; None where there is none. That of another kind of task says nothing.
    threshold_only: take nothing but the threshold from it: a training run is told everything else by its flags.

  Raises:
    UserError: `task.json` holds a value of another type.
  """
  kept: dict[str, object] = {}
  if task is not None and task.get("kind") == KIND:
    for field in dataclasses.fields(SquadSettings):
      if field.name in task and (not threshold_only or field.name.startswith(THRESHOLD)):
        kept[field.name] = _checked(field.name, field.type, task[field.name])
  settings = SquadSettings(**{**kept, **given})
  if THRESHOLD in given:
    return settings.with_threshold(settings.null_score_diff_threshold, GIVEN)
  return settings


def _checked(name: str, kind: type, value: object) -> object:
  if kind is float and type(value) is int:
    return float(value)
  if type(value) is not kind:
    raise UserError(f"task.json: {name} is {value!r}, which is no {kind.__name__}: mend the file, or give --{name}")
  return value
