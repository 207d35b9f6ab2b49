"""The options of every experiment."""

import dataclasses
import re

from bert_common.errors import UserError
from bert_common.options import LARGEST_INT64, Options, option

LAPTOP, PAPER, TOY = "laptop", "paper", "toy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentOptions(Options):
  """The experiment; docs/experiments.md says what it takes and what to expect."""

  scale: str = option(
      LAPTOP, "laptop: small models, most tables within two hours of two cores. paper: the paper's own "
      "models and settings. toy: a few steps of everything, to see whether it works.", choices=(LAPTOP, PAPER, TOY))
  output_dir: str | None = option(
      None, "Where everything goes, reports and jobs; several experiments in one directory share their jobs. The "
      "same command again resumes.")
  print_plan: bool = option(
      False, "Print what would be done, and do nothing: every command, its examples and arithmetic, hours on some "
      "devices.")
  report_only: bool = option(
      False, "Run nothing: report what is there, whoever ran the jobs of the plan, such as a cluster.")
  corpus: str | None = option(
      None, "Text to pre-train on: paths and patterns, as --input_file of data_gen/prepare_corpus.py.",
      default_text="the documentation of the installed Python packages, as in demo.py; for --scale=paper none")
  checkpoints: tuple[str, ...] = option(
      (), "Models that are there and are not pre-trained: SIZE:DIRECTORY, the size as the experiment's file calls it "
      "(base, 2-128), the directory with bert_config.json and vocab.txt. The scale's settings fine-tune them.")
  glue_dir: str | None = option(None, "Where GLUE's folders are.")
  squad_dir: str | None = option(None, "Where train-v1.1.json, dev-v1.1.json, train-v2.0.json, dev-v2.0.json are.")
  swag_dir: str | None = option(
      None, "Where SWAG's train.csv and val.csv are, or fold 0 of CODAH (codah_fold0_train.swag.csv and so on).")
  ner_dir: str | None = option(
      None, "Where CoNLL-2003's eng.train and eng.testa are, or others: files whose names hold train and dev.")
  seeds: tuple[int, ...] = option(
      (), "Seeds of the repetitions.", minimum=0, maximum=LARGEST_INT64,
      default_text="those of the scale: three on a laptop, five in the paper")
  jobs: int | None = option(
      None, "Jobs at a time.", minimum=1, default_text="one a core on a laptop; one where a job takes all devices")

  @property
  def given_models(self) -> dict[str, str]:
    """Size → directory, of `checkpoints`."""
    return {size: directory for size, _, directory in (one.partition(":") for one in self.checkpoints)}

  def check(self) -> None:
    super().check()
    wrong = [one for one in self.checkpoints if not re.fullmatch("[^:]+:.+", one)]
    if wrong or len(self.given_models) < len(self.checkpoints):
      raise UserError(f"--checkpoints={','.join(self.checkpoints)}: SIZE:DIRECTORY is expected, each size once, such "
                      "as 2-128:samples/tiny_books")
    if not self.print_plan and not self.output_dir:
      raise UserError("--output_dir must be given (or --print_plan, which only shows what would be done)")
    if self.output_dir and re.search(r"[,*?\[\]]", self.output_dir):
      raise UserError(f"--output_dir={self.output_dir}: commas and * ? [ ] have a meaning in the flags of the "
                      "jobs: choose another name")
