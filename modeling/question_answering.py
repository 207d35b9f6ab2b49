"""Where an answer starts and ends (sections 4.2 and 4.3 of the paper): the model, its head and its sums.

Input: ids [B, S] of question and paragraph; output: two logits for every position, [B, S] each.
"""

from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import Accuracy, CrossEntropy, example_weights, softmax_cross_entropy
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead


@register
class QuestionAnsweringHead(LinearHead):
  """Start and end of an answer. Nothing is dropped, as in the original."""

  key = "span"
  _arguments = ("seed",)

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, 2, seed=seed, dropout_rate=0.0, **kwargs)

  def call(self, sequence_output, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """[B, S, H] → float32 logits of the start and of the end, each [B, S]."""
    logits = self.scores(sequence_output, dropout, training)  # [B, S, 2]
    return logits[:, :, 0], logits[:, :, 1]


@register
class BertForQuestionAnswering(BertTaskModel):
  """Encoder and question-answering head; the arguments are those of `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForQuestionAnswering(config)
      features = {"input_ids": np.array([[2, 7, 3, 8, 9, 3]]), "segment_ids": np.array([[0, 0, 0, 1, 1, 1]])}
      start_logits, end_logits = model(features)
      start_logits.shape, end_logits.shape                              # (1, 6), (1, 6)
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.span = QuestionAnsweringHead(config, seed=seed)
    self.build_weights()

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    return {"span": self.span}

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """Scores every position of a batch as start and as end.

    Args:
      features: as for `BertForClassification`.
      dropout, training: as in `BertEncoder.call`.

    Returns:
      float32 logits of the start and of the end, each [B, S].
    """
    return self.span(self.encode(features, dropout, training)["sequence_output"], dropout=dropout, training=training)

  def compile_defaults(self) -> dict:
    """Mean of the cross-entropies over positions; y is a pair of int [B], the starts and the ends."""
    return {"loss": [CrossEntropy("start_loss"), CrossEntropy("end_loss")], "loss_weights": [0.5, 0.5],
            "weighted_metrics": [[Accuracy("start_accuracy")], [Accuracy("end_accuracy")]]}

  @staticmethod
  def fit_batch(features: dict) -> tuple:
    """(inputs, labels, weights) as `fit` takes them, of features as for `span_sums`."""
    weights = example_weights(features)
    return features, (features["start_positions"], features["end_positions"]), (weights, weights)


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
