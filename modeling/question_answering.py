"""Where an answer starts and ends (sections 4.2 and 4.3 of the paper): the model, its head and its loss.

Input: ids [B, S] of question and paragraph; output: two logits for every position, [B, S] each.
"""

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import SpanLoss
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead

SPAN = SpanLoss("span", labels=lambda features: (features["start_positions"], features["end_positions"]))


@register
class QuestionAnsweringHead(LinearHead):
  """Start and end of an answer. Nothing is dropped, as in the original."""

  key = "span"
  _arguments = ("seed",)

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, 2, seed=seed, dropout_rate=0.0, **kwargs)

  def call(self, sequence_output, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """[B, S, H] → float32 logits of the start and of the end, each [B, S]."""
    logits = super().call(sequence_output, dropout=dropout, training=training)  # [B, S, 2]
    return logits[:, :, 0], logits[:, :, 1]


@register
class BertForQuestionAnswering(BertTaskModel):
  """Encoder and question-answering head: float32 logits of a batch, each position as start and as end, each [B, S].

  The arguments are those of `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForQuestionAnswering(config)
      features = {"input_ids": np.array([[2, 7, 3, 8, 9, 3]]), "segment_ids": np.array([[0, 0, 0, 1, 1, 1]])}
      start_logits, end_logits = model(features)
      start_logits.shape, end_logits.shape                              # (1, 6), (1, 6)
  """

  head_losses = (SPAN,)
  _heads = {"question_answering": "span"}
  _reads = "sequence_output"

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.span = QuestionAnsweringHead(config, seed=seed)
    self.build()
