"""Predictions and exports of multiple choice: which of several choices is right.

Input: a run directory of `run_swag.py`, or a model of others (`BertForMultipleChoice` of Hugging
Face). Output: the choice and the probabilities of all.

Letters: B questions, K maximum number of choices of a question, S tokens of the longest sequence.
"""

import json
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError, listed
from bert_common.options import Options
from bert_tf.tasks.inference import (
    TaskInference,
    check_text,
    list_to_json,
    pair_examples,
    split_pairs,
)
from bert_tf.tasks.multiple_choice.data import KIND
from bert_tf.training.examples import Examples
from data_gen.labeled.multiple_choice import FEWEST_CHOICES, MOST_CHOICES, pair
from data_gen.labeled.pair_features import START_OF_A, encode_pairs
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import MISSING, BertForMultipleChoice

_EXPECTED = json.dumps({"context": "…", "choices": ["…", "…"]}, ensure_ascii=False)


class MultipleChoiceInference(TaskInference):
    """Choices: {"prediction": number, "choice": text, "probabilities": [...]}.

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
    # Its pairs are not two texts.
    takes_pairs = False

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        # Such models are trained without the prompts of sentence-transformers.
        self.prompt = ""
        if loaded.task_settings.get("truncate") == "context_start":
            self.truncation = START_OF_A
        self.load(loaded, BertForMultipleChoice(loaded.config))

    def check(self, value: object) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
        """Returns the choices, and the two texts of each."""
        if isinstance(value, tuple | list) and len(value) == 2:
            # Lines and Python calls may have a context and its choices without keys.
            value = {"context": value[0], "choices": value[1]}
        if not isinstance(value, Mapping):
            raise UserError(
                f"a {type(value).__name__} is no question with choices; expected is {_EXPECTED}"
            )
        if set(value) not in [set(layout) for layout in self.layouts]:
            raise UserError(
                f"the keys are {listed(value, repr)}; expected is {_EXPECTED}, with a "
                '"question" beside or in place of the context if there is one'
            )
        context = value.get("context", "")
        question = value.get("question", "")
        choices = value["choices"]
        if not isinstance(choices, list | tuple):
            raise UserError(f"choices must be a list of texts; expected is {_EXPECTED}")
        for text in (context, question, *choices):
            if not isinstance(text, str):
                raise UserError(
                    f"choices must be a list of texts, the others texts; expected is {_EXPECTED}"
                )
            check_text(text)
        is_empty = not context.strip() and not question.strip()
        if is_empty or not all(choice.strip() for choice in choices):
            raise UserError("there is neither a context nor a question, or a choice is empty")
        # The limits of the readers of files: a request must not ask for thousands of sequences.
        if not FEWEST_CHOICES <= len(choices) <= MOST_CHOICES:
            raise UserError(
                f"choices has {len(choices)} texts, {FEWEST_CHOICES} to {MOST_CHOICES} are expected"
            )
        return tuple(choices), [pair(context, question, choice) for choice in choices]

    def examples(self, inputs: list) -> Examples:
        """Encodes every choice as an example."""
        pairs = []
        question_numbers = []
        for number, (_, choice_pairs) in enumerate(inputs):
            pairs += choice_pairs
            question_numbers += [number] * len(choice_pairs)
        contexts, choices = split_pairs(pairs)
        features = encode_pairs(
            self.tokenizer, contexts, choices, self.max_seq_length, truncation=self.truncation
        )
        # Count questions: an input with several truncated choices lost tokens once.
        self.truncated += len(np.unique(np.array(question_numbers)[features.is_truncated]))
        return pair_examples(features)

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "scores" [number of choices]."""
        return {"scores": self.model.scores(features)}

    def predict(self, inputs: list) -> list[dict]:
        all_scores = self.run(self.examples(inputs))["scores"]
        results = []
        # Scores of all choices are concatenated, and questions may have different numbers of them.
        first = 0
        for choices, _ in inputs:
            scores = all_scores[first : first + len(choices)]
            first += len(choices)
            # Softmax over the choices of one question, shifted by the maximum so that nothing
            # overflows.
            exponentials = np.exp(scores.astype(np.float64) - scores.max())
            prediction = int(scores.argmax())
            results.append(
                {
                    "prediction": prediction,
                    "choice": choices[prediction],
                    "probabilities": list_to_json(exponentials / exponentials.sum()),
                }
            )
        return results

    def reference_features(self, inputs: list) -> dict[str, np.ndarray]:
        """Encodes checked inputs: int32 [B, K, S]; missing choices are all padding."""
        counts = np.array([len(choices) for choices, _ in inputs])
        is_choice = np.arange(counts.max()) < counts[:, None]
        features = {}
        for name, values in super().reference_features(inputs).items():
            features[name] = np.zeros((*is_choice.shape, values.shape[1]), np.int32)
            features[name][is_choice] = values
        return features

    def sample_input(self, texts: list[str]) -> tuple:
        return texts[0], texts[1:4]

    def serve_texts(self, context, choices) -> dict:
        """Signature "serving_default" for string [B] and [B, K]; an empty choice is missing.

        Returns:
          float32 "probabilities" [B, K] and int32 "prediction" [B].
        """
        is_choice = tf.strings.length(tf.strings.strip(choices)) > 0
        indices = tf.where(is_choice)
        features = self.pack(tf.gather(context, indices[:, 0]), tf.gather_nd(choices, indices))
        # A ragged tensor would need another signature: clients pad the choices with empty strings.
        missing = tf.fill(tf.shape(choices), MISSING)
        scores = self.model_outputs(features)["scores"]
        return _probabilities(tf.tensor_scatter_nd_update(missing, indices, scores), is_choice)

    def serve_token_ids(self, features: dict) -> dict:
        """Signature "token_ids" for int32 [B, K, S]; a choice without a token is missing.

        Returns:
          the outputs of `serve_texts`.
        """
        shape = tf.shape(features["input_ids"])
        rows = {}
        for name, value in features.items():
            rows[name] = tf.reshape(value, [-1, shape[2]])
        scores = tf.reshape(self.model_outputs(rows)["scores"], shape[:2])
        is_choice = tf.reduce_any(features["input_mask"] > 0, axis=2)
        return _probabilities(tf.where(is_choice, scores, MISSING), is_choice)


def _probabilities(scores, is_choice) -> dict:
    """Returns float32 "probabilities" [B, K], 0 for missing choices, and int32 "prediction" [B]."""
    # The softmax of a missing choice is tiny, but not exactly 0.
    probabilities = tf.where(is_choice, tf.nn.softmax(scores), 0.0)
    prediction = tf.argmax(scores, 1, output_type=tf.int32)
    return {"probabilities": probabilities, "prediction": prediction}
