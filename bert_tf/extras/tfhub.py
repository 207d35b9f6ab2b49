"""TF-Hub's interface for text: a preprocessor and an encoder, with the names that TensorFlow's
tutorials use.

Input: an encoder. Output: two SavedModels for `hub.load` and `hub.KerasLayer`,

- preprocess: strings [B] → "input_word_ids", "input_mask" and "input_type_ids", int32 [B, S]; with
  `.tokenize`, `.bert_pack_inputs` and `.tokenize.get_special_tokens_dict`
- encoder: these → "default", "pooled_output", "sequence_output", "encoder_outputs"; its variables
  are trainable

Source: tensorflow.org/hub/common_saved_model_apis/text, and the Model Garden's
official/nlp/tools/export_tfhub_lib.py for the rest. The tokens are not theirs but the original's.
"""

import os
import tempfile
from collections.abc import Mapping

import keras
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.export import CHECKED, Arrays, ExportFormat, LoadedExport, Request, as_arrays
from bert_tf.inference.saved_model import concrete, describe_function
from bert_tf.tasks.inference import TaskInference, padded_features
from bert_tf.tasks.token_classification.word_graph import BASIC, find_words, token_kinds
from data_gen.labeled.pair_features import encode_pairs
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import CONFIG_FILE
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import POOLER, original_names
from modeling.dropout import DropoutStream
from modeling.preprocessing.graph_tokenizer import (
    GraphTokenizer,
    Tokens,
    column,
    features,
    first_of_rows,
)

# Default length of the preprocessors on TF-Hub.
_SEQ_LENGTH = 128
# Our names → TF-Hub's.
_INPUTS = {
    "input_ids": "input_word_ids",
    "input_mask": "input_mask",
    "segment_ids": "input_type_ids",
}
_IDS = {name: tf.TensorSpec([None, None], tf.int32, name) for name in _INPUTS.values()}
_PARTS = ("preprocess", "encoder")
_SENTENCES = tf.TensorSpec([None], tf.string, "sentences")


class TfHubFormat(ExportFormat):
    """`--api=tfhub`."""

    def load(self, directory: str) -> LoadedExport:
        parts = {}
        signatures = {}
        for name in _PARTS:
            parts[name] = tf.saved_model.load(os.path.join(directory, name))
            signatures[name] = describe_function(parts[name].signatures["serving_default"])

        def ask(signature: str, inputs: Arrays) -> Arrays:
            tensors = tf.nest.map_structure(tf.constant, dict(inputs))
            if signature == "preprocess":
                # Asked as users do: both models in a row.
                outputs = parts["encoder"](parts["preprocess"](tensors["sentences"]))
                return {"pooled_output": outputs["pooled_output"].numpy()}
            return as_arrays(_with_numbered_layers(parts["encoder"](tensors)))

        return LoadedExport(signatures, ask)

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        if name != "features":
            raise UserError(
                f"--api=tfhub is for the encoder, --task=features, not for --task={name}: export "
                "that with --api=signatures"
            )
        if POOLER[0].original in task.load_report.newly_initialized:
            raise UserError(
                f"{task.load_report.description} has no pooler, and so no pooled_output, which "
                "--api=tfhub promises: export it with --api=signatures"
            )
        if self.options.max_seq_length is None:
            self._seq_length = min(_SEQ_LENGTH, task.max_seq_length)
        else:
            self._seq_length = self.options.max_seq_length

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        preprocessor, signatures = _preprocessor(
            task.graph_tokenizer, task.vocabulary, self._seq_length
        )
        path = os.path.join(directory, "preprocess")
        tf.saved_model.save(preprocessor, path, signatures=signatures)
        with tempfile.TemporaryDirectory() as folder:
            vocab_file = os.path.join(folder, "vocab.txt")
            with open(vocab_file, "w", encoding="utf-8") as file:
                file.write("\n".join([*task.vocabulary.tokens, ""]))
            encoder, signatures = _encoder(task, vocab_file)
            # Saving copies the file of the vocabulary.
            path = os.path.join(directory, "encoder")
            tf.saved_model.save(encoder, path, signatures=signatures)
        # The number of attention heads does not follow from the variables, which readers of
        # checkpoints find in the SavedModel.
        task.model.config.to_file(os.path.join(path, CONFIG_FILE))

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        texts = texts[:CHECKED]
        encoded = encode_pairs(task.tokenizer, texts, None, self._seq_length)
        features = padded_features(encoded.tokens, encoded.row_lengths, task.vocabulary)
        inputs = {name: features[feature] for feature, name in _INPUTS.items()}
        expected = as_arrays(_with_numbered_layers(_outputs(task, features)))
        strings = {"sentences": tf.constant(texts).numpy()}
        return [
            Request("preprocess", strings, {"pooled_output": expected["pooled_output"]}),
            Request("encoder", inputs, expected),
        ]


