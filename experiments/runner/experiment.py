"""What an experiment is: its options, rows of models, columns of measurements, and the paper's
numbers.

EXPERIMENT = Experiment(
    name="table5", title="…", rows=(Row("BERT-Base", Model(), (84.4, …)), …), columns=("mnli", …))
"""

import dataclasses
import re
from collections.abc import Mapping

from bert_common.errors import UserError
from bert_common.options import LARGEST_INT64, Options, option

LAPTOP, PAPER, TOY = "laptop", "paper", "toy"
GLUE, SQUAD, SWAG, NER, FEATURES, PRETRAINING = (
    "glue",
    "squad",
    "swag",
    "ner",
    "ner_features",
    "pretraining",
)


@dataclasses.dataclass(frozen=True)
class Column:
    """A measurement.

    Attributes:
      kind: which script measures it.
      task: of GLUE, or the version of SQuAD; columns of the same kind and task are numbers of the
        same run.
      metric: key in the results.
      factor: what the result is multiplied by, for the paper's unit.
      decimals: that are shown, as in the paper.
      examples: of the published training set; of questions the windows, of multiple choice the
        sequences.
    """

    title: str
    kind: str
    task: str
    metric: str
    factor: float = 100.0
    lower_is_better: bool = False
    decimals: int = 1
    examples: int = 0


def _glue(title: str, task: str, metric: str, examples: int) -> Column:
    return Column(title, GLUE, task, f"eval_{metric}", examples=examples)


COLUMNS = {
    "mnli": _glue("MNLI-m", "mnli", "accuracy", 392_702),
    "mnli_mm": _glue("MNLI-mm", "mnli", "mismatched_accuracy", 392_702),
    "qqp": _glue("QQP F1", "qqp", "f1", 363_846),
    "qnli": _glue("QNLI", "qnli", "accuracy", 104_743),
    "sst-2": _glue("SST-2", "sst-2", "accuracy", 67_349),
    "cola": _glue("CoLA", "cola", "matthews_correlation", 8_551),
    "sts-b": _glue("STS-B", "sts-b", "spearman", 5_749),
    "mrpc_f1": _glue("MRPC F1", "mrpc", "f1", 3_668),
    "mrpc": _glue("MRPC", "mrpc", "accuracy", 3_668),
    "rte": _glue("RTE", "rte", "accuracy", 2_490),
    "wnli": _glue("WNLI", "wnli", "accuracy", 635),
    "squad_em": Column("SQuAD v1.1 EM", SQUAD, "v1.1", "exact", 1.0, examples=88_641),
    "squad": Column("SQuAD v1.1 F1", SQUAD, "v1.1", "f1", 1.0, examples=88_641),
    "squad2_em": Column("SQuAD v2.0 EM", SQUAD, "v2.0", "exact", 1.0, examples=131_944),
    "squad2": Column("SQuAD v2.0 F1", SQUAD, "v2.0", "f1", 1.0, examples=131_944),
    "swag": Column("SWAG", SWAG, "swag", "eval_accuracy", examples=4 * 73_546),
    "ner": Column("NER fine-tuned F1", NER, "ner", "eval_f1", examples=14_041),
    "ner_features": Column("NER feature-based F1", FEATURES, "ner", "eval_f1", examples=14_041),
    "perplexity": Column(
        "held-out LM perplexity",
        PRETRAINING,
        "",
        "masked_lm_perplexity",
        1.0,
        lower_is_better=True,
        decimals=2,
    ),
}

# What the points of a curve are at.
BY_STEPS, BY_FLOPS = "steps", "flops"


