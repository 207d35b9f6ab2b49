"""Predictions and exports with a trained model: what all tasks share.

    task = ClassificationInference(open_checkpoint("out"), InferenceSettings())

    # Exact, in Python: [{"label": "1", "probabilities": {...}}].
    task.predict([task.check("A text.")])

    # The same in a graph, for a SavedModel: {"label": ..., ...}.
    task.serve_texts(tf.constant(["A text."]))

Input: a checkpoint with its head and settings. Output: results for JSON, or the functions of a
SavedModel. Each task is one subclass of `TaskInference`, in `bert_tf/tasks/<task>/inference.py`;
`bert_tf/inference/options.py` has their table.

Letters: B inputs, S tokens of the longest row.
"""

import abc
import functools
import json
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError, listed
from bert_common.json_files import check_text
from bert_common.options import Options
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction
from data_gen.labeled.pair_features import END, START, PairFeatures, encode_pairs
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import Checkpoint, load_weights, load_with_head
from modeling.checkpoints.sentence_vectors import SentenceVectors
from modeling.checkpoints.weights import HEADS, POOLER
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, Tokens, pack

# A pair has [CLS] and two [SEP] around its texts; a single text needs three tokens, too.
SPECIAL_TOKENS = 3


class TaskInference(abc.ABC):
    """Model loaded for a task, with everything that predictions and exports need.

    A subclass sets the class attributes, builds its model in `__init__` and passes it to `load`,
    and implements `model_outputs` and `predict`. It overrides `examples` if its inputs are neither
    texts nor pairs of texts, and `serve_token_ids` or `serve_texts` if an export has other inputs
    or outputs than `model_outputs`.

    Attributes:
      head: head that the task needs, a key of `model.heads`; None for the encoder alone.
      kinds: values of "kind" in `task.json` that belong to this task.
      default_length: maximum number of tokens of a row by default.
      follows_tokenizer: the limit of the checkpoint's tokenizer, if there is one, comes before it.
      layouts: keys of an input that is an object; a text has one key, a pair two.
      text_inputs: names of the strings that `serve_texts` takes.
      text_shapes, token_ids_shape: shapes of strings that are not [B], and of token ids; None for
        a size that may vary.
      special_tokens: whether "[MASK]" and the like in a text stand for those tokens.
      token_outputs: names of the `model_outputs` that have one row per token.
      table_columns: keys of a result that are written into the columns of a table; none if results
        do not fit there.
      vectors: pooling of token vectors into a text vector; None for tasks without text vectors.
      prompt: prefix of every text, as set in directories of sentence-transformers; else empty.
      notes: remarks for whoever exports the model.
      truncated: number of inputs that have lost tokens so far.
      truncation: which tokens they lose, see `data_gen/labeled/pair_features.py`.
    """

    # Class attributes, because the table of tasks is read before any model is loaded.
    head: str | None = None
    kinds: tuple[str, ...] = ()
    default_length = 512
    follows_tokenizer = True
    layouts: tuple[tuple[str, ...], ...] = (("text",), ("text_a", "text_b"), ("text_a",))
    text_inputs: tuple[str, ...] = ("text",)
    # A read-only mapping: a subclass must replace it, not add to the shapes of all tasks.
    text_shapes: Mapping[str, tuple[int | None, ...]] = types.MappingProxyType({})
    token_ids_shape: tuple[int | None, ...] = (None, None)
    special_tokens = False
    token_outputs: tuple[str, ...] = ()
    table_columns: tuple[str, ...] = ()
    vectors: SentenceVectors | None = None
    truncation: str = END

    def __init__(self, loaded: Checkpoint, settings: Options):
        """Sets what all tasks have in common; a subclass adds its settings and calls `load`.

        Args:
          settings: `InferenceSettings` of `bert_tf/inference/options.py`. If `max_seq_length` is
            None, inputs are as long as in the fine-tuned run, else `default_length` or the number
            of the model's positions if that is smaller.

        Raises:
          UserError: the inputs are longer than the model has positions, or too short for any token.
        """
        self.tokenizer = loaded.tokenizer
        self.vocabulary = loaded.tokenizer.vocabulary
        if settings.max_seq_length is None:
            length = self._default_length(loaded)
        else:
            length = settings.max_seq_length
        if length < SPECIAL_TOKENS:
            raise UserError(
                f"--max_seq_length={length} must be at least {SPECIAL_TOKENS}: "
                "[CLS], a token, [SEP]"
            )
        loaded.config.check_sequence_length(length, "--max_seq_length")
        self.max_seq_length = length
        # Encoders of sentence-transformers may be trained with a prefix, e.g. "query: ". Such
        # vectors are useless without it.
        self.prompt = loaded.vectors.prompt() if loaded.vectors else ""
        # Classifiers of dialogues and logs may keep the end of a text.
        if loaded.source is not None and loaded.source.truncation_side == "left":
            self.truncation = START
        self.notes: list[str] = list(loaded.notes)
        self.truncated = 0
        self._batch_size = settings.batch_size
        # Predictions are traced on first use: an export never runs them.
        self._prediction: Callable[[Examples], dict[str, np.ndarray]] | None = None

    def _default_length(self, loaded: Checkpoint) -> int:
        """Returns the number of tokens to use if --max_seq_length is not given."""
        length = loaded.length
        if length is None or not (self.follows_tokenizer or loaded.task):
            length = min(self.default_length, loaded.config.max_position_embeddings)
        return length

    def load(self, loaded: Checkpoint, model) -> None:
        """Sets `model`, with the weights of the checkpoint, and `load_report`.

        Raises:
          UserError: the weights can't be read or do not fit, or the head or the pooler that it
            reads is incomplete.
        """
        source = loaded.source
        self.model = model
        if self.head is None:
            self.load_report = load_weights(model, source)
            return
        head = HEADS[self.head]
        # A pooler with random weights would make every prediction of the head random, without any
        # error: refuse the checkpoint.
        if head.reads == "pooled_output" and POOLER[0].original not in source.tensors:
            raise UserError(
                f"{source.description} has no pooler ({POOLER[0].original}), which a {head.title} "
                "reads"
            )
        self.load_report = load_with_head(model, loaded, self.head)

    @property
    def takes_pairs(self) -> bool:
        """Whether an input may be two texts, separated by a tab on a line."""
        return any(len(layout) == 2 for layout in self.layouts)

    def check(self, value: object) -> object:
        """Returns an input in the form that `examples` and `predict` take; here a tuple of texts.

        Raises:
          UserError: the input can't be used; the caller adds which of the inputs it is.
        """
        return texts_of(value, self.layouts)

    def examples(self, inputs: list) -> Examples:
        """Encodes one or more checked inputs with the exact tokenizer."""
        first_texts, second_texts = split_pairs(inputs)
        features = encode_pairs(
            self.tokenizer,
            [self.prompt + text for text in first_texts],
            second_texts,
            self.max_seq_length,
            truncation=self.truncation,
        )
        self.truncated += features.truncated
        return pair_examples(features)

    @abc.abstractmethod
    def model_outputs(self, features: dict) -> dict:
        """Runs the model.

        Args:
          features: int32 "input_ids", "input_mask" and "segment_ids", [B, S] each.

        Returns:
          name → float32 [B, ...], or [B, S, ...] for those in `token_outputs`.
        """

    @abc.abstractmethod
    def predict(self, inputs: list) -> list[dict]:
        """Returns a result for JSON for each of one or more checked inputs, in their order."""

    def with_columns(self, result: dict) -> dict:
        """Returns a result of `predict` with all of `table_columns`."""
        return result

    def prepare(self) -> None:
        """Traces the graph that `predict` runs, so that the first prediction is not delayed."""
        if self._prediction is None:
            self._prediction = local_prediction(
                self.model_outputs,
                self._batch_size,
                # One graph per length: short texts must not pay for long ones.
                lengths_for(self.max_seq_length, few=False),
                self.token_outputs,
            )

    def run(self, examples: Examples) -> dict[str, np.ndarray]:
        """Returns the `model_outputs` of all E examples with T tokens, in their order.

        They are [E, ...], or [T, ...] for `token_outputs`.
        """
        self.prepare()
        return self._prediction(examples)

    def sample_input(self, texts: list[str]) -> tuple:
        """Returns an input, one value for each of `text_inputs`, to try an export on."""
        return tuple(texts[: len(self.text_inputs)])

    def serve_texts(self, *texts) -> dict:
        """Signature "serving_default" of an export.

        Takes a string [B] for each of `text_inputs`, returns outputs [B, ...].
        """
        # The signature with strings is that with token ids after the tokenizer, so that both give
        # the same outputs for the same input.
        return self.serve_token_ids(self.pack(*texts))

    def serve_token_ids(self, features: dict) -> dict:
        """Signature "token_ids" of an export: features of `model_outputs` → outputs [B, ...]."""
        return self.model_outputs(features)

    def reference_features(self, inputs: list) -> dict[str, np.ndarray]:
        """Encodes checked inputs with the exact tokenizer for `serve_token_ids`: int32 [B, S]."""
        examples = self.examples(inputs)
        return padded_features(examples.tokens, examples.row_lengths, self.vocabulary)

    @functools.cached_property
    def graph_tokenizer(self) -> GraphTokenizer:
        """Tokenizer of exports, built on first use because predictions do not need it."""
        return GraphTokenizer(self.vocabulary, self.tokenizer.do_lower_case, self.special_tokens)

    def pack(self, *texts) -> dict:
        """Encodes one or two string [B] in a graph.

        Returns:
          int32 "input_ids", "input_mask" and "segment_ids" [B, S].
        """
        if self.prompt:
            texts = (self.prompt + texts[0], *texts[1:])
        tokens = self.tokenize(*texts)
        return pack(
            tokens[0].ids,
            tokens[1].ids if len(tokens) > 1 else None,
            self.max_seq_length,
            self.vocabulary,
            truncation=self.truncation,
        )

    def tokenize(self, *texts) -> list[Tokens]:
        """Returns the tokens of each of several string [B]."""
        # Tokenize everything in one go: an operation costs as much as a short text.
        tokens = self.graph_tokenizer(tf.concat(texts, 0))
        if len(texts) == 1:
            return [tokens]
        # All strings have the same number of rows. Cut the tokens where the rows of the next
        # strings begin; offsets are flat, so they are cut at the tokens.
        num_rows = tf.shape(texts[0])[0]
        parts = []
        for number in range(len(texts)):
            first_row = number * num_rows
            end_row = first_row + num_rows
            first_token = tokens.ids.row_splits[first_row]
            end_token = tokens.ids.row_splits[end_row]
            part = Tokens(
                tokens.ids[first_row:end_row],
                tokens.starts[first_token:end_token],
                tokens.ends[first_token:end_token],
            )
            parts.append(part)
        return parts