def _with_numbered_layers(outputs: Mapping) -> dict:
    """Returns the encoder's outputs, with one tensor per layer in place of the list of all."""
    flat = dict(outputs)
    for number, layer in enumerate(flat.pop("encoder_outputs")):
        flat[f"encoder_outputs_{number}"] = layer
    return flat


def _callable(function) -> tf.train.Checkpoint:
    """Returns an object that is callable after loading, and can have others as attributes."""
    module = tf.train.Checkpoint()
    module.__call__ = function
    return module


def _preprocessor(
    tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int
) -> tuple[tf.train.Checkpoint, dict]:
    """Builds the preprocessor, and its signatures."""
    kinds = token_kinds(vocabulary)
    ids = {
        "start_of_sequence_id": vocabulary.cls_id,
        "end_of_segment_id": vocabulary.sep_id,
        "padding_id": vocabulary.pad_id,
        "mask_id": vocabulary.mask_id,
        "vocab_size": vocabulary.size,
    }

    @tf.function(input_signature=[_SENTENCES], autograph=False)
    def preprocess(sentences):
        num_rows = tf.shape(sentences)[0]
        return _pack([tokenizer(sentences).ids], num_rows, seq_length, vocabulary)

    @tf.function(input_signature=[_SENTENCES], autograph=False)
    def tokenize(sentences):
        return _by_word(sentences, tokenizer(sentences), kinds)

    @tf.function(input_signature=[], autograph=False)
    def get_special_tokens_dict():
        return tf.nest.map_structure(tf.constant, ids)

    def bert_pack_inputs(inputs, seq_length=seq_length):
        segments = inputs if isinstance(inputs, list | tuple) else [inputs]
        return _pack(segments, segments[0].nrows(tf.int32), seq_length, vocabulary)

    pack = tf.function(bert_pack_inputs, autograph=False)
    # A SavedModel has only the variants that were traced: tokens with and without an axis of
    # words, one segment and two.
    length = tf.TensorSpec([], tf.int32, "seq_length")
    for rank in (2, 3):
        segment = tf.RaggedTensorSpec([None] * rank, tf.int32)
        for num_segments in (1, 2):
            pack.get_concrete_function([segment] * num_segments, seq_length=length)
    root = _callable(preprocess)
    root.tokenize = _callable(tokenize)
    root.tokenize.get_special_tokens_dict = _callable(get_special_tokens_dict)
    root.bert_pack_inputs = _callable(pack)
    return root, {"serving_default": concrete(preprocess, {"sentences": _SENTENCES})}


def _by_word(sentences, tokens: Tokens, kinds) -> tf.RaggedTensor:
    """Groups the ids of tokens by words, int32 [B, (words), (pieces)]."""
    words = find_words(
        tokens.ids.values, tokens.starts, tokens.ends, tokens.ids.value_rowids(), kinds, BASIC
    )
    word_rows = tf.RaggedTensor.from_value_rowids(
        words.tokens, words.rows, tokens.ids.nrows(), validate=False
    )
    # The reshape gives the result the static batch size, if there is one.
    splits = tf.reshape(word_rows.row_splits, [tf.shape(sentences)[0] + 1])
    pieces = tf.RaggedTensor.from_row_starts(tokens.ids.values, words.tokens, validate=False)
    return tf.RaggedTensor.from_row_splits(pieces, splits, validate=False)


