"""Which of several choices is right, with a trained model: predictions, and the graphs of an
export.

Input: a run directory of `run_swag.py`, or a model of others (`BertForMultipleChoice` of Hugging
Face). Output: the choice and the probabilities of all.

Letters: B questions, K choices of the question that has most, S tokens of the longest sequence.
"""

import json
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.tasks.inference import TaskInference, check_text, to_json
from bert_tf.tasks.multiple_choice.data import KIND
from bert_tf.training.examples import Examples
from data_gen.labelled.multiple_choice import FEWEST_CHOICES, MOST_CHOICES, pair
from data_gen.labelled.pair_features import END, START_OF_A, encode_pairs
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import MISSING, BertForMultipleChoice

_EXPECTED = json.dumps({"context": "…", "choices": ["…", "…"]}, ensure_ascii=False)


class MultipleChoiceInference(TaskInference):
    """{"prediction": number, "choice": text, "probabilities": [...]} of a context and its choices.

    An input is {"context", "choices"}, {"question", "choices"} or {"context", "question",
    "choices"}; or a pair of a context and its choices.
    """

    head = "multiple_choice"
    kinds = (KIND,)
    default_length = 128
    layouts = (("context", "choices"), ("question", "choices"), ("context", "question", "choices"))
    text_inputs = ("context", "choices")
    text_shapes = {"choices": (None, None)}
    token_ids_shape = (None, None, None)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        self.prompt = ""
        self.lose = START_OF_A if (loaded.task or {}).get("truncate") == "context_start" else END
        self.load(loaded, BertForMultipleChoice(loaded.config))

    takes_pairs = False

    def check(self, value: object) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
        """The choices, and the two texts of each."""
        if isinstance(value, tuple | list) and len(value) == 2:
            value = dict(zip(self.text_inputs, value, strict=True))
        if not isinstance(value, Mapping) or not any(
            set(layout) == set(value) for layout in self.layouts
        ):
            what = (
                f"the keys are {', '.join(map(repr, value)) or 'none'}"
                if isinstance(value, Mapping)
                else f"a {type(value).__name__} is no question with choices"
            )
            raise UserError(
                f'{what}; expected is {_EXPECTED}, with a "question" beside or in place of the context where '
                "there is one"
            )
        context, question, choices = (
            value.get("context", ""),
            value.get("question", ""),
            value["choices"],
        )
        if not isinstance(choices, list | tuple) or not all(
            isinstance(one, str) for one in (context, question, *choices)
        ):
            raise UserError(
                f"choices must be a list of texts, the others texts; expected is {_EXPECTED}"
            )
        for text in (context, question, *choices):
            check_text(text)
        if not (context.strip() or question.strip()) or not all(map(str.strip, choices)):
            raise UserError("there is neither a context nor a question, or a choice is empty")
        if not FEWEST_CHOICES <= len(choices) <= MOST_CHOICES:
            raise UserError(
                f"choices has {len(choices)} texts, {FEWEST_CHOICES} to {MOST_CHOICES} are expected"
            )
        return tuple(choices), [pair(context, question, choice) for choice in choices]

    def examples(self, inputs: list) -> Examples:
        """Every choice as an example of its own."""
        pairs = [texts for _, rows in inputs for texts in rows]
        features = encode_pairs(
            self.tokenizer,
            [first for first, _ in pairs],
            [second for _, second in pairs],
            self.max_seq_length,
            lose=self.lose,
        )
        numbers = np.repeat(np.arange(len(inputs)), [len(rows) for _, rows in inputs])
        self.truncated += len(np.unique(numbers[features.is_truncated]))
        return Examples(
            {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
            features.row_lengths,
        )

    def model_outputs(self, features: dict) -> dict:
        """float32 "scores" [number of choices]."""
        return {"scores": self.model.scores(features)}

    def predict(self, inputs: list) -> list[dict]:
        scores = self.run(self.examples(inputs))["scores"]
        ends = np.cumsum([len(choices) for choices, _ in inputs])
        results = []
        for (choices, _), row in zip(inputs, np.split(scores, ends[:-1]), strict=True):
            exponentials = np.exp(row.astype(np.float64) - row.max())
            results.append(
                {
                    "prediction": int(row.argmax()),
                    "choice": choices[int(row.argmax())],
                    "probabilities": [
                        to_json(value) for value in exponentials / exponentials.sum()
                    ],
                }
            )
        return results

    def reference_features(self, inputs: list) -> dict[str, np.ndarray]:
        """int32 [B, K, S] each; choices that a question does not have are all padding."""
        rows = super().reference_features(inputs)
        counts = np.array([len(choices) for choices, _ in inputs])
        is_there = np.arange(counts.max()) < counts[:, None]
        features = {}
        for name, values in rows.items():
            features[name] = np.zeros((*is_there.shape, values.shape[1]), np.int32)
            features[name][is_there] = values
        return features

    def sample_input(self, texts: list[str]) -> tuple:
        return texts[0], texts[1:4]

    def serve_texts(self, context, choices) -> dict:
        """float32 "probabilities" [B, K] and int32 "prediction" [B], of string [B] and [B, K]; an
        empty choice is none."""
        is_there = tf.strings.length(tf.strings.strip(choices)) > 0
        places = tf.where(is_there)
        features = self.pack(tf.gather(context, places[:, 0]), tf.gather_nd(choices, places))
        scores = tf.tensor_scatter_nd_update(
            tf.fill(tf.shape(choices), MISSING), places, self.model_outputs(features)["scores"]
        )
        return _probabilities(scores, is_there)

    def serve_token_ids(self, features: dict) -> dict:
        """As `serve_texts`, of int32 [B, K, S] each; a choice without any token in its mask is
        none."""
        shape = tf.shape(features["input_ids"])
        scores = self.model_outputs(
            {name: tf.reshape(value, [-1, shape[2]]) for name, value in features.items()}
        )["scores"]
        is_there = tf.reduce_any(features["input_mask"] > 0, axis=2)
        return _probabilities(tf.where(is_there, tf.reshape(scores, shape[:2]), MISSING), is_there)


def _probabilities(scores, is_there) -> dict:
    """float32 "probabilities" [B, K], 0 where nothing is; int32 "prediction" [B]."""
    probabilities = tf.where(is_there, tf.nn.softmax(scores), 0.0)
    return {
        "probabilities": probabilities,
        "prediction": tf.argmax(scores, 1, output_type=tf.int32),
    }
