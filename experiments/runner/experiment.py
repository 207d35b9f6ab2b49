"""What an experiment is: rows of models, columns of measurements, and the paper's numbers.

    EXPERIMENT = Experiment(
        name="table5", title="…", rows=(Row("BERT-Base", Model(), (84.4, …)), …), columns=("mnli", …))
"""

import dataclasses
from collections.abc import Mapping

from experiments.runner.options import GPU, LAPTOP, PAPER, TOY

ALL_SCALES = (LAPTOP, GPU, PAPER, TOY)
# What the points of a curve are at.
BY_STEPS, BY_FLOPS = "steps", "flops"


@dataclasses.dataclass(frozen=True)
class Model:
  """A pre-trained model. What its size and the length of its training mean is the scale's (`scales.py`).

  Attributes:
    size: a name in `Scale.sizes`.
    next_sentence: whether it is pre-trained on the next-sentence task, too.
    left_to_right: whether every token sees those before it only, and pre-training predicts the next one.
    masking: as --masking of data_gen/create_pretraining_data.py.
    cased: whether its vocabulary is.
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
    layers: of a feature-based row: its name in `TABLE_7` of `bert_tf/tasks/token_classification/options.py`.
    members: so many models, with pre-training seeds of their own, answer together.
    triviaqa: whether TriviaQA is fine-tuned on first.
    submission: whether the predictions for GLUE's test sets are made into a submission.
    pretrained: whether the model is; else it is fine-tuned from random weights.
    teacher: what is fine-tuned on the same task, and whose outputs the model learns before its own fine-tuning.
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
  triviaqa: bool = False
  submission: bool = False
  pretrained: bool = True
  teacher: Model | None = None
  recipe: str | None = None
  scales: tuple[str, ...] = ALL_SCALES


@dataclasses.dataclass(frozen=True)
class Experiment:
  """A table or figure.

  Attributes:
    name: of the script and of the report's files.
    title: of the report.
    rows: in the paper's order.
    columns: names in `columns.COLUMNS`.
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