def split_pairs(inputs: Sequence[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Returns the first texts and the second texts ("" if there is none) of checked inputs."""
    first_texts = []
    second_texts = []
    for texts in inputs:
        first_texts.append(texts[0])
        second_texts.append("".join(texts[1:]))
    return first_texts, second_texts


def pair_examples(features: PairFeatures) -> Examples:
    """Returns encoded texts or pairs as examples without values."""
    return Examples(features.tokens, features.row_lengths)


def padded_features(
    tokens: Mapping[str, np.ndarray], row_lengths: np.ndarray, vocabulary: Vocabulary
) -> dict[str, np.ndarray]:
    """Pads B sequences for the model.

    Args:
      tokens: "input_ids" and "segment_ids" [T] of the sequences, concatenated.
      row_lengths: int64 [B], their lengths.
      vocabulary: gives the id of [PAD].

    Returns:
      int32 "input_ids", "input_mask" and "segment_ids" [B, S].
    """
    # True for tokens: assigning to a mask fills row after row, in the order of the concatenated
    # tokens.
    mask = np.arange(row_lengths.max()) < row_lengths[:, None]  # [B, S]
    features = {
        "input_ids": np.full(mask.shape, vocabulary.pad_id, np.int32),
        "input_mask": mask.astype(np.int32),
        "segment_ids": np.zeros(mask.shape, np.int32),
    }
    for name, values in tokens.items():
        features[name][mask] = values
    return features


def texts_of(value: object, layouts: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Returns the texts of an input.

    Args:
      value: a text, several texts, or an object with the keys of a layout.
      layouts: as in `TaskInference`.

    Raises:
      UserError: another type, number of texts, or other keys; half a surrogate pair in a text.
    """
    examples = []
    for layout in layouts:
        examples.append(json.dumps(dict.fromkeys(layout, "…"), ensure_ascii=False))
    # The message shows the accepted objects, as the most frequent mistake is another key.
    expected = " or ".join(examples)
    if isinstance(value, Mapping):
        matches = [layout for layout in layouts if set(layout) == set(value)]
        if not matches:
            raise UserError(f"the keys are {listed(value, repr)}; expected is {expected}")
        texts = [value[key] for key in matches[0]]
    else:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, tuple | list):
            raise UserError(f"a {type(value).__name__} is no text; expected is {expected}")
        matches = [layout for layout in layouts if len(layout) == len(texts)]
        if not matches:
            raise UserError(f"{len(texts)} texts given; expected is {expected}")
    for key, text in zip(matches[0], texts, strict=True):
        if not isinstance(text, str):
            raise UserError(f"{key} is a {type(text).__name__}, a text is expected")
        # JSON may contain half a surrogate pair, which can't be encoded as UTF-8: TensorFlow would
        # fail later, without the input's number.
        check_text(text)
    return tuple(texts)


def to_json(value: float) -> float:
    """Rounds a float32 to its seven significant digits.

    Raises:
      UserError: the value is infinite or not a number.
    """
    if not math.isfinite(value):
        raise UserError(
            "the model's outputs are not all finite numbers: its weights are damaged; take another "
            "checkpoint"
        )
    # Python prints a float32 as a float64 with digits that it does not have.
    return float(f"{value:.7g}")


def list_to_json(values: Iterable[float]) -> list[float]:
    """Returns `to_json` of each value."""
    return [to_json(value) for value in values]
