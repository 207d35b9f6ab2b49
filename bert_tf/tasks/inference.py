"""A trained model in use: what every task does for predictions and for exports.

    task = ClassificationInference(open_checkpoint("out"), InferenceSettings())
    task.predict([task.check("A text.")])        # [{"label": "1", "probabilities": {...}}]: exact,
    in Python task.serve_texts(tf.constant(["A text."]))   # {"label": ..., ...}: the same in a
    graph, for a SavedModel

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
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_common.json_files import check_text
from bert_common.options import Options
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction
from data_gen.labelled.pair_features import END, encode_pairs
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import SentenceVectors
from modeling.checkpoints.load import Checkpoint, load_weights, load_with_head
from modeling.checkpoints.weights import HEADS, POOLER
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, Tokens, pack

# [CLS] and two [SEP].
SPECIAL_TOKENS = 3


class TaskInference(abc.ABC):
    """A model loaded for a task, with what predictions and exports need.

    A subclass fills in the class attributes, makes its model in `__init__` and passes it to `load`,
    and implements `model_outputs` and `predict`. Where its inputs are not texts or pairs of texts,
    it overrides `examples`; where an export gives more than `model_outputs`, or takes something
    else, `serve_token_ids` or `serve_texts`.

    Attributes:
      head: the head that the task needs, a key of `model.heads`; None for the encoder alone.
      kinds: values of "kind" in `task.json` that are this task.
      default_length: the most tokens of a row by default.
      layouts: keys of an input that is an object; a text is what has one key, a pair what has two.
      text_inputs: names of the strings that `serve_texts` takes.
      text_shapes, token_ids_shape: of strings that are not [B], and of token ids; None for a size
        that may vary.
      special_tokens: "[MASK]" and the like in a text are those tokens.
      token_outputs: names of the `model_outputs` that have one row a token.
      vectors: how the vectors of a text's tokens become one, where a task gives such; None for
        others.
      prompt: what stands before every text, of directories of sentence-transformers that say so;
        else empty.
      notes: what somebody who exports the model should know.
      truncated: inputs so far that lost tokens; `lose` which, of
        `data_gen/labelled/pair_features.py`.
    """

    head: str | None = None
    kinds: tuple[str, ...] = ()
    default_length = 512
    layouts: tuple[tuple[str, ...], ...] = (("text",), ("text_a", "text_b"), ("text_a",))
    text_inputs: tuple[str, ...] = ("text",)
    text_shapes: Mapping[str, tuple[int | None, ...]] = types.MappingProxyType({})
    token_ids_shape: tuple[int | None, ...] = (None, None)
    special_tokens = False
    token_outputs: tuple[str, ...] = ()
    vectors: SentenceVectors | None = None
    lose: str = END

    def __init__(self, loaded: Checkpoint, settings: Options):
        """Settles what all tasks have in common; a subclass adds its settings and calls `load`.

        Args:
          settings: `InferenceSettings` of `bert_tf/inference/options.py`. Without `max_seq_length`
            that of the fine-tuned run counts or, where there is none, `default_length` or as many
            as the model has positions.

        Raises:
          UserError: the inputs are to be longer than the model has positions, or too short for any
            token.
        """
        self.tokenizer = loaded.tokenizer
        self.vocabulary = loaded.tokenizer.vocabulary
        length = settings.max_seq_length
        if length is None:
            default = loaded.vectors and loaded.vectors.max_seq_length or self.default_length
            length = (loaded.task or {}).get(
                "max_seq_length", min(default, loaded.config.max_position_embeddings)
            )
        if length < SPECIAL_TOKENS:
            raise UserError(
                f"--max_seq_length={length} must be at least {SPECIAL_TOKENS}: [CLS], a token, [SEP]"
            )
        loaded.config.check_sequence_length(length, "--max_seq_length")
        self.max_seq_length = length
        self.prompt = loaded.vectors.prompt() if loaded.vectors else ""
        self.notes: list[str] = list(loaded.notes)
        self.truncated = 0
        self._batch_size = settings.batch_size
        self._prediction: Callable[[Examples], dict[str, np.ndarray]] | None = None

    def load(self, loaded: Checkpoint, model) -> None:
        """Sets `model`, with the weights of the checkpoint, and `load_report`.

        Raises:
          UserError: the weights can't be read or do not fit; the head or the pooler that it stands
            on is not whole.
        """
        source = loaded.source
        if (
            self.head
            and HEADS[self.head].reads == "pooled_output"
            and POOLER[0].original not in source.tensors
        ):
            raise UserError(
                f"{source.description} has no pooler ({POOLER[0].original}), which a {HEADS[self.head].title} "
                "stands on"
            )
        self.model = model
        self.load_report = (
            load_with_head(model, loaded, self.head) if self.head else load_weights(model, source)
        )

    @property
    def takes_pairs(self) -> bool:
        """Whether an input may be two texts, on a line with a tab between them."""
        return any(len(layout) == 2 for layout in self.layouts)

    def check(self, value: object) -> object:
        """An input as `examples` and `predict` take it; here its texts, a tuple.

        Raises:
          UserError: it can't be used; the message says why, and leaves to the caller which of the
            inputs it is.
        """
        return texts_of(value, self.layouts)

    def examples(self, inputs: list) -> Examples:
        """What the model sees of inputs that were checked, at least one, by the exact tokenizer."""
        features = encode_pairs(
            self.tokenizer,
            [self.prompt + texts[0] for texts in inputs],
            [texts[1] if len(texts) > 1 else "" for texts in inputs],
            self.max_seq_length,
        )
        self.truncated += features.truncated
        return Examples(
            {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
            features.row_lengths,
        )

    @abc.abstractmethod
    def model_outputs(self, features: dict) -> dict:
        """What `predict` needs of the model.

        Args:
          features: int32 "input_ids", "input_mask" and "segment_ids", [B, S] each.

        Returns:
          name → float32 [B, ...], or [B, S, ...] for those in `token_outputs`.
        """

    @abc.abstractmethod
    def predict(self, inputs: list) -> list[dict]:
        """Results for JSON of inputs that were checked, at least one, in their order."""

    def prepare(self) -> None:
        """Traces the graph that `predict` runs, so that nobody waits for it later."""
        if self._prediction is None:
            self._prediction = local_prediction(
                self.model_outputs,
                self._batch_size,
                lengths_for(self.max_seq_length, few=False),
                self.token_outputs,
            )

    def run(self, examples: Examples) -> dict[str, np.ndarray]:
        """`model_outputs` of all examples: [E, ...], or [T, ...] for `token_outputs`, in the order
        of the examples."""
        self.prepare()
        return self._prediction(examples)

    def sample_input(self, texts: list[str]) -> tuple:
        """An input made of the first of some texts, a value for each of `text_inputs`: an export is
        tried on it."""
        return tuple(texts[: len(self.text_inputs)])

    def serve_texts(self, *texts) -> dict:
        """The signature "serving_default" of an export: string [B] for each of `text_inputs` →
        outputs, [B, ...] each."""
        return self.serve_token_ids(self.pack(*texts))

    def serve_token_ids(self, features: dict) -> dict:
        """The signature "token_ids" of an export: features as of `model_outputs` → outputs, [B,
        ...] each."""
        return self.model_outputs(features)

    def reference_features(self, inputs: list) -> dict[str, np.ndarray]:
        """What `serve_token_ids` has to be given for inputs that were checked, by the exact
        tokenizer: int32 [B, S]."""
        examples = self.examples(inputs)
        return padded_features(examples.tokens, examples.row_lengths, self.vocabulary)

    @functools.cached_property
    def graph_tokenizer(self) -> GraphTokenizer:
        """Made when it is needed: predictions don't."""
        return GraphTokenizer(self.vocabulary, self.tokenizer.do_lower_case, self.special_tokens)

    def pack(self, *texts) -> dict:
        """One or two string [B] → int32 "input_ids", "input_mask" and "segment_ids" [B, S], in a
        graph."""
        tokens = self.tokenize(*([self.prompt + texts[0], *texts[1:]] if self.prompt else texts))
        return pack(
            tokens[0].ids,
            tokens[1].ids if len(tokens) > 1 else None,
            self.max_seq_length,
            self.vocabulary,
            self.lose,
        )

    def tokenize(self, *texts) -> list[Tokens]:
        """Tokens of each of several string [B]; in one go, as every operation costs as much as a
        short text."""
        tokens = self.graph_tokenizer(tf.concat(texts, 0))
        rows = [None, *(number * tf.shape(texts[0])[0] for number in range(1, len(texts))), None]
        splits = [None, *(tokens.ids.row_splits[row] for row in rows[1:-1]), None]
        return [
            Tokens(
                tokens.ids[rows[number] : rows[number + 1]],
                tokens.starts[splits[number] : splits[number + 1]],
                tokens.ends[splits[number] : splits[number + 1]],
            )
            for number in range(len(texts))
        ]


