"""Fills [MASK]s in texts with the masked-LM head of any checkpoint that has one: predictions,
exports, `fill_mask.py`.

Input: texts with masks. Output: for each mask the most probable tokens.
"""

import itertools
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common.errors import UserError, say
from bert_common.text_lines import decoded_lines
from bert_tf.inference.options import MASK, FillMaskOptions, InferenceSettings, check_masks
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.training.examples import Examples
from modeling.checkpoints.load import Checkpoint, open_checkpoint
from modeling.pretraining import BertForPreTraining

# Masks whose scores of the whole vocabulary are in memory together.
_MASKS_AT_ONCE = 128


class Candidate(NamedTuple):
    """A token for a masked position, with its probability."""

    token: str
    probability: float


class MaskInference(TaskInference):
    """Predicts {"text": …, "masks": [[{"token": …, "probability": …}, …], …]} for a text, a list of
    candidates for each of its masks."""

    head = "masked_lm"
    layouts = (("text",),)
    special_tokens = True
    token_outputs = ("sequence_output",)

    def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
        super().__init__(loaded, settings)
        self._config = loaded.config
        self._mask_id = self.vocabulary.mask_id
        self._top_k = min(settings.top_k, len(self.vocabulary))
        self.load(loaded, BertForPreTraining(loaded.config))

    def check(self, value: object) -> tuple[str, np.ndarray]:
        """Returns the text and the ids of its tokens, int32 [S], truncated."""
        (text,) = super().check(value)
        all_ids = self._token_ids(text)
        ids = all_ids
        where = "in the text"
        if len(all_ids) > self.max_seq_length:
            # The last token is [SEP].
            ids = np.concatenate([all_ids[: self.max_seq_length - 1], all_ids[-1:]])
            where = f"in the text within its first {self.max_seq_length - 2} tokens"
            self.truncated += 1
        if self._mask_id not in ids:
            raise UserError(f"there is no {MASK} {where}")
        return text, ids

    def examples(self, inputs: list[tuple[str, np.ndarray]]) -> Examples:
        rows = [ids for _, ids in inputs]
        ids = np.concatenate(rows)
        # A text is a single segment.
        tokens = {"input_ids": ids, "segment_ids": np.zeros_like(ids)}
        return Examples(tokens, np.array([len(value) for value in rows]))

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "sequence_output" [B, S, H]."""
        # Scores of the whole vocabulary at every token would not fit into memory.
        return {"sequence_output": self.model.encode(features)["sequence_output"]}

    def predict(self, inputs: list[tuple[str, np.ndarray]]) -> list[dict]:
        results = []
        candidates_of_texts = self._fill(self.examples(inputs))
        for (text, _), masks in zip(inputs, candidates_of_texts, strict=True):
            lists = []
            for candidates in masks:
                lists.append(
                    [
                        {"token": token, "probability": to_json(probability)}
                        for token, probability in candidates
                    ]
                )
            results.append({"text": text, "masks": lists})
        return results

    def fill(self, text: str) -> list[list[Candidate]]:
        """Returns `top_k` candidates for each [MASK] of a text, from left to right, the most
        probable first.

        Raises:
          UserError: there is no mask, or the text has more tokens than the position table.
        """
        check_masks(text)
        ids = self._token_ids(text)
        self._config.check_sequence_length(len(ids), "the text's number of tokens")
        return self._fill(self.examples([(text, ids)]))[0]

    def serve_token_ids(self, features: dict) -> dict:
        """Returns string "tokens" and float32 "probabilities" [B, P, top_k] of the masks of each
        row, from left to right, the most probable first, and int32 "mask_count" [B].

        P is the largest number of masks; rows with fewer masks end with "" and 0.
        """
        is_mask = tf.equal(features["input_ids"], self._mask_id) & (features["input_mask"] > 0)
        counts = tf.math.count_nonzero(is_mask, 1, dtype=tf.int64)
        columns = tf.RaggedTensor.from_row_lengths(tf.where(is_mask)[:, 1], counts, validate=False)
        positions = columns.to_tensor()  # [B, P]
        # A ragged tensor of ones becomes false where rows were filled up.
        exists = tf.ones_like(columns, tf.bool).to_tensor()[:, :, None]
        sequence_output = self.model.encode(features)["sequence_output"]
        probabilities, ids = self._best_tokens(sequence_output, positions)  # [B, P, top_k]
        tokens = tf.gather(tf.constant(self.vocabulary.tokens), ids)
        return {
            "tokens": tf.where(exists, tokens, ""),
            "probabilities": tf.where(exists, probabilities, 0.0),
            "mask_count": tf.cast(counts, tf.int32),
        }

    def _token_ids(self, text: str) -> np.ndarray:
        """Returns [CLS] text [SEP], int32 [S], of any length."""
        ids = self.tokenizer.encode(text, special_tokens=True)
        row = np.concatenate([[self.vocabulary.cls_id], ids, [self.vocabulary.sep_id]])
        return row.astype(np.int32)

    def _fill(self, examples: Examples) -> list[list[list[Candidate]]]:
        """Returns the candidates for each of the masks of each example."""
        is_mask = examples.tokens["input_ids"] == self._mask_id
        masked = self.run(examples)["sequence_output"][is_mask]  # [masks, H]
        candidates = []
        for start in range(0, len(masked), _MASKS_AT_ONCE):
            vectors = masked[start : start + _MASKS_AT_ONCE]
            probabilities, ids = self._best_tokens(vectors[None], np.arange(len(vectors))[None])
            rows = zip(
                ops.convert_to_numpy(ids)[0],
                ops.convert_to_numpy(probabilities)[0],
                strict=True,
            )
            for token_ids, row in rows:
                candidates.append([])
                for token_id, probability in zip(token_ids.tolist(), row.tolist(), strict=True):
                    token = self.vocabulary.token_of(token_id)
                    candidates[-1].append(Candidate(token, probability))
        # Candidates are of all examples: split them by the number of masks of each.
        remaining = iter(candidates)
        fillings = []
        for row in np.split(is_mask, np.cumsum(examples.row_lengths)[:-1]):
            fillings.append(list(itertools.islice(remaining, int(row.sum()))))
        return fillings

    def _best_tokens(self, sequence_output, positions):
        """Returns probabilities and ids [B, P, top_k] of the most probable tokens at positions.

        Args:
          sequence_output: float32 [B, S, H].
          positions: int [B, P].
        """
        # The head's output matrix is the table of word embeddings.
        logits = self.model.masked_lm(
            sequence_output,
            positions,
            ops.convert_to_tensor(self.model.encoder.embeddings.word_embeddings),
        )
        # The table of embeddings may have more rows than there are tokens.
        probabilities = ops.softmax(logits)[..., : len(self.vocabulary)]
        return ops.top_k(probabilities, self._top_k)


def load_mask_filler(options: FillMaskOptions) -> MaskInference:
    """Loads the masked-LM head of a checkpoint, for `MaskInference.fill`; prints notes on it."""
    checkpoint = open_checkpoint(options.init_checkpoint, **options.companions())
    checkpoint.say_notes()
    # A text of a user is filled whole, as far as the model has positions.
    settings = InferenceSettings(
        top_k=options.top_k, max_seq_length=checkpoint.config.max_position_embeddings
    )
    return MaskInference(checkpoint, settings)


def run(options: FillMaskOptions) -> None:
    """Prints the candidates for every mask, and the texts with the best ones, for
    `fill_mask.py`."""
    texts = list(options.sentences)
    if not texts:
        lines = decoded_lines(sys.stdin.buffer, "standard input")
        texts = [line.strip() for _, line in lines if line.strip()]
    if not texts:
        raise UserError('no sentence: give one, e.g. "Paris is the [MASK] of France."')
    # Loading a checkpoint takes seconds: wrong texts are refused before it.
    for text in texts:
        check_masks(text)
    filler = load_mask_filler(options)
    for number, text in enumerate(texts):
        if number:
            say("")
        say(text)
        masks = filler.fill(text)
        best_tokens = []
        for index, candidates in enumerate(masks):
            best_tokens.append(candidates[0].token)
            if len(masks) > 1:
                say(f"  mask {index + 1}")
            for candidate in candidates:
                say(f"  {candidate.probability:7.1%}  {candidate.token}")
        say(f"  → {filled(text, best_tokens)}")


def filled(text: str, tokens: Sequence[str]) -> str:
    """Returns the text with a token for each mask, a ## piece joined to the word before it."""
    for token in tokens:
        # Masks are filled from left to right, each by the first that is left.
        mask = MASK
        if token.startswith("##") and f" {MASK}" in text:
            mask = f" {MASK}"
            token = token.removeprefix("##")
        text = text.replace(mask, token, 1)
    return text
