"""Lengths of texts with a trained model: predictions, and the graphs of an export."""

from bert_common.options import Options
from bert_tf.tasks.inference import TaskInference, to_json
from modeling.checkpoints.load import Checkpoint
from tests.bert_tf.tasks.text_length.model import BertForLength


class LengthInference(TaskInference):
    """{"length": number} of a text."""

    head = "length"
    kinds = ("length",)
    layouts = (("text",),)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        self.load(loaded, BertForLength(loaded.config))

    def model_outputs(self, features: dict) -> dict:
        """float32 "length" [B]."""
        return {"length": self.model(features)[:, 0]}

    def predict(self, inputs: list) -> list[dict]:
        return [{"length": to_json(length)} for length in self.run(self.examples(inputs))["length"]]
