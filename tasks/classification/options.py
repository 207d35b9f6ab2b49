"""The options of `run_classifier.py`."""

import dataclasses

from common.errors import UserError
from common.options import option
from data_gen.labelled.glue import find_task
from tasks.options import FineTuningOptions, HeadDropoutOptions

CUSTOM = "custom"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassificationOptions(HeadDropoutOptions, FineTuningOptions):
  """Classification; files and columns are for --task_name=custom, --data_dir is for GLUE."""

  task_name: str = option(
      None, "One of GLUE's tasks: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, or ax to predict its "
      "diagnostic set; or custom, for files of your own.", required=True)
  data_dir: str | None = option(None, "Where GLUE's folders are, or the task's own folder.")
  train_file: str | None = option(None, ".tsv, .csv or .jsonl.")
  dev_file: str | None = option(None, "What is evaluated on, while training and at the end.")
  test_file: str | None = option(None, "What is predicted.")
  file_format: str = option("auto", "Of the files. auto: by their extensions.", choices=("auto", "tsv", "csv", "jsonl"))
  text_a_column: str | None = option(
      None, "The column or key of the text; a number, from 0, where there is no header.")
  text_b_column: str | None = option(None, "The column of the second text of a pair.")
  label_column: str | None = option(None, "The column of the label.")
  regression: bool = option(False, "The labels are numbers, to be predicted as such.")
  do_eval: bool = option(False, "Evaluate on the development set at the end.")
  eval_batch_size: int = option(
      8, "Accepted for old command lines: results do not depend on it, see --predict_batch_size.")
  max_seq_length: int = option(
      128, "Longer sequences are truncated to so many tokens: [CLS], a token and [SEP] at least.", minimum=3)

  @property
  def is_custom(self) -> bool:
    """Whether the files are the user's own."""
    return self.task_name.lower() == CUSTOM

  def check(self) -> None:
    super().check()
    if not self.is_custom:
      find_task(self.task_name)
    if not (self.do_train or self.do_eval or self.do_predict):
      raise UserError("nothing to do: give --do_train, --do_eval, --do_predict or several of them")
