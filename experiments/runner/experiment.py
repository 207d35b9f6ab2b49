"""Definition of an experiment: rows of models, columns of measurements, and the command's options.

A script of `experiments/` is an `Experiment` and a call of `experiments.runner.run.main`.
"""

import dataclasses
import re

from bert_common.errors import UserError
from bert_common.options import LARGEST_INT64, Options, option

GPU = "gpu"
LAPTOP = "laptop"
PAPER = "paper"
TOY = "toy"

# Kinds of columns, each measured by one script.
GLUE = "glue"
SQUAD = "squad"
SWAG = "swag"
NER = "ner"
FEATURES = "features"
PRETRAINING = "pretraining"
# Columns that no job measures: the mean of the columns before it in a table, and scores of test
# sets whose labels only their organizers have.
AVERAGE = "average"
PUBLISHED = "published"

# Recipe of SQuAD v2.0, whose batch size and epochs differ from SQuAD v1.1.
SQUAD_2 = "squad v2.0"


@dataclasses.dataclass(frozen=True)
class Column:
    """A measurement.

    Attributes:
      title: heading in the table.
      kind: kind of script that measures it.
      task: task of GLUE, or version of SQuAD. Columns of the same kind and task are metrics of the
        same run.
      metric: key in the run's results.
      factor: factor from the result to the paper's unit.
      decimals: decimals in the table, as in the paper.
      recipe: fine-tuning settings, a key of `Scale.fine_tuning`; None for the kind's settings.
      file: file of the run that has the result; None where its evaluation has it.
    """

    title: str
    kind: str
    task: str
    metric: str
    factor: float = 100.0
    decimals: int = 1
    recipe: str | None = None
    file: str | None = None


def _glue(title: str, task: str, metric: str) -> Column:
    return Column(title, GLUE, task, f"eval_{metric}")


def _published(title: str) -> Column:
    return Column(title, PUBLISHED, "", "")


# The paper's tables have these titles, and report these metrics.
COLUMNS = {
    "mnli": _glue("MNLI-m", "mnli", "accuracy"),
    "mnli_mm": _glue("MNLI-mm", "mnli", "mismatched_accuracy"),
    "qqp": _glue("QQP F1", "qqp", "f1"),
    "qnli": _glue("QNLI", "qnli", "accuracy"),
    "sst-2": _glue("SST-2", "sst-2", "accuracy"),
    "cola": _glue("CoLA", "cola", "matthews_correlation"),
    "sts-b": _glue("STS-B", "sts-b", "spearman"),
    "mrpc_f1": _glue("MRPC F1", "mrpc", "f1"),
    "mrpc": _glue("MRPC", "mrpc", "accuracy"),
    "rte": _glue("RTE", "rte", "accuracy"),
    "average": Column("Average", AVERAGE, "", ""),
    "wnli": _glue("WNLI", "wnli", "accuracy"),
    "squad_em": Column("SQuAD v1.1 EM", SQUAD, "v1.1", "exact", factor=1.0),
    "squad": Column("SQuAD v1.1 F1", SQUAD, "v1.1", "f1", factor=1.0),
    "squad2_em": Column("SQuAD v2.0 EM", SQUAD, "v2.0", "exact", factor=1.0, recipe=SQUAD_2),
    "squad2": Column("SQuAD v2.0 F1", SQUAD, "v2.0", "f1", factor=1.0, recipe=SQUAD_2),
    "test_em": _published("Test EM"),
    "test_f1": _published("Test F1"),
    "swag": Column("SWAG", SWAG, "swag", "eval_accuracy"),
    "test_accuracy": _published("Test"),
    "ner": Column("NER fine-tuned F1", NER, "ner", "eval_f1"),
    "ner_dev": Column("Dev F1", NER, "ner", "eval_f1"),
    "ner_test": Column("Test F1", NER, "ner", "f1", file="test_results.json"),
    "ner_features": Column("NER feature-based F1", FEATURES, "ner", "eval_f1"),
    "perplexity": Column(
        "held-out LM perplexity",
        PRETRAINING,
        "",
        "masked_lm_perplexity",
        factor=1.0,
        decimals=2,
    ),
    "next_sentence": Column("next sentence", PRETRAINING, "", "next_sentence_accuracy"),
}


