"""A tag for every token, such as the names of section 5.3 of the paper: the model, its head and its loss.

Input: ids [B, S]; output: logits [B, S, C].
"""

from keras import ops

from modeling.losses import ClassLoss, example_weights
from modeling.saving import register
from modeling.task_model import BertWithClasses, LinearHead

# "label_ids" int [B, S] are negative where there is no label (padding, all but the first piece of a word).
TOKENS = ClassLoss(
    "token_classification", labels=lambda features: ops.maximum(features["label_ids"], 0),
    weights=lambda features: ops.cast(ops.convert_to_tensor(features["label_ids"]) >= 0, "float32")
    * example_weights(features)[:, None])


@register
class TokenClassificationHead(LinearHead):
  """One of C tags for every token, [B, S, H] → [B, S, C]."""

  key = "tagging"


@register
class BertForTokenClassification(BertWithClasses):
  """Encoder and token-classification head: float32 logits [B, S, C] of a batch, the tags of every token.

  Args:
    config: sizes, rates, activation.
    classes: C, number of tags.
    head_dropout: dropout rate of the head's input.
    kwargs: as in `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForTokenClassification(config, classes=9)
      features = {"input_ids": np.array([[2, 7, 8, 3]])}
      model(features).shape                                             # (1, 4, 9): logits
      float(CrossEntropy()(np.array([[-1, 0, 4, -1]]), model(features)))  # negative: no label
  """

  head_losses = (TOKENS,)
  _head = TokenClassificationHead
  _heads = {"token_classification": "tagging"}
  _reads = "sequence_output"
  tagging: TokenClassificationHead
