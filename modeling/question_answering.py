"""The network that marks where an answer starts and ends (sections 4.2 and 4.3 of the paper), and its sums.

Comes after `modeling/task_heads.py`; `tasks/question_answering/task.py` trains it.
"""

from collections.abc import Mapping

from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import example_weights, softmax_cross_entropy
from modeling.task_heads import QuestionAnsweringHead
from modeling.task_model import BertTaskModel


class BertForQuestionAnswering(BertTaskModel):
  """Encoder and span head; the arguments are those of `BertTaskModel`."""

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.span = QuestionAnsweringHead(config, seed=seed)

  @property
  def heads(self) -> dict:
    return {"span": self.span}

  def call(self, features: dict, *, dropout: DropoutStream | None = None):
    """Scores every position of a batch as start and as end.

    Args:
      features: int "input_ids", "input_mask", "segment_ids", each [B, S]; what else is in it is not looked at.
      dropout: the training step's random stream; None for inference.

    Returns:
      float32 logits of the start and of the end, each [B, S].
    """
    return self.span(self.encode(features, dropout)["sequence_output"], dropout=dropout)


def span_sums(logits: tuple, features: dict) -> dict:
  """Sums of the mean of the two cross-entropies over positions (`compute_loss` of the original's run_squad).

  As in the original, padding takes part in the softmax.

  Args:
    logits: start and end, float32 [B, S] each.
    features: int "start_positions" and "end_positions" [B], and optionally "is_real_example" [B].

  Returns:
    float32 scalars "span_loss_sum" (nats), "span_count", "span_correct" (both ends right).
  """
  weights = example_weights(features)
  starts, ends = ops.cast(features["start_positions"], "int32"), ops.cast(features["end_positions"], "int32")
  start_losses, best_starts = softmax_cross_entropy(logits[0], starts)
  end_losses, best_ends = softmax_cross_entropy(logits[1], ends)
  correct = ops.cast(ops.logical_and(ops.equal(best_starts, starts), ops.equal(best_ends, ends)), "float32")
  return {
      "span_loss_sum": ops.sum(weights * (start_losses + end_losses)) / 2.0,
      "span_count": ops.sum(weights),
      "span_correct": ops.sum(weights * correct),
  }


def span_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" and "accuracy" (of windows, both ends right) from sums over any number of batches."""
  count = max(sums["span_count"], 1e-5)
  return {"loss": sums["span_loss_sum"] / count, "accuracy": sums["span_correct"] / count}
