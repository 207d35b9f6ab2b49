"""What can be measured of a pre-trained model: a column of a table, by its name.

A row of `COLUMNS` is a task, the number in the results that is meant, and what a paper's column is called.
"""

import dataclasses

GLUE, SQUAD, SWAG, NER, FEATURES, PRETRAINING = "glue", "squad", "swag", "ner", "ner_features", "pretraining"
PERPLEXITY = "masked_lm_perplexity"


@dataclasses.dataclass(frozen=True)
class Column:
  """A measurement.

  Attributes:
    title: of the column.
    kind: which script measures it.
    task: of GLUE, or the version of SQuAD; columns of the same kind and task are numbers of the same run.
    metric: key in the results.
    factor: what the result is multiplied by, for the paper's unit.
    lower_is_better: e.g. of a perplexity.
    decimals: that are shown, as in the paper.
    examples: of the published training set; of questions the windows, of multiple choice the sequences.
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
    "perplexity": Column("held-out LM perplexity", PRETRAINING, "", PERPLEXITY, 1.0, lower_is_better=True,
                         decimals=2),
}
