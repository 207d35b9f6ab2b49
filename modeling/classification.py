"""Classes and scores of sequences and pairs (section 4.1 of the paper): the model, its head and its losses.

Input: ids [B, S]; output: logits [B, C].
"""

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import ClassLoss, HeadLoss, MultiLabelLoss, RegressionLoss, loss_weights
from modeling.saving import register
from modeling.task_model import BertWithClasses, LinearHead

# "label_ids" are int [B], float [B] or, where several classes may apply, [B, C]; "loss_weight" float32 [B] is how much
# an example counts in the loss, 1 where it is not given.
CLASSES = ClassLoss("classification", loss_weights=loss_weights)
SCORES = RegressionLoss("regression", loss_weights=loss_weights)
SEVERAL_CLASSES = MultiLabelLoss("multi_label", loss_weights=loss_weights)
# As Hugging Face's configurations call the problem.
_MULTI_LABEL = "multi_label_classification"


@register
class ClassificationHead(LinearHead):
  """One of C classes for a sequence or a pair, [B, H] → [B, C]; one class: a number, as STS-B asks for."""

  key = "classifier"


@register
class BertForClassification(BertWithClasses):
  """Encoder and classification head.

  Args:
    config: sizes, rates, activation.
    classes: C; 1 for regression.
    head_dropout: dropout rate of the head's input.
    kwargs: as in `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForClassification(config, classes=3)
      features = {"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}
      model(features).shape                                             # (2, 3): logits
      model.compile(optimizer=BertAdamW(1e-4), loss=CrossEntropy(), metrics=[Accuracy()])
      model.fit(features, np.array([0, 2]), verbose=0)
  """

  head_losses: tuple[HeadLoss, ...] = (CLASSES,)
  _head = ClassificationHead
  _heads = {"classification": "classifier"}
  classifier: ClassificationHead

  def __init__(self, config: BertConfig, classes: int, **kwargs):
    super().__init__(config, classes, **kwargs)
    # Of several classes one applies, unless the configuration says otherwise.
    several = config.extra.get("problem_type") == _MULTI_LABEL
    self.head_losses = (SCORES if classes == 1 else SEVERAL_CLASSES if several else CLASSES,)

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """Scores a batch.

    Args:
      features: a dict with int "input_ids" [B, S] and the other inputs of the encoder, other keys are ignored; or a
        tensor or list, as there.
      dropout, training: as in `BertEncoder.call`.

    Returns:
      float32 logits [B, C].
    """
    return self.classifier(self.encode(features, dropout, training)["pooled_output"], dropout=dropout,
                           training=training)