def _pack(segments: list[tf.RaggedTensor], num_rows, seq_length, vocabulary: Vocabulary) -> dict:
    """Packs rows of `seq_length` tokens: [CLS] a [SEP], or [CLS] a [SEP] b [SEP], even if b is
    empty.

    Args:
      segments: one or two of int32 [B, (tokens)] or [B, (words), (pieces)]. The longer one loses
        its last token until both fit, the second if they are equally long, as with "round robin".
      num_rows: B, int32 [], in a form that keeps a static batch size.
    """
    flat = []
    for segment in segments:
        flat.append(segment if segment.shape.rank == 2 else segment.merge_dims(1, -1))
    max_tokens = tf.cast(seq_length, tf.int64) - len(flat) - 1
    limits = [max_tokens]
    if len(flat) == 2:
        first_length = flat[0].row_lengths()
        second_length = flat[1].row_lengths()
        limits = [
            tf.maximum(max_tokens - second_length, (max_tokens + 1) // 2),
            tf.maximum(max_tokens - first_length, max_tokens // 2),
        ]
    parts = [column(flat[0], vocabulary.cls_id)]
    for segment, limit in zip(flat, limits, strict=True):
        parts.append(first_of_rows(segment, tf.minimum(segment.row_lengths(), limit)))
        parts.append(column(segment, vocabulary.sep_id))
    packed = features(parts, 3, vocabulary, seq_length)
    inputs = {}
    for feature, name in _INPUTS.items():
        inputs[name] = tf.reshape(packed[feature], [num_rows, seq_length])
    return inputs


def _encoder(task: TaskInference, vocab_file: str) -> tuple[tf.train.Checkpoint, dict]:
    """Builds the encoder, and its signatures."""
    # Optimizers exclude LayerNorm and biases from weight decay by the original's names.
    variables = {}
    mapping = []
    for name, weight in original_names(task.model).items():
        variables[name] = tf.Variable(weight.value, name=name)
        mapping.append((weight, variables[name]))

    @tf.function(autograph=False)
    def encode(inputs, training=False):
        ids = {feature: inputs[name] for feature, name in _INPUTS.items()}
        with keras.StatelessScope(state_mapping=mapping):
            return _outputs(task, ids, training)

    def serve(**inputs):
        outputs = encode(inputs, training=False)
        # A signature returns tensors only, no list of the layers' outputs.
        del outputs["encoder_outputs"]
        return outputs

    for training in (False, True):
        encode.get_concrete_function(_IDS, training=training)
    root = _callable(encode)
    # `hub.KerasLayer` reads these three attributes.
    root.variables = list(variables.values())
    root.trainable_variables = list(variables.values())
    root.regularization_losses = []
    root.vocab_file = tf.saved_model.Asset(vocab_file)
    root.do_lower_case = tf.Variable(task.tokenizer.do_lower_case, trainable=False)
    return root, {"serving_default": concrete(serve, _IDS)}


def _outputs(task: TaskInference, ids: dict, training: bool = False) -> dict:
    """Computes the encoder's outputs by TF-Hub's names."""
    dropout = None
    if training:
        # The SavedModel has no step to derive dropout from, so each call draws a key.
        key = tf.random.uniform([1], tf.int64.min, tf.int64.max, tf.int64)
        dropout = DropoutStream(
            tf.bitcast(key, tf.uint64), tf.constant(0, tf.int64), is_compiled=False
        )
    outputs = task.model(ids, dropout=dropout)
    layers = [value for name, value in outputs.items() if name.startswith("encoder_layer_")]
    return {
        "default": outputs["pooled_output"],
        "pooled_output": outputs["pooled_output"],
        "sequence_output": outputs["sequence_output"],
        "encoder_outputs": layers,
    }
