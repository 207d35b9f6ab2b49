"""TF-Hub's interface for text: a preprocessor and an encoder, with the names that TensorFlow's
tutorials use.

Input: an encoder. Output: two SavedModels for `hub.load` and `hub.KerasLayer`,

  preprocess    strings [B] → "input_word_ids", "input_mask" and "input_type_ids", int32 [B, S]
    .tokenize, .bert_pack_inputs, .tokenize.get_special_tokens_dict
  encoder       these → "default", "pooled_output", "sequence_output", "encoder_outputs"; its
  variables can be trained

Source: tensorflow.org/hub/common_saved_model_apis/text, and the Model Garden's
official/nlp/tools/export_tfhub_lib.py for what that leaves open. The tokens are not theirs but
those of the original.
"""

import os
import tempfile

import keras
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.export import CHECKED, Arrays, ExportFormat, LoadedExport, Request, as_arrays
from bert_tf.inference.saved_model import concrete, describe_function
from bert_tf.tasks.inference import TaskInference, padded_features
from bert_tf.tasks.token_classification.word_graph import BASIC, find_words, token_kinds
from data_gen.labelled.pair_features import encode_pairs
from data_gen.tokenization.vocabulary import Vocabulary
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

# Of the preprocessors on TF-Hub.
_SEQ_LENGTH = 128
# Our names → TF-Hub's.
_INPUTS = {
    "input_ids": "input_word_ids",
    "input_mask": "input_mask",
    "segment_ids": "input_type_ids",
}
_IDS = {name: tf.TensorSpec([None, None], tf.int32, name) for name in _INPUTS.values()}
_SENTENCES = tf.TensorSpec([None], tf.string, "sentences")


class TfHubFormat(ExportFormat):
    """`--api=tfhub`."""

    def load(self, directory: str) -> LoadedExport:
        preprocess, encoder = (
            tf.saved_model.load(f"{directory}/{part}") for part in ("preprocess", "encoder")
        )

        def ask(signature: str, inputs: Arrays) -> Arrays:
            tensors = {name: tf.constant(value) for name, value in inputs.items()}
            if signature == "preprocess":
                return {
                    "pooled_output": encoder(preprocess(tensors["sentences"]))[
                        "pooled_output"
                    ].numpy()
                }
            outputs = dict(encoder(tensors))
            layers = outputs.pop("encoder_outputs")
            return as_arrays(
                outputs
                | {f"encoder_outputs_{number}": value for number, value in enumerate(layers)}
            )

        return LoadedExport(
            {
                name: describe_function(part.signatures["serving_default"])
                for name, part in (("preprocess", preprocess), ("encoder", encoder))
            },
            ask,
        )

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        if name != "features":
            raise UserError(
                f"--api=tfhub is for the encoder, --task=features, not for --task={name}: export that with "
                "--api=signatures"
            )
        if POOLER[0].original in task.load_report.newly_initialised:
            raise UserError(
                f"{task.load_report.description} has no pooler, and so no pooled_output, which --api=tfhub "
                "promises: export it with --api=signatures"
            )
        # Compiled operations are not in the stock server.
        for layer in task.model.layers:
            layer.fuses_activation = False
        self._seq_length = self.options.max_seq_length or min(_SEQ_LENGTH, task.max_seq_length)

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        preprocessor, signatures = _preprocessor(
            task.graph_tokenizer, task.vocabulary, self._seq_length
        )
        tf.saved_model.save(
            preprocessor, os.path.join(directory, "preprocess"), signatures=signatures
        )
        with tempfile.TemporaryDirectory() as folder:
            vocab_file = os.path.join(folder, "vocab.txt")
            with open(vocab_file, "w", encoding="utf-8") as file:
                file.writelines(f"{token}\n" for token in task.vocabulary.tokens)
            encoder, signatures = _encoder(task, vocab_file)
            tf.saved_model.save(encoder, os.path.join(directory, "encoder"), signatures=signatures)

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        texts = texts[:CHECKED]
        encoded = encode_pairs(task.tokenizer, texts, None, self._seq_length)
        ids = padded_features(
            {"input_ids": encoded.input_ids, "segment_ids": encoded.segment_ids},
            encoded.row_lengths,
            task.vocabulary,
        )
        inputs = {theirs: ids[ours] for ours, theirs in _INPUTS.items()}
        outputs = _outputs(task, ids)
        layers = {
            f"encoder_outputs_{number}": value
            for number, value in enumerate(outputs.pop("encoder_outputs"))
        }
        expected = as_arrays(outputs | layers)
        strings = tf.constant(texts).numpy()
        return [
            Request(
                "preprocess", {"sentences": strings}, {"pooled_output": expected["pooled_output"]}
            ),
            Request("encoder", inputs, expected),
        ]


def _callable(function) -> tf.train.Checkpoint:
    """An object that can be called when it is loaded, and can have others as attributes."""
    module = tf.train.Checkpoint()
    module.__call__ = function
    return module