def padded_features(
    tokens: Mapping[str, np.ndarray], row_lengths: np.ndarray, vocabulary: Vocabulary
) -> dict[str, np.ndarray]:
    """Sequences as the model reads them: int32 "input_ids", "input_mask" and "segment_ids" [B, S].

    Args:
      tokens: "input_ids" and "segment_ids" [T] of B sequences of `row_lengths`, int64 [B],
        concatenated.
      vocabulary: for the id of [PAD].
    """
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
    """The texts of an input; `layouts` as of `TaskInference`.

    Raises:
      UserError: another type, number of texts, or other keys; half a surrogate pair in a text.
    """
    expected = " or ".join(
        json.dumps(dict.fromkeys(layout, "…"), ensure_ascii=False) for layout in layouts
    )
    if isinstance(value, Mapping):
        layout = next((layout for layout in layouts if set(layout) == set(value)), None)
        if layout is None:
            keys = ", ".join(map(repr, value)) or "none"
            raise UserError(f"the keys are {keys}; expected is {expected}")
        texts = tuple(value[key] for key in layout)
    else:
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, tuple | list):
            raise UserError(f"a {type(value).__name__} is no text; expected is {expected}")
        layout = next((layout for layout in layouts if len(layout) == len(texts)), None)
        if layout is None:
            raise UserError(
                f"{len(texts)} text{'' if len(texts) == 1 else 's'} given; expected is {expected}"
            )
    for key, text in zip(layout, texts, strict=True):
        if not isinstance(text, str):
            raise UserError(f"{key} is a {type(text).__name__}, a text is expected")
        check_text(text)
    return tuple(texts)


def to_json(value: float) -> float:
    """A float32 with the seven digits that it has."""
    if not math.isfinite(value):
        raise UserError(
            "the model's outputs are not all finite numbers: its weights are damaged; take another checkpoint"
        )
    return float(f"{value:.7g}")
