"""Table of the metrics in `metrics.jsonl` of all tasks: their groups in TensorBoard and `plot.py`,
descriptions and units.

TensorBoard's tags are `<group>/<name of the metric>`.
"""

import dataclasses

# Groups of metrics.
LOSS = "loss"
QUALITY = "quality"
OPTIMIZER = "optimizer"
SPEED = "speed"


@dataclasses.dataclass(frozen=True)
class Chart:
    """Description of a metric for charts.

    Attributes:
      group: group of TensorBoard's charts; None for no chart.
      unit: unit of the values for an axis; "" if the name implies it.
    """

    group: str | None
    description: str
    unit: str = ""


_NATS = "nats"
_PERCENT = "%"
_SHARE = "share"
_CORRELATION = "correlation"
# Name of a metric → its chart.
CHARTS = {
    "loss": Chart(LOSS, "The training objective, the sum of all parts.", _NATS),
    "masked_lm_loss": Chart(LOSS, "Mean cross-entropy of the masked tokens.", _NATS),
    "next_token_loss": Chart(
        LOSS, "Mean cross-entropy of the next token, in left-to-right models.", _NATS
    ),
    "next_sentence_loss": Chart(LOSS, 'Mean cross-entropy of "is B the text after A?".', _NATS),
    "accuracy": Chart(QUALITY, "Share of examples that are classified right.", _SHARE),
    "masked_lm_accuracy": Chart(
        QUALITY,
        "Share of right masked-LM predictions; copying suffices where a token was left as is.",
        _SHARE,
    ),
    "masked_lm_accuracy_at_mask": Chart(
        QUALITY, "Share of right predictions where the token is hidden behind [MASK].", _SHARE
    ),
    "masked_lm_perplexity": Chart(
        QUALITY,
        "e to the power of masked_lm_loss: the number of equally probable tokens that the model "
        "chooses among.",
    ),
    "next_token_accuracy": Chart(QUALITY, "Share of right predictions of the next token.", _SHARE),
    "next_token_perplexity": Chart(
        QUALITY,
        "e to the power of next_token_loss: the number of equally probable tokens that the model "
        "chooses among.",
    ),
    "next_sentence_accuracy": Chart(
        QUALITY, 'Share of right answers to "is B the text after A?"; guessing has 0.5.', _SHARE
    ),
    "f1": Chart(QUALITY, "F1: of the second class, in percent for answers to questions."),
    "f1_accuracy_mean": Chart(
        QUALITY, "Mean of F1 and accuracy, by which the best weights of MRPC and QQP are selected."
    ),
    "precision": Chart(QUALITY, "Share of the predicted entities that are right.", _SHARE),
    "recall": Chart(QUALITY, "Share of the true entities that are predicted.", _SHARE),
    "macro_f1": Chart(QUALITY, "Mean of the classes' F1."),
    "micro_f1": Chart(
        QUALITY,
        "F1 over all pairs of example and label, for tasks with several labels per example.",
        _SHARE,
    ),
    "micro_precision": Chart(QUALITY, "Share of the predicted labels that are right.", _SHARE),
    "micro_recall": Chart(QUALITY, "Share of the true labels that are predicted.", _SHARE),
    "subset_accuracy": Chart(QUALITY, "Share of examples whose labels are all right.", _SHARE),
    "matthews_correlation": Chart(
        QUALITY, "Correlation of predicted and true classes; 0 is guessing.", _CORRELATION
    ),
    "pearson": Chart(QUALITY, "Linear correlation of predicted and true scores.", _CORRELATION),
    "spearman": Chart(QUALITY, "Rank correlation of predicted and true scores.", _CORRELATION),
    "ndcg_at_10": Chart(
        QUALITY,
        "Gains of the first ten documents, discounted by rank; 1 for the best order.",
        _SHARE,
    ),
    "mrr_at_10": Chart(
        QUALITY, "Mean of 1 / rank of the first right document, 0 beyond ten.", _SHARE
    ),
    "map_at_100": Chart(
        QUALITY, "Mean over queries of the precision at each right document.", _SHARE
    ),
    "recall_at_1": Chart(QUALITY, "Share of the right documents that come first.", _SHARE),
    "recall_at_5": Chart(QUALITY, "Share of the right documents among the first five.", _SHARE),
    "recall_at_10": Chart(QUALITY, "Share of the right documents among the first ten.", _SHARE),
    "uniformity": Chart(
        QUALITY, "How evenly vectors are spread, the lower the better; 0 where all are alike."
    ),
    "mean_absolute_error": Chart(QUALITY, "Mean distance of predicted and true scores."),
    "exact": Chart(QUALITY, "Questions answered with exactly a right answer.", _PERCENT),
    "best_exact": Chart(
        QUALITY, "Exact match of the best spans under the threshold that is best for it.", _PERCENT
    ),
    "best_f1": Chart(
        QUALITY, "F1 of the best spans under the threshold that is best for it.", _PERCENT
    ),
    "best_exact_thresh": Chart(
        QUALITY, "The threshold of best_exact: no answer where the null odds are above it."
    ),
    "best_f1_thresh": Chart(
        QUALITY, "The threshold of best_f1: no answer where the null odds are above it."
    ),
    "character_f1": Chart(
        QUALITY, "F1 by characters of answers in scripts without blanks.", _PERCENT
    ),
    # A chart of the number of questions would be constant.
    "total": Chart(None, "Questions."),
    "learning_rate": Chart(OPTIMIZER, "Learning rate of the last step of the report."),
    "gradient_norm": Chart(
        OPTIMIZER, "Global norm of the gradient before it is clipped, mean over the steps."
    ),
    "examples_per_second": Chart(SPEED, "Examples per second on all devices together.", "1/s"),
    "tokens_per_second": Chart(
        SPEED, "Tokens per second on all devices together, padding included.", "1/s"
    ),
    # A chart of the steps would repeat the chart of examples_per_second.
    "steps_per_second": Chart(None, "Updates of the weights.", "1/s"),
    "tflops_per_second": Chart(
        SPEED,
        "Matrix products of the forward and backward passes, on all devices together.",
        "TFLOP/s",
    ),
    "peak_share": Chart(SPEED, "tflops_per_second as a share of the peak of the devices.", _SHARE),
    "input_wait_share": Chart(SPEED, "Share of the time that devices wait for data.", _SHARE),
}


def find(name: str) -> Chart:
    """Returns the chart of a metric; an unknown metric is one of quality.

    Metrics of a second development set or of a kind of examples end with a name of the table:
    `mismatched_accuracy`, `HasAns_f1`.
    """
    if name in CHARTS:
        return CHARTS[name]
    # Metrics of further development sets have a prefix; a name may end with several of the table.
    endings = [metric for metric in CHARTS if name.endswith(f"_{metric}")]
    if not endings:
        return Chart(QUALITY, "")
    # The longest one is the metric: "x_macro_f1" is not an "f1".
    metric = max(endings, key=len)
    variant = name.removesuffix(f"_{metric}")
    chart = CHARTS[metric]
    return dataclasses.replace(chart, description=f"{chart.description} Of: {variant}.")


def tag(name: str) -> str | None:
    """Returns TensorBoard's tag of a metric; None for a metric without a chart."""
    group = find(name).group
    return f"{group}/{name}" if group else None