def _preprocessor(
    tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int
) -> tuple[tf.train.Checkpoint, dict]:
    """The preprocessor, and its signatures."""
    kinds = token_kinds(vocabulary)

    def bert_pack_inputs(inputs, seq_length=seq_length):
        segments = inputs if isinstance(inputs, list | tuple) else [inputs]
        return _pack(segments, segments[0].nrows(tf.int32), seq_length, vocabulary)

    @tf.function(input_signature=[_SENTENCES], autograph=False)
    def preprocess(sentences):
        return _pack([tokenizer(sentences).ids], tf.shape(sentences)[0], seq_length, vocabulary)

    root = _callable(preprocess)
    root.tokenize = _callable(
        tf.function(
            lambda sentences: _by_word(sentences, tokenizer(sentences), kinds),
            input_signature=[_SENTENCES],
            autograph=False,
        )
    )
    ids = {
        "start_of_sequence_id": vocabulary.cls_id,
        "end_of_segment_id": vocabulary.sep_id,
        "padding_id": vocabulary.pad_id,
        "mask_id": vocabulary.mask_id,
        "vocab_size": vocabulary.size,
    }
    root.tokenize.get_special_tokens_dict = _callable(
        tf.function(
            lambda: {name: tf.constant(value) for name, value in ids.items()},
            input_signature=[],
            autograph=False,
        )
    )
    pack = tf.function(bert_pack_inputs, autograph=False)
    for ragged_rank in (1, 2):
        segment = tf.RaggedTensorSpec([None] * (ragged_rank + 1), tf.int32)
        for segments in (1, 2):
            pack.get_concrete_function(
                [segment] * segments, seq_length=tf.TensorSpec([], tf.int32, "seq_length")
            )
    root.bert_pack_inputs = _callable(pack)
    return root, {"serving_default": concrete(preprocess, {"sentences": _SENTENCES})}


def _by_word(sentences, tokens: Tokens, kinds) -> tf.RaggedTensor:
    """Ids, int32 [B, (words), (pieces)]."""
    words = find_words(
        tokens.ids.values, tokens.starts, tokens.ends, tokens.ids.value_rowids(), kinds, BASIC
    )
    word_rows = tf.RaggedTensor.from_value_rowids(
        words.tokens, words.rows, tokens.ids.nrows(), validate=False
    )
    # Of the batch's size, where that is known.
    splits = tf.reshape(word_rows.row_splits, [tf.shape(sentences)[0] + 1])
    return tf.RaggedTensor.from_row_splits(
        tf.RaggedTensor.from_row_starts(tokens.ids.values, words.tokens, validate=False),
        splits,
        validate=False,
    )


def _pack(segments: list[tf.RaggedTensor], rows, seq_length, vocabulary: Vocabulary) -> dict:
    """[CLS] a [SEP], or [CLS] a [SEP] b [SEP] even where b is empty, each of `seq_length` tokens.

    Args:
      segments: one or two of int32 [B, (tokens)] or [B, (words), (pieces)]. The longer loses its
        last token until both fit, the second if they are equally long: what "round robin" leaves.
      rows: B, int32 [], in a form of which TensorFlow knows the value where it is known.
    """
    segments = [
        segment if segment.shape.rank == 2 else segment.merge_dims(1, -1) for segment in segments
    ]
    room = tf.cast(seq_length, tf.int64) - len(segments) - 1
    lengths = [segment.row_lengths() for segment in segments]
    if len(segments) == 1:
        most = [room]
    else:
        most = [
            tf.maximum(room - lengths[1], (room + 1) // 2),
            tf.maximum(room - lengths[0], room // 2),
        ]
    parts = [column(segments[0], vocabulary.cls_id)]
    for segment, length, limit in zip(segments, lengths, most, strict=True):
        parts += [
            first_of_rows(segment, tf.minimum(length, limit)),
            column(segment, vocabulary.sep_id),
        ]
    packed = features(parts, 3, vocabulary, seq_length)
    return {
        theirs: tf.reshape(packed[ours], [rows, seq_length]) for ours, theirs in _INPUTS.items()
    }


def _encoder(task: TaskInference, vocab_file: str) -> tuple[tf.train.Checkpoint, dict]:
    """The encoder, and its signatures."""
    # With the original's names, by which optimizers leave LayerNorm and biases out of weight decay.
    weights = original_names(task.model)
    variables = {name: tf.Variable(weight.value, name=name) for name, weight in weights.items()}
    mapping = [(weight, variables[name]) for name, weight in weights.items()]

    @tf.function(autograph=False)
    def encode(inputs, training=False):
        with keras.StatelessScope(state_mapping=mapping):
            return _outputs(
                task, {ours: inputs[theirs] for ours, theirs in _INPUTS.items()}, training
            )

    # What `hub.KerasLayer` reads: variables, and losses of which there are none.
    for training in (False, True):
        encode.get_concrete_function(_IDS, training=training)
    root = _callable(encode)
    root.variables, root.trainable_variables = list(variables.values()), list(variables.values())
    root.regularization_losses = []
    root.vocab_file = tf.saved_model.Asset(vocab_file)
    root.do_lower_case = tf.Variable(task.tokenizer.do_lower_case, trainable=False)
    # A signature leaves out what is no tensor, the list of the layers' outputs.
    return root, {
        "serving_default": concrete(
            lambda **inputs: {
                name: value
                for name, value in encode(inputs, training=False).items()
                if name != "encoder_outputs"
            },
            _IDS,
        )
    }


def _outputs(task: TaskInference, ids: dict, training: bool = False) -> dict:
    """The encoder's outputs by TF-Hub's names."""
    dropout = None
    if training:
        # A stream of its own for every call: there is no step to take one from, and no state to
        # keep.
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
