"""Encoder and length head: one number for a text."""

import keras

from modeling.config import BertConfig
from modeling.losses import RegressionLoss
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead


@register
class LengthHead(LinearHead):
    """A number for a text."""

    key = "length"


@register
class BertForLength(BertTaskModel):
    """Encoder and length head; its loss is the squared error of "label_ids", float [B]."""

    head_losses = (RegressionLoss("length"),)

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, seed=seed, **kwargs)
        self.length = LengthHead(config, 1, seed=seed)
        self.build()

    @property
    def heads(self) -> dict[str, keras.layers.Layer]:
        return {"length": self.length}