@dataclasses.dataclass(frozen=True)
class Model:
    """A pre-trained model.

    Attributes:
      size: name in `Scale.sizes`.
      next_sentence: whether pre-training includes the next-sentence task.
      left_to_right: whether the model is causal and pre-training predicts the next token.
      masking: value of --masking in data_gen/create_pretraining_data.py.
      cased: whether the vocabulary is cased.
    """

    size: str = "base"
    next_sentence: bool = True
    left_to_right: bool = False
    masking: str = "80,10,10"
    cased: bool = False


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a table, or a point of a curve.

    Attributes:
      name: the row's name in the paper.
      model: the model that is fine-tuned; None for another system, whose values are published.
      paper: published values in the order of the columns, None for one that is not; the last ones
        may be missing.
      at: share of the pre-training after which the checkpoint was written; None for the end.
      bilstm: whether fine-tuning puts a BiLSTM, as wide as the model, on top.
      layers: row of `TABLE_7` in `bert_tf/tasks/token_classification/options.py`.
      is_ensemble: whether several models, each with its own pre-training, answer together.
      triviaqa: whether fine-tuning on TriviaQA comes before that on SQuAD.
    """

    name: str
    model: Model | None
    paper: tuple[float | None, ...] = ()
    at: float | None = None
    bilstm: bool = False
    layers: str | None = None
    is_ensemble: bool = False
    triviaqa: bool = False


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two rows in a column whose difference is tested. It is chosen before the runs.

    Attributes:
      higher, lower: names of the rows, as the paper orders them in the column.
      column: key of `COLUMNS`.
    """

    higher: str
    lower: str
    column: str


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Attributes:
      name: name of the script and of the result files.
      title: heading of the result page.
      rows: rows, each with a different name.
      columns: keys of `COLUMNS`.
      about: a paragraph on what the table asks and how to read it.
      comparisons: differences that are tested; all others are only described.
      shows_best: whether cells have the best of the restarts, which the paper reports, beside the
        mean.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    about: str
    comparisons: tuple[Comparison, ...] = ()
    shows_best: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentOptions(Options):
    """Options of an experiment, see docs/experiments.md."""

    scale: str = option(
        LAPTOP,
        "laptop: small models, most tables within two hours of two cores. paper: the paper's "
        "models and settings. gpu: small models, several at a time on one GPU. toy: a few steps of "
        "everything, as a test.",
        choices=(LAPTOP, GPU, PAPER, TOY),
    )
    output_dir: str | None = option(
        None,
        "Directory of the result pages and the jobs; experiments in one directory share their "
        "jobs. The same command again resumes.",
    )
    print_plan: bool = option(
        False,
        "Print every command and the arithmetic of pre-training, and run nothing.",
    )
    corpus: str | None = option(
        None,
        "Text to pre-train on: paths and patterns, as --input_file of data_gen/prepare_corpus.py.",
    )
    checkpoints: tuple[str, ...] = option(
        (),
        "Trained models to use in place of pre-trainings: SIZE:DIRECTORY, the size as the "
        "experiment's file calls it (base, large), the directory with bert_config.json and "
        "vocab.txt.",
    )
    glue_dir: str | None = option(None, "Directory with GLUE's folders.")
    squad_dir: str | None = option(
        None,
        "Directory with train-v1.1.json, dev-v1.1.json, train-v2.0.json and dev-v2.0.json, and for "
        "table 2 triviaqa.json, written by data_gen/convert_triviaqa.py.",
    )
    swag_dir: str | None = option(None, "Directory with SWAG's train.csv and val.csv.")
    ner_dir: str | None = option(
        None,
        "Directory with CoNLL-2003's eng.train and eng.testa, or with other files under the "
        "names that --data_dir of run_ner.py reads.",
    )
    seeds: tuple[int, ...] = option(
        (),
        "Seeds of the repetitions.",
        minimum=0,
        maximum=LARGEST_INT64,
        default_text="those of the scale: five in the paper, else three",
    )
    jobs: int | None = option(
        None,
        "Number of jobs that run at a time.",
        minimum=1,
        default_text="one per core on a laptop, per two cores beside a GPU; one in the paper",
    )

    @property
    def checkpoint_directories(self) -> dict[str, str]:
        """Directory of each size in `checkpoints`."""
        directories = {}
        # A later directory of the same size replaces an earlier one.
        for text in self.checkpoints:
            size, _, directory = text.partition(":")
            directories[size] = directory
        return directories

    def check(self) -> None:
        super().check()
        for text in self.checkpoints:
            if not re.fullmatch("[^:]+:.+", text):
                raise UserError(
                    f"--checkpoints={text}: SIZE:DIRECTORY is expected, such as "
                    "base:uncased_L-12_H-768_A-12"
                )
        if len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"--seeds={','.join(map(str, self.seeds))}: a seed is given twice")
        if not self.print_plan and not self.output_dir:
            raise UserError("--output_dir must be given (or --print_plan, which runs nothing)")
        # Flags that take lists and patterns have its jobs' paths in them.
        if self.output_dir and re.search(r"[,*?\[\]]", self.output_dir):
            raise UserError(
                f"--output_dir={self.output_dir}: commas and * ? [ ] have a meaning in the flags "
                "of the jobs: choose another name"
            )
