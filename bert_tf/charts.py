"""Meaning of the metrics of `metrics.jsonl`, and their groups in TensorBoard and `plot.py`: one
table for all tasks.

TensorBoard's tags are `<group>/<name of the metric>`.
"""

import dataclasses

LOSS, QUALITY, OPTIMIZER, SPEED = "loss", "quality", "optimizer", "speed"


@dataclasses.dataclass(frozen=True)
class Chart:
    """Description of a metric for charts.

    Attributes:
      group: of TensorBoard's charts; None where a chart would be a constant, or another one's copy.
      unit: of the values, for an axis; "" where the name says it.
    """

    group: str | None
    description: str
    unit: str = ""


_NATS, _PERCENT, _SHARE, _CORRELATION = "nats", "%", "share", "correlation"
CHARTS = {
    "loss": Chart(LOSS, "What is minimised, the sum of all parts.", _NATS),
    "masked_lm_loss": Chart(LOSS, "Mean cross-entropy of the masked tokens.", _NATS),
    "next_token_loss": Chart(
        LOSS, "Mean cross-entropy of the next token, in left-to-right models.", _NATS
    ),
    "next_sentence_loss": Chart(LOSS, 'Mean cross-entropy of "is B the text after A?".', _NATS),
    "accuracy": Chart(QUALITY, "Share of examples that are classified right.", _SHARE),
    "masked_lm_accuracy": Chart(
        QUALITY,
        "Share of the masked-LM predictions that are right. Where a token was left as it was, copying it is "
        "enough.",
        _SHARE,
    ),
    "masked_lm_accuracy_at_mask": Chart(
        QUALITY, "Share of right predictions where the token is hidden behind [MASK].", _SHARE
    ),
    "masked_lm_perplexity": Chart(
        QUALITY,
        "e to the power of masked_lm_loss: as if the model chose among so many equally probable tokens.",
    ),
    "next_token_accuracy": Chart(QUALITY, "Share of right predictions of the next token.", _SHARE),
    "next_token_perplexity": Chart(
        QUALITY,
        "e to the power of next_token_loss: as if the model chose among so many equally probable tokens.",
    ),
    "next_sentence_accuracy": Chart(
        QUALITY, 'Share of right answers to "is B the text after A?"; guessing has 0.5.', _SHARE
    ),
    "f1": Chart(QUALITY, "F1: of the second class, in percent for answers to questions."),
    "f1_accuracy_mean": Chart(
        QUALITY, "Mean of F1 and accuracy, which chooses the best weights of MRPC and QQP."
    ),
    "macro_f1": Chart(QUALITY, "Mean of the classes' F1."),
    "micro_f1": Chart(
        QUALITY,
        "F1 over all pairs of example and label, where there may be several labels.",
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
    "uniformity": Chart(
        QUALITY, "How evenly vectors are spread, the lower the better; 0 where all are alike."
    ),
    "mean_absolute_error": Chart(QUALITY, "Mean distance of predicted and true scores."),
    "exact": Chart(QUALITY, "Questions answered with exactly a right answer.", _PERCENT),
    "best_exact": Chart(QUALITY, "Exact match under the threshold that is best for it.", _PERCENT),
    "best_f1": Chart(QUALITY, "F1 under the threshold that is best for it.", _PERCENT),
    "best_exact_thresh": Chart(
        QUALITY, "The threshold of best_exact: no answer where the null odds are above it."
    ),
    "best_f1_thresh": Chart(
        QUALITY, "The threshold of best_f1: no answer where the null odds are above it."
    ),
    # The number of questions.
    "total": Chart(None, "Questions."),
    "learning_rate": Chart(OPTIMIZER, "Of the last step of the report."),
    "gradient_norm": Chart(
        OPTIMIZER, "Global norm of the gradient before it is clipped, mean over the steps."
    ),
    "examples_per_second": Chart(SPEED, "Of all devices together.", "1/s"),
    "tokens_per_second": Chart(SPEED, "Of all devices together, padding included.", "1/s"),
    # examples_per_second in another unit.
    "steps_per_second": Chart(None, "Updates of the weights.", "1/s"),
    "tflops_per_second": Chart(
        SPEED,
        "Matrix products of the forward and backward passes, on all devices together.",
        "TFLOP/s",
    ),
    "peak_share": Chart(
        SPEED, "tflops_per_second as a share of what the devices can do at most.", _SHARE
    ),
    "input_wait_share": Chart(SPEED, "Share of the time that devices wait for data.", _SHARE),
}


def find(name: str) -> Chart:
    """The chart of a metric; what is unknown is a quality.

    Names of several sets or kinds of examples end with a name of the table: `mismatched_accuracy`,
    `HasAns_f1`.
    """
    if name in CHARTS:
        return CHARTS[name]
    # The longest one first: "x_macro_f1" is no "f1".
    prefix, ending = min(
        ((name[: -len(known)], known) for known in CHARTS if name.endswith(f"_{known}")),
        key=lambda parts: len(parts[0]),
        default=(name, None),
    )
    if ending is None:
        return Chart(QUALITY, "")
    known = CHARTS[ending]
    return dataclasses.replace(known, description=f"{known.description} Of: {prefix.rstrip('_')}.")


def tag(name: str) -> str | None:
    """TensorBoard's tag of a metric; None where it has no chart."""
    group = find(name).group
    return None if group is None else f"{group}/{name}"