@dataclasses.dataclass(frozen=True)
class Model:
    """A pre-trained model. What its size and the length of its training mean is the scale's
    (`scales.py`).

    Attributes:
      size: a name in `Scale.sizes`.
      next_sentence: whether it is pre-trained on the next-sentence task, too.
      left_to_right: whether every token sees those before it only, and pre-training predicts the
        next one.
      masking: as --masking of data_gen/create_pretraining_data.py.
      length: of its training, as a share of the scale's number of steps.
    """

    size: str = "base"
    next_sentence: bool = True
    left_to_right: bool = False
    masking: str = "80,10,10"
    cased: bool = False
    length: float = 1.0


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a table, or a point of a curve.

    Attributes:
      name: as the paper calls it.
      model: what is fine-tuned.
      paper: published values in the order of the columns; the last ones may not be published.
      at: of a curve: the share of the pre-training after which the checkpoint was taken.
      curve: of a curve: the name of its line.
      bilstm: whether fine-tuning puts a BiLSTM, as wide as the model, on top.
      layers: of a feature-based row: its name in `TABLE_7` of
        `bert_tf/tasks/token_classification/options.py`.
      members: so many models, with pre-training seeds of their own, answer together.
      pretrained: whether the model is; else it is fine-tuned from random weights.
      teacher: what is fine-tuned on the same task, and whose outputs the model learns before its
        own fine-tuning.
      recipe: of fine-tuning, a name in `Scale.fine_tuning`; None for that of the column's kind.
      scales: at which there is such a row.
    """

    name: str
    model: Model
    paper: tuple[float, ...] = ()
    at: float | None = None
    curve: str | None = None
    bilstm: bool = False
    layers: str | None = None
    members: int = 1
    pretrained: bool = True
    teacher: Model | None = None
    recipe: str | None = None
    scales: tuple[str, ...] = (LAPTOP, PAPER, TOY)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Attributes:
      name: of the script and of the report's files.
      columns: names in `COLUMNS`.
      about: what the table asks, and what is to be known before it is read; a paragraph.
      expect: scale → time and scores to expect, as far as they are known.
      x: of a curve: `BY_STEPS` or `BY_FLOPS`; None for a table.
      mean_of_columns: whether the mean over the columns is a column, too.
      published: further points of a curve: (name, FLOPs, score).
      orders_rows: whether the report compares the order of the rows with the paper's.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    about: str
    expect: Mapping[str, str] = dataclasses.field(default_factory=dict)
    x: str | None = None
    mean_of_columns: bool = False
    published: tuple[tuple[str, float, float], ...] = ()
    orders_rows: bool = True

    def rows_at(self, scale: str) -> tuple[Row, ...]:
        """The rows there are at a scale."""
        return tuple(row for row in self.rows if scale in row.scales)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentOptions(Options):
    """The experiment; docs/experiments.md says what it takes and what to expect."""

    scale: str = option(
        LAPTOP,
        "laptop: small models, most tables within two hours of two cores. paper: the paper's own "
        "models and settings. toy: a few steps of everything, to see whether it works.",
        choices=(LAPTOP, PAPER, TOY),
    )
    output_dir: str | None = option(
        None,
        "Where everything goes, reports and jobs; several experiments in one directory share their jobs. The "
        "same command again resumes.",
    )
    print_plan: bool = option(
        False,
        "Print what would be done, and do nothing: every command, its examples and arithmetic, hours on some "
        "devices.",
    )
    report_only: bool = option(
        False,
        "Run nothing: report what is there, whoever ran the jobs of the plan, such as a cluster.",
    )
    corpus: str | None = option(
        None,
        "Text to pre-train on: paths and patterns, as --input_file of data_gen/prepare_corpus.py.",
        default_text="the documentation of the installed Python packages, as in demo.py; for --scale=paper none",
    )
    checkpoints: tuple[str, ...] = option(
        (),
        "Models that are there and are not pre-trained: SIZE:DIRECTORY, the size as the experiment's file calls it "
        "(base, 2-128), the directory with bert_config.json and vocab.txt. The scale's settings fine-tune them.",
    )
    glue_dir: str | None = option(None, "Where GLUE's folders are.")
    squad_dir: str | None = option(
        None, "Where train-v1.1.json, dev-v1.1.json, train-v2.0.json, dev-v2.0.json are."
    )
    swag_dir: str | None = option(None, "Where SWAG's train.csv and val.csv are.")
    ner_dir: str | None = option(
        None,
        "Where CoNLL-2003's eng.train and eng.testa are, or others: files whose names hold train and dev.",
    )
    seeds: tuple[int, ...] = option(
        (),
        "Seeds of the repetitions.",
        minimum=0,
        maximum=LARGEST_INT64,
        default_text="those of the scale: three on a laptop, five in the paper",
    )
    jobs: int | None = option(
        None,
        "Jobs at a time.",
        minimum=1,
        default_text="one a core on a laptop; one where a job takes all devices",
    )

    @property
    def given_models(self) -> dict[str, str]:
        """Size → directory, of `checkpoints`."""
        return {
            size: directory
            for size, _, directory in (one.partition(":") for one in self.checkpoints)
        }

    def check(self) -> None:
        super().check()
        wrong = [one for one in self.checkpoints if not re.fullmatch("[^:]+:.+", one)]
        if wrong or len(self.given_models) < len(self.checkpoints):
            raise UserError(
                f"--checkpoints={','.join(self.checkpoints)}: SIZE:DIRECTORY is expected, each size once, such "
                "as 2-128:samples/tiny_books"
            )
        if not self.print_plan and not self.output_dir:
            raise UserError(
                "--output_dir must be given (or --print_plan, which only shows what would be done)"
            )
        if self.output_dir and re.search(r"[,*?\[\]]", self.output_dir):
            raise UserError(
                f"--output_dir={self.output_dir}: commas and * ? [ ] have a meaning in the flags of the "
                "jobs: choose another name"
            )
