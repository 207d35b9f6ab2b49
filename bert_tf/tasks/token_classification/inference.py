"""Predictions and exports of token classification: entities of texts, or tags of their words.

Input: a run directory of `run_ner.py`, fine-tuned or with --feature_based, or a model of others
(`BertForTokenClassification`); `task.json` or Hugging Face's `id2label` names the labels. Output:
entities with their offsets in the text; for plain labels, such as parts of speech, a tag for every
word.

Letters: B texts, W words of all texts, S tokens of the longest row, C labels.
"""

import dataclasses
import itertools
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
from data_gen.labeled.tag_schemes import find_chunks, parse_names
from data_gen.labeled.word_windows import WordPieces, WordWindows, encode_words, make_windows
from data_gen.ragged import bounds_of, lengths_of
from modeling.bilstm import BertForFeatureTagging, encoder_states
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import FEATURE_TAGGER_PREFIX
from modeling.fine_tuning import BertForTokenClassification
from modeling.preprocessing.graph_tokenizer import column
from modeling.preprocessing.graph_tokenizer import features as packed_features


class TokenClassificationInference(TaskInference):
    """Tagger: {"entities": [{"start", "end", "label", "text", "score"}]} for a text.

    The entity is text[start:end], and its score the mean probability of the labels of its words.
    For an input {"tokens": […]} start and end count words, and the words' "tags" are added. With
    plain labels: {"words": [{"start", "end", "tag", "text", "score"}]}.

    Attributes:
      labels: names of the C labels.
      chunk_names: their prefixes and types; None for plain labels.
    """

    head = KIND
    kinds = (KIND,)
    layouts = (("text",), ("tokens",))
    token_outputs = ("probabilities",)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        task = loaded.task_settings
        self._load_tagger(loaded)
        self.chunk_names = parse_names(self.labels)
        # The defaults are for models of others, which have no `task.json`.
        self._rule = task.get("words", word_graph.EDGES)
        self._min_context = task.get("min_context", 64)
        self._kinds = word_graph.token_kinds(self.vocabulary)
        self.notes.append(
            f"a text is read up to {self.max_seq_length} tokens; predict.py reads longer ones in "
            "windows"
        )

    def check(self, value: object) -> tuple[str, ...] | list[str]:
        """Returns a text as a tuple, or words as a list."""
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
        """Returns float32 "probabilities" [B, S, C]."""
        return {"probabilities": ops.softmax(self.model(features))}

    def predict(self, inputs: list) -> list[dict]:
        windows, all_offsets = self._windows(inputs)
        num_words = lengths_of(all_offsets)
        # If no input has a word, no window is made.
        probabilities = np.zeros((0, len(self.labels)), np.float32)
        if len(windows):
            # Average the windows that score a word, if it is in several.
            outputs = self.run(window_examples(windows))[self.token_outputs[0]]
            probabilities = self._score(windows.to_words(outputs), num_words)
        results = []
        first = 0
        for value, offsets in zip(inputs, all_offsets, strict=True):
            word_probabilities = probabilities[first : first + len(offsets)]
            first += len(offsets)
            if self.chunk_names is None:
                results.append({"words": self._tagged_words(value, offsets, word_probabilities)})
                continue
            result = {"entities": self._entities(value, offsets, word_probabilities)}
            if isinstance(value, list):
                numbers = word_probabilities.argmax(axis=-1).tolist()
                result["tags"] = [self.labels[number] for number in numbers]
            results.append(result)
        return results

    def _tagged_words(
        self, value: tuple | list, offsets: np.ndarray, probabilities: np.ndarray
    ) -> list[dict]:
        """Returns the words of an input with their plain tags, for JSON.

        Args:
          value: a checked input.
          offsets: int [words, 2], starts and ends of its words.
          probabilities: float32 [words, C].
        """
        words = []
        for (start, end), row in zip(offsets.tolist(), probabilities, strict=True):
            # Plain tags have no chunks: every word is a result.
            number = int(row.argmax())
            words.append(
                {
                    "start": start,
                    "end": end,
                    "tag": self.labels[number],
                    "text": _part(value, start, end),
                    "score": to_json(row[number]),
                }
            )
        return words

    def _entities(
        self, value: tuple | list, offsets: np.ndarray, probabilities: np.ndarray
    ) -> list[dict]:
        """Returns the entities of an input for JSON; arguments as in `_tagged_words`."""
        labels = probabilities.argmax(axis=-1)
        # `initial` allows inputs without words.
        scores = probabilities.max(axis=-1, initial=0)
        # A list of one sentence: chunks end with the input.
        chunks = find_chunks(labels, self.chunk_names, np.array([len(labels)]))
        entities = []
        for first, end_word, type_number in chunks.spans().tolist():
            start = int(offsets[first, 0])
            end = int(offsets[end_word - 1, 1])
            entities.append(
                {
                    "start": start,
                    "end": end,
                    "label": chunks.type_names[type_number],
                    "text": _part(value, start, end),
                    "score": to_json(scores[first:end_word].mean()),
                }
            )
        return entities

    def serve_texts(self, text) -> dict:
        """Signature "serving_default" for string [B].

        Returns:
          the outputs of `find_entities`; for plain labels "start", "end" and "tag" of the words,
          [B, maximum number of words], -1 and "" after the last word of a text.
        """
        # Replace invalid UTF-8 by one character: otherwise tokenizer and clients count differently.
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
        (tokens,) = self.tokenize(text)
        # Texts without words need a row in the outputs, too.
        num_texts = tokens.ids.nrows()
        # Tokens that do not fit between [CLS] and [SEP] are not read.
        positions = tf.ragged.range(tokens.ids.row_lengths()).values
        is_read = positions < self.max_seq_length - 2
        positions = tf.boolean_mask(positions, is_read)
        ids = tf.boolean_mask(tokens.ids.values, is_read)
        rows = tf.boolean_mask(tokens.ids.value_rowids(), is_read)
        starts = tf.boolean_mask(tokens.starts, is_read)
        ends = tf.boolean_mask(tokens.ends, is_read)
        words = word_graph.find_words(ids, starts, ends, rows, self._kinds, self._rule)
        read_ids = tf.RaggedTensor.from_value_rowids(ids, rows, num_texts, validate=False)
        cls_column = column(read_ids, self.vocabulary.cls_id)
        sep_column = column(read_ids, self.vocabulary.sep_id)
        # A single text is of segment 0: no part has the number 3.
        packed = packed_features([cls_column, read_ids, sep_column], 3, self.vocabulary)
        outputs = self.model_outputs(packed)[self.token_outputs[0]]
        # A word is scored at its first token; [CLS] is at position 0.
        columns = tf.gather(positions, words.tokens) + 1
        values = tf.gather_nd(outputs, tf.stack([words.rows, columns], 1))
        probabilities = self._score_in_graph(values, words.rows, num_texts)
        if self.chunk_names is not None:
            return word_graph.find_entities(words, probabilities, self.chunk_names, num_texts)
        tags = tf.gather(tf.constant(self.labels), tf.argmax(probabilities, 1))
        return {
            "start": word_graph.pad_rows(words.starts, words.rows, num_texts, -1),
            "end": word_graph.pad_rows(words.ends, words.rows, num_texts, -1),
            "tag": word_graph.pad_rows(tags, words.rows, num_texts, ""),
        }

    def _load_tagger(self, loaded: Checkpoint) -> None:
        """Sets `labels` and the model."""
        classes = loaded.source.classes(KIND)
        names = checkpoint_labels(loaded)
        # Unknown labels are "0", "1" etc., which count as plain tags.
        labels = names if names else [str(number) for number in range(classes)]
        self.labels = check_labels(loaded, labels, classes)
        self.load(loaded, BertForTokenClassification(loaded.config, len(self.labels)))

    def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Converts the model's outputs for words, [W, ...], to probabilities, float32 [W, C].

        Args:
          lengths: int [B], number of words of each input.
        """
        return values

    def _score_in_graph(self, values, rows, num_texts):
        """Does the same in a graph; `rows`, int64 [W], is the text of each word."""
        return values

    def _windows(self, inputs: list) -> tuple[WordWindows, list[np.ndarray]]:
        """Returns the windows of all inputs, and int [words, 2], the offsets of their words."""
        texts = [value[0] for value in inputs if isinstance(value, tuple)]
        words_of_texts = iter(self._words_of_texts(texts))
        all_pieces = []
        all_offsets = []
        for value in inputs:
            if isinstance(value, tuple):
                pieces, offsets = next(words_of_texts)
            else:
                pieces = encode_words(self.tokenizer, value)
                numbers = np.arange(len(value))
                offsets = np.stack([numbers, numbers + 1], axis=1)
            all_pieces.append(pieces)
            all_offsets.append(offsets)
        # Windows of all inputs are made together; every input is a sentence of its own.
        concatenated = WordPieces(
            np.concatenate([pieces.ids for pieces in all_pieces]),
            np.concatenate([pieces.row_lengths for pieces in all_pieces]),
            0,
        )
        windows = make_windows(
            concatenated,
            np.array([len(pieces.row_lengths) for pieces in all_pieces]),
            None,
            self.vocabulary,
            max_seq_length=self.max_seq_length,
            min_context=self._min_context,
        )
        return windows, all_offsets

    def _words_of_texts(self, texts: list[str]) -> list[tuple[WordPieces, np.ndarray]]:
        """Returns the words of each text, and int [words, 2], their offsets in characters."""
        # Find the words of all texts with one call of the graph's functions.
        ids, row_lengths, spans = self.tokenizer.encode_batch(texts, offsets=True)
        rows = np.repeat(np.arange(len(texts)), row_lengths)
        words = word_graph.find_words(ids, spans[:, 0], spans[:, 1], rows, self._kinds, self._rule)
        # Every token is in a word, whose tokens end where the next word's begin.
        borders = np.append(words.tokens.numpy(), len(ids))
        offsets = np.stack([words.starts.numpy(), words.ends.numpy()], axis=1)
        text_borders = np.searchsorted(words.rows.numpy(), np.arange(len(texts) + 1))
        parts = []
        for first, end in itertools.pairwise(text_borders):
            word_borders = borders[first : end + 1]
            text_ids = ids[word_borders[0] : word_borders[-1]]
            pieces = WordPieces(text_ids, np.diff(word_borders), num_without=0)
            parts.append((pieces, offsets[first:end]))
        return parts


def _part(value: tuple | list, start: int, end: int) -> str:
    """Returns a part of an input: characters of a text, or words joined by blanks."""
    if isinstance(value, tuple):
        return value[0][start:end]
    return " ".join(value[start:end])


@dataclasses.dataclass(frozen=True)
class TaggerShape:
    """Sizes of a tagger on fixed activations.

    Attributes:
      layers: numbers of the layers that it reads, in order: 0 for the embeddings, 1 for the first.
      combine: rule that makes one vector of them, one of `COMBINATIONS`.
      units, depth: sizes of the BiLSTM.
      classes: number of labels.
    """

    layers: tuple[int, ...]
    combine: str
    units: int
    depth: int
    classes: int

    @classmethod
    def of_checkpoint(cls, loaded: Checkpoint) -> "TaggerShape":
        """Returns the shape of a trained tagger.

        Raises:
          UserError: the checkpoint has none, or `task.json` contains out-of-range values.
        """
        task = loaded.task_settings
        description = loaded.source.description
        shapes = {}
        # Sizes come from the shapes of the weights, not from flags, which `task.json` does not
        # have.
        for name, shape in loaded.source.tensors.items():
            if name.startswith(FEATURE_TAGGER_PREFIX):
                shapes[name.removeprefix(FEATURE_TAGGER_PREFIX)] = shape
        if "output_weights" not in shapes or "output_bias" not in shapes:
            raise UserError(
                f"{description} has no tagger on fixed activations: the directory of a run with "
                "--feature_based is expected"
            )
        layers = task.get("layers")
        num_layers = loaded.config.num_hidden_layers
        is_valid = isinstance(layers, list) and len(layers) > 0
        if not is_valid or any(layer not in range(num_layers + 1) for layer in layers):
            raise UserError(
                f"{description}: layers in task.json is {layers!r}, a list of numbers of layers, 0 "
                f"to {num_layers}, is expected"
            )
        combine = task.get("combine")
        if combine not in COMBINATIONS:
            raise UserError(
                f"{description}: combine in task.json is {combine!r}, one of "
                f"{', '.join(COMBINATIONS)} is expected"
            )
        lstm_layers = {name.partition("/")[0] for name in shapes if name.startswith("lstm_")}
        return cls(
            layers=tuple(layers),
            combine=combine,
            # The output layer reads both directions.
            units=shapes["output_weights"][0] // 2,
            depth=len(lstm_layers),
            classes=shapes["output_bias"][0],
        )


class FeatureTaggerInference(TokenClassificationInference):
    """Tagger with a BiLSTM between the encoder and the labels that reads the words of a text.

    Token ids do not show the words of a text: in the signature "token_ids" every word of the basic
    tokenizer is one, and only its first sub-token has probabilities.
    """

    head = None
    kinds = (FEATURES_KIND,)
    token_outputs = ("states",)

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "states" [B, S, N, H], of the N layers that the tagger reads."""
        # The BiLSTM needs the words of a whole text, so that the graph of a batch ends with the
        # encoder.
        states = encoder_states(self.model.encoder, features, self.model.layer_numbers)
        return {"states": ops.cast(states, "float32")}

    def serve_token_ids(self, features: dict) -> dict:
        """Signature "token_ids": float32 "probabilities" [B, S, C], 0 where no word begins."""
        states = self.model_outputs(features)["states"]
        input_ids = features["input_ids"]
        is_special = (input_ids == self.vocabulary.cls_id) | (input_ids == self.vocabulary.sep_id)
        kinds = tf.gather(tf.constant(self._kinds, tf.int32), input_ids)
        is_first_token = (features["input_mask"] > 0) & ~is_special
        is_first_token &= kinds != word_graph.CONTINUATION
        indices = tf.where(is_first_token)
        batch, length = tf.unstack(tf.shape(input_ids, tf.int64))
        values = tf.gather_nd(states, indices)
        probabilities = self._score_in_graph(values, indices[:, 0], batch)
        shape = tf.stack([batch, length, len(self.labels)])
        return {"probabilities": tf.scatter_nd(indices, probabilities, shape)}

    def _load_tagger(self, loaded: Checkpoint) -> None:
        shape = TaggerShape.of_checkpoint(loaded)
        self.labels = check_labels(loaded, checkpoint_labels(loaded), shape.classes)
        model = BertForFeatureTagging(
            loaded.config,
            shape.classes,
            shape.layers,
            shape.combine,
            units=shape.units,
            depth=shape.depth,
        )
        self.load(loaded, model)
        states = tf.TensorSpec([None, len(shape.layers), loaded.config.hidden_size], tf.float32)
        rows = tf.TensorSpec([None], tf.int64)
        num_texts = tf.TensorSpec([], tf.int64)
        self._probabilities = tf.function(
            self._score_in_graph, autograph=False, input_signature=[states, rows, num_texts]
        )

    def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        # Run the tagger on some texts at a time: memory grows with the longest of them.
        words = bounds_of(lengths)
        parts = []
        for first in range(0, len(lengths), self._batch_size):
            batch = lengths[first : first + self._batch_size]
            states = values[words[first] : words[first + len(batch)]]
            rows = np.repeat(np.arange(len(batch)), batch)
            parts.append(self._probabilities(states, rows, len(batch)).numpy())
        return np.concatenate(parts)

    def _score_in_graph(self, values, rows, num_texts):
        words = tf.RaggedTensor.from_value_rowids(values, rows, num_texts, validate=False)
        # Add a step after the last word: Keras' LSTM fails on sequences without any.
        states = tf.pad(words.to_tensor(), [[0, 0], [0, 1], [0, 0], [0, 0]])
        mask = tf.sequence_mask(words.row_lengths(), tf.shape(states)[1])
        probabilities = tf.nn.softmax(self.model({"states": states, "input_mask": mask}))
        return tf.boolean_mask(probabilities, mask)


def check_labels(loaded: Checkpoint, labels: list[str], classes: int) -> list[str]:
    """Returns the names of the labels.

    Raises:
      UserError: the head has another number of classes, or names repeat.
    """
    if len(labels) != classes or len(set(labels)) != classes:
        raise UserError(
            f"{loaded.source.description}: task.json or id2label must name {classes} different "
            f"labels, as many as the head has: it has {labels!r}"
        )
    return labels
