import json

import keras
import numpy as np
from safetensors.numpy import save_file

from modeling.checkpoints import weights as table
from modeling.checkpoints.convert import FORMATS as _FORMATS
from modeling.checkpoints.huggingface import config_values
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import all_weights, model_shapes
from modeling.encoder import BertEncoder
from modeling.fine_tuning import (
    ClassificationHead,
    MultipleChoiceHead,
    QuestionAnsweringHead,
    TokenClassificationHead,
)
from modeling.pretraining import MaskedLmHead, NextSentenceHead
from tests import refusals
from tests.modeling.common import SMALL

# Sentence-transformers has none.
FORMATS_OF_ALL_HEADS = tuple(name for name in _FORMATS if name != "sentence_transformers")
CLASSES = {"classification": 3, "token_classification": 5}
# Head → the tensor that announces it; what `model_shapes` completes.
HEADS = {name: {head.signature_name: (CLASSES.get(name, 1),)} for name, head in table.HEADS.items()}


# Head → its layer.
_LAYERS = {
    "masked_lm": MaskedLmHead,
    "next_sentence": NextSentenceHead,
    "classification": ClassificationHead,
    "question_answering": QuestionAnsweringHead,
    "token_classification": TokenClassificationHead,
    "multiple_choice": MultipleChoiceHead,
}


class WithHeads(keras.Model):
    """An encoder and some heads, as the loader takes them."""

    def __init__(self, config, *heads, seed=0):
        super().__init__()
        self.config = config
        self.encoder = BertEncoder(config)
        classes = {**CLASSES, "question_answering": 2, "multiple_choice": 1}
        self.heads = {
            head: _LAYERS[head](config, *([classes[head]] if head in classes else []), seed=seed)
            for head in heads
        }
        for layer in self.heads.values():
            layer.build()


def load_into(path, *heads):
    """(the model of a checkpoint's own configuration with its weights, the report)."""
    source = read_checkpoint(str(path))
    model = WithHeads(source.config, *heads)
    return model, load_weights(model, source)


def head_outputs(model, encoded) -> list:
    """The logits of the heads, of all positions; of answers start and end, of questions three
    choices each."""
    found = []
    for head, layer in model.heads.items():
        read = encoded[table.HEADS[head].reads]
        everywhere = np.broadcast_to(np.arange(read.shape[1], dtype=np.int32), read.shape[:2])
        arguments = (
            (everywhere, model.encoder.embeddings.word_embeddings) if head == "masked_lm" else ()
        )
        logits = keras.ops.convert_to_numpy(layer(read, *arguments))
        found += (
            [logits[..., 0], logits[..., 1]]
            if head == "question_answering"
            else [logits.reshape(-1, 3) if head == "multiple_choice" else logits]
        )
    return found


def random_weights(*heads, config=SMALL, pooler=True, seed=0) -> dict[str, np.ndarray]:
    """Weights by their original names, no two alike."""
    rng = np.random.default_rng(seed)
    announced = {name: shape for head in heads for name, shape in HEADS[head].items()}
    shapes = model_shapes(config, announced)
    return {
        name: (0.3 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
        if pooler or not name.startswith("bert/pooler/")
    }


def huggingface_tensors(weights) -> dict[str, np.ndarray]:
    rows = all_weights(3)
    return {
        rows[name].huggingface: np.ascontiguousarray(value.T)
        if rows[name].huggingface_transposed
        else value
        for name, value in weights.items()
    }


def write_huggingface(folder, weights, config=SMALL, tensors=None, **changes):
    """A Hugging Face directory; `tensors` replace what is written, `changes` go into
    config.json."""
    folder.mkdir(exist_ok=True)
    shapes = {name: value.shape for name, value in weights.items()}
    (folder / "config.json").write_text(json.dumps(config_values(config, shapes) | changes))
    save_file(
        huggingface_tensors(weights) if tensors is None else tensors, folder / "model.safetensors"
    )
    return folder


def assert_refused(path, *messages):
    """Opening and loading ends with one line that says all this."""
    refusals.assert_refused(lambda: load_into(path), *messages)


def read_all(path) -> dict[str, np.ndarray]:
    source = read_checkpoint(str(path))
    return {name: source.read(name) for name in source.tensors}


def assert_same(found, expected):
    """The same names and the same bits."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
