"""The options of `run_squad.py`."""

import dataclasses
import os

from bert_common.errors import UserError
from bert_common.options import FILE, option
from bert_tf.tasks.head_options import DistillationOptions
from bert_tf.tasks.options import FineTuningOptions
from bert_tf.tasks.question_answering.settings import SquadSettings
from modeling.checkpoints.named_weights import check_checkpoint_there


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadOptions(SquadSettings, DistillationOptions, FineTuningOptions):
  """Question answering."""

  train_file: str | None = option(None, "SQuAD file to train on.", path=FILE, common=True)
  predict_file: str | None = option(
      None, "SQuAD file to predict. Where it tells the right answers it is scored, while training, too.", path=FILE,
      common=True)
  skip_bad_answers: bool = option(
      False, "Leave out training questions whose answer is not in the context, instead of refusing the file.")
  verbose_logging: bool = option(False, "Print for every question what was chosen, and against what.")
  official_scores: bool = option(
      False, "Score by the official scripts of the package tf-models-official; the scores are the same.")
  ensemble: tuple[str, ...] = option((), "Directories of several runs: predict with the mean of their logits.")
  question: str | None = option(None, "Answer this question about --context and print the best answers.", common=True)
  context: str | None = option(None, "The text that --question is about.", common=True)
  context_file: str | None = option(None, "A UTF-8 file with the text that --question is about.", path=FILE)

  def required(self) -> list[str]:
    return [name for name in super().required() if not (name == "output_dir" and self.ensemble and self.asks)]

  def reads_whole(self, longest: int) -> None:
    """Contexts are read in windows."""

  @property
  def asks(self) -> bool:
    """Whether there is a single question."""
    return self.question is not None

  @property
  def predicts(self) -> bool:
    return self.do_predict or self.asks

  def check(self) -> None:
    super().check()
    if not (self.do_train or self.do_predict or self.asks):
      raise UserError("nothing to do: give --do_train, --do_predict or both, or --question with --context")
    if self.asks and (self.do_train or self.do_predict):
      raise UserError("--question is for a trained model alone: leave --do_train and --do_predict out")
    if self.asks != (self.context is not None or self.context_file is not None):
      raise UserError("--question and --context (or --context_file) belong together: give both")
    if self.context is not None and self.context_file is not None:
      raise UserError("--context and --context_file are two texts: give one of them")
    if self.do_train and not self.train_file:
      raise UserError("--do_train needs --train_file")
    if self.do_predict and not self.predict_file:
      raise UserError("--do_predict needs --predict_file")
    if not self.ensemble:
      return
    if self.do_train or self.init_checkpoint:
      raise UserError("--ensemble predicts with trained runs: leave --do_train and --init_checkpoint out")
    if len({os.path.abspath(directory) for directory in self.ensemble}) < max(len(self.ensemble), 2):
      raise UserError(f"--ensemble={','.join(self.ensemble)}: two or more different runs are expected")

  def check_inputs(self) -> None:
    super().check_inputs()
    for run in self.ensemble:
      check_checkpoint_there(run)
