"""Entities of texts, or tags of their words, with a trained model: predictions, and the graphs of
an export.

Input: a run directory of `run_ner.py`, fine-tuned or with --feature_based, or a model of others
(`BertForTokenClassification`); `task.json` or Hugging Face's `id2label` names the labels. Output:
entities with their offsets in the text; where labels are plain, such as parts of speech, a tag for
every word.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.tasks.inference import TaskInference, check_text, to_json
from bert_tf.tasks.token_classification import word_graph
from bert_tf.tasks.token_classification.data import (
    FEATURES_KIND,
    KIND,
    checkpoint_labels,
    window_examples,
)
from bert_tf.tasks.token_classification.options import COMBINATIONS
from bert_tf.training.examples import Examples
from data_gen.labelled.tag_schemes import find_chunks, parse_names
from data_gen.labelled.word_windows import WordPieces, WordWindows, encode_words, make_windows
from modeling.bilstm import BertForFeatureTagging, encoder_states
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import FEATURE_TAGGER_PREFIX
from modeling.fine_tuning import BertForTokenClassification
from modeling.preprocessing.graph_tokenizer import column
from modeling.preprocessing.graph_tokenizer import features as packed_features


class TokenClassificationInference(TaskInference):
    """{"entities": [{"start", "end", "label", "text", "score"}]} of a text; the entity is
    text[start:end].

    The score is the mean probability of the labels of its words. Of an input {"tokens": […]} start
    and end count words, and the words' "tags" are given, too. Plain labels: {"words": [{"start",
    "end", "tag", "text", "score"}]}.

    Attributes:
      labels: names of the C labels.
      chunk_names: their meaning; None where they are plain.
    """

    head = KIND
    kinds = (KIND,)
    layouts = (("text",), ("tokens",))
    token_outputs = ("probabilities",)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        task = loaded.task or {}
        self._load_tagger(loaded)
        self.chunk_names = parse_names(self.labels)
        self._rule = task.get("words", word_graph.EDGES)
        self._min_context = task.get("min_context", 64)
        self._kinds = word_graph.token_kinds(self.vocabulary)
        self.notes.append(
            f"a text is read up to {self.max_seq_length} tokens; predict.py reads longer ones in windows"
        )

    def check(self, value: object) -> tuple[str, ...] | list[str]:
        """A text as a tuple, or words as a list."""
        if not isinstance(value, Mapping) or set(value) != {"tokens"}:
            return super().check(value)
        words = value["tokens"]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UserError('"tokens" must be a list of words')
        for word in words:
            check_text(word)
        return words

    def examples(self, inputs: list) -> Examples:
        return window_examples(self._windows(inputs)[0])

    def model_outputs(self, features: dict) -> dict:
        """float32 "probabilities" [B, S, C]."""
        return {"probabilities": ops.softmax(self.model(features))}

    def predict(self, inputs: list) -> list[dict]:
        windows, offsets = self._windows(inputs)
        probabilities = np.zeros((0, len(self.labels)), np.float32)
        if len(windows):
            (name,) = self.token_outputs
            probabilities = self._score(
                windows.of_words(self.run(window_examples(windows))[name]),
                np.array(list(map(len, offsets))),
            )
        results, done = [], 0
        for value, places in zip(inputs, offsets, strict=True):
            rows, done = probabilities[done : done + len(places)], done + len(places)
            labels, scores = rows.argmax(axis=-1), rows.max(axis=-1, initial=0)
            tags = [self.labels[label] for label in labels.tolist()]
            # Of a text the characters, of a list the words.
            parts, between = (value[0], "") if isinstance(value, tuple) else (value, " ")
            if self.chunk_names is None:
                results.append(
                    {
                        "words": [
                            {
                                "start": start,
                                "end": end,
                                "tag": tag,
                                "text": between.join(parts[start:end]),
                                "score": to_json(score),
                            }
                            for (start, end), tag, score in zip(
                                places.tolist(), tags, scores, strict=True
                            )
                        ]
                    }
                )
                continue
            chunks = find_chunks(labels, self.chunk_names, np.array([len(labels)]))
            entities = []
            for first, last, kind in chunks.spans().tolist():
                start, end = int(places[first, 0]), int(places[last - 1, 1])
                entities.append(
                    {
                        "start": start,
                        "end": end,
                        "label": chunks.type_names[kind],
                        "text": between.join(parts[start:end]),
                        "score": to_json(scores[first:last].mean()),
                    }
                )
            results.append(
                {"entities": entities} | ({} if isinstance(value, tuple) else {"tags": tags})
            )
        return results

    def serve_texts(self, text) -> dict:
        """Of `find_entities`: "start", "end", "label", "score" [B, E]; plain labels: "start", "end"
        and "tag" of the words, [B, W], -1 and "" where a text has no more."""
        # Bytes that are no UTF-8 become one character here, so that all who count characters agree.
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
        (tokens,) = self.tokenize(text)
        rows, room = tokens.ids.value_rowids(), self.max_seq_length - 2
        places = tf.ragged.range(tokens.ids.row_lengths()).values
        is_read = places < room
        ids, rows, places = (
            tf.boolean_mask(values, is_read) for values in (tokens.ids.values, rows, places)
        )
        words = word_graph.find_words(
            ids,
            tf.boolean_mask(tokens.starts, is_read),
            tf.boolean_mask(tokens.ends, is_read),
            rows,
            self._kinds,
            self._rule,
        )
        read = tf.RaggedTensor.from_value_rowids(ids, rows, tokens.ids.nrows(), validate=False)
        packed = packed_features(
            [column(read, self.vocabulary.cls_id), read, column(read, self.vocabulary.sep_id)],
            3,
            self.vocabulary,
        )
        (name,) = self.token_outputs
        # [CLS] is at position 0.
        scored = self._score_in_graph(
            tf.gather_nd(
                self.model_outputs(packed)[name],
                tf.stack([words.rows, tf.gather(places, words.tokens) + 1], 1),
            ),
            words.rows,
            tokens.ids.nrows(),
        )
        if self.chunk_names is not None:
            return word_graph.find_entities(words, scored, self.chunk_names, tokens.ids.nrows())

        tags = tf.gather(tf.constant(self.labels), tf.argmax(scored, 1))
        return {
            name: word_graph.pad_rows(values, words.rows, tokens.ids.nrows(), nothing)
            for name, values, nothing in (
                ("start", words.starts, -1),
                ("end", words.ends, -1),
                ("tag", tags, ""),
            )
        }

    def _load_tagger(self, loaded: Checkpoint) -> None:
        """Sets `labels` and the model."""
        classes = loaded.source.classes(KIND)
        self.labels = check_labels(
            loaded, checkpoint_labels(loaded) or list(map(str, range(classes))), classes
        )
        self.load(loaded, BertForTokenClassification(loaded.config, len(self.labels)))

    def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """What the model gives for the words of all inputs, `lengths` of each, [W, ...] →
        probabilities float32 [W, C]."""
        return values

    def _score_in_graph(self, values, rows, num_texts):
        """The same in a graph, where `rows`, int64 [W], is the text of each word."""
        return values

    def _windows(self, inputs: list) -> tuple[WordWindows, list[np.ndarray]]:
        """The windows of all inputs, and of each the offsets of its words, int [words, 2]."""
        texts = [value[0] for value in inputs if isinstance(value, tuple)]
        ids, row_lengths, spans = self.tokenizer.encode_batch(texts, offsets=True)
        rows = np.repeat(np.arange(len(texts)), row_lengths)
        found = word_graph.find_words(ids, spans[:, 0], spans[:, 1], rows, self._kinds, self._rule)
        starts = np.append(found.tokens.numpy(), len(ids))
        of_text = np.searchsorted(found.rows.numpy(), np.arange(len(texts) + 1))
        text_offsets = np.stack([found.starts.numpy(), found.ends.numpy()], axis=1)
        pieces, offsets, text = [], [], 0
        for value in inputs:
            if isinstance(value, tuple):
                words = slice(of_text[text], of_text[text + 1])
                borders = starts[words.start : words.stop + 1]
                pieces.append(WordPieces(ids[borders[0] : borders[-1]], np.diff(borders), 0))
                offsets.append(text_offsets[words])
                text += 1
            else:
                pieces.append(encode_words(self.tokenizer, value))
                numbers = np.arange(len(value))
                offsets.append(np.stack([numbers, numbers + 1], axis=1))
        together = WordPieces(
            np.concatenate([part.ids for part in pieces]),
            np.concatenate([part.row_lengths for part in pieces]),
            0,
        )
        return make_windows(
            together,
            np.array([len(part.row_lengths) for part in pieces]),
            None,
            self.vocabulary,
            max_seq_length=self.max_seq_length,
            min_context=self._min_context,
        ), offsets


@dataclasses.dataclass(frozen=True)
class TaggerShape:
    """Sizes of a tagger on fixed activations.

    Attributes:
      layers: whose activations it reads, in this order: 0 for the embeddings, 1 for the first
        layer.
      combine: how they become one vector.
      units, depth: of the BiLSTM.
    """

    layers: tuple[int, ...]
    combine: str
    units: int
    depth: int
    classes: int

    @classmethod
    def of_checkpoint(cls, loaded: Checkpoint) -> "TaggerShape":
        """That of a trained one; raises `UserError` where there is none, or `task.json` contains
        out-of-range values."""
        task, where = loaded.task or {}, loaded.source.description
        tensors = {
            name.removeprefix(FEATURE_TAGGER_PREFIX): tuple(shape)
            for name, shape in loaded.source.tensors.items()
            if name.startswith(FEATURE_TAGGER_PREFIX)
        }
        if "output_weights" not in tensors or "output_bias" not in tensors:
            raise UserError(
                f"{where} has no tagger on fixed activations: the directory of a run with --feature_based is "
                "expected"
            )
        layers, combine, count = (
            task.get("layers"),
            task.get("combine"),
            loaded.config.num_hidden_layers,
        )
        if (
            not isinstance(layers, list)
            or not layers
            or not all(type(one) is int and 0 <= one <= count for one in layers)
        ):
            raise UserError(
                f"{where}: layers in task.json is {layers!r}, a list of numbers of layers, 0 to {count}, is "
                "expected"
            )
        if combine not in COMBINATIONS:
            raise UserError(
                f"{where}: combine in task.json is {combine!r}, one of {', '.join(COMBINATIONS)} is expected"
            )
        depth = len({name.partition("/")[0] for name in tensors if name.startswith("lstm_")})
        return cls(
            tuple(layers),
            combine,
            tensors["output_weights"][0] // 2,
            depth,
            *tensors["output_bias"],
        )


class FeatureTaggerInference(TokenClassificationInference):
    """As `TokenClassificationInference`, with a BiLSTM between the encoder and the labels that
    reads the words of a text.

    Token ids do not show the words of a text: there every word of the basic tokenizer is one, and
    only its first sub-token has probabilities.
    """

    head = None
    kinds = (FEATURES_KIND,)
    token_outputs = ("states",)

    def model_outputs(self, features: dict) -> dict:
        """float32 "states" [B, S, N, H], of the N layers that the tagger reads."""
        return {
            "states": ops.cast(
                encoder_states(self.model.encoder, features, self.model.layer_numbers), "float32"
            )
        }

    def serve_token_ids(self, features: dict) -> dict:
        """ "probabilities" float32 [B, S, C], 0 where no word begins."""
        states, input_ids = self.model_outputs(features)["states"], features["input_ids"]
        is_special = (input_ids == self.vocabulary.cls_id) | (input_ids == self.vocabulary.sep_id)
        kinds = tf.gather(tf.constant(self._kinds, tf.int32), input_ids)
        places = tf.where(
            (features["input_mask"] > 0) & ~is_special & (kinds != word_graph.CONTINUATION)
        )
        batch, length = tf.unstack(tf.shape(input_ids, tf.int64))
        scored = self._score_in_graph(tf.gather_nd(states, places), places[:, 0], batch)
        return {
            "probabilities": tf.scatter_nd(
                places, scored, tf.stack([batch, length, len(self.labels)])
            )
        }

    def _load_tagger(self, loaded: Checkpoint) -> None:
        shape = TaggerShape.of_checkpoint(loaded)
        self.labels = check_labels(loaded, checkpoint_labels(loaded), shape.classes)
        self.load(
            loaded,
            BertForFeatureTagging(
                loaded.config,
                shape.classes,
                shape.layers,
                shape.combine,
                units=shape.units,
                depth=shape.depth,
            ),
        )
        vectors = tf.TensorSpec([None, len(shape.layers), loaded.config.hidden_size], tf.float32)
        self._probabilities = tf.function(
            self._score_in_graph,
            autograph=False,
            input_signature=[vectors, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.int64)],
        )

    def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        words = np.concatenate([[0], np.cumsum(lengths)])
        parts = []
        for first in range(0, len(lengths), self._batch_size):
            part = lengths[first : first + self._batch_size]
            end = first + len(part)
            rows = np.repeat(np.arange(len(part)), part)
            parts.append(
                self._probabilities(values[words[first] : words[end]], rows, len(part)).numpy()
            )
        return np.concatenate(parts)

    def _score_in_graph(self, values, rows, num_texts):
        words = tf.RaggedTensor.from_value_rowids(values, rows, num_texts, validate=False)
        # A step more than there are words: Keras' LSTM reads at least one.
        states = tf.pad(words.to_tensor(), [[0, 0], [0, 1], [0, 0], [0, 0]])
        mask = tf.sequence_mask(words.row_lengths(), tf.shape(states)[1])
        return tf.boolean_mask(
            tf.nn.softmax(self.model({"states": states, "input_mask": mask})), mask
        )


def check_labels(loaded: Checkpoint, labels: list[str], classes: int) -> list[str]:
    """Names of the labels; raises `UserError` where they are not as many as the head has, or not
    all different."""
    if len(labels) != classes or len(set(labels)) != classes:
        raise UserError(
            f"{loaded.source.description}: task.json or id2label must name {classes} different labels, as many "
            f"as the head has: it has {labels!r}"
        )
    return labels
