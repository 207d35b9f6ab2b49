"""Fills [MASK]s in texts with the masked-LM head of any checkpoint that has one: predictions,
exports, `fill_mask.py`.

Input: texts with masks. Output: for each mask the most probable tokens.
"""

import re
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common import progress
from bert_common.errors import UserError
from bert_tf.inference.options import MASK, FillMaskOptions, InferenceSettings, check_masks
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.training.examples import Examples
from data_gen.labelled.tables import decoded_lines
from modeling.checkpoints.load import Checkpoint, open_checkpoint
from modeling.pretraining import BertForPreTraining

# A mask, and after it what it hides, as create_pretraining_data.py shows it.
_HIDDEN = re.compile(rf"{re.escape(MASK)}(?:\{{([^{{}}\s]+)\}})?")
# Masks whose scores of the whole vocabulary are in memory together.
_MASKS_AT_ONCE = 128


class Candidate(NamedTuple):
    """A token for a masked position, with its probability."""

    token: str
    probability: float


class MaskInference(TaskInference):
    """{"text": …, "masks": [[{"token": …, "probability": …}, …], …]} of a text, a list for each of
    its masks."""

    head = "masked_lm"
    layouts = (("text",),)
    special_tokens = True
    token_outputs = ("sequence_output",)

    def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
        super().__init__(loaded, settings)
        self._config = loaded.config
        self._top_k = min(settings.top_k, len(self.vocabulary))
        self.load(loaded, BertForPreTraining(loaded.config))

    def check(self, value: object) -> tuple[str, np.ndarray]:
        """The text and the ids of its tokens, int32 [S], truncated."""
        (text,) = super().check(value)
        ids = self._token_ids(text)
        kept = ids
        if len(ids) > self.max_seq_length:
            kept = np.concatenate([ids[: self.max_seq_length - 1], ids[-1:]])
            self.truncated += 1
        if self.vocabulary.mask_id not in kept:
            within = "" if kept is ids else f" within its first {self.max_seq_length - 2} tokens"
            raise UserError(f"there is no {MASK} in the text{within}")
        return text, kept

    def examples(self, inputs: list[tuple[str, np.ndarray]]) -> Examples:
        ids = np.concatenate([ids for _, ids in inputs])
        return Examples(
            {"input_ids": ids, "segment_ids": np.zeros_like(ids)},
            np.array([len(ids) for _, ids in inputs]),
        )

    def model_outputs(self, features: dict) -> dict:
        """float32 "sequence_output" [B, S, H]: the scores of a vocabulary for every token would be
        many."""
        return {"sequence_output": self.model.encode(features)["sequence_output"]}

    def predict(self, inputs: list[tuple[str, np.ndarray]]) -> list[dict]:
        filled = self._fill(self.examples(inputs))
        return [
            {
                "text": text,
                "masks": [
                    [
                        {"token": candidate.token, "probability": to_json(candidate.probability)}
                        for candidate in candidates
                    ]
                    for candidates in masks
                ],
            }
            for (text, _), masks in zip(inputs, filled, strict=True)
        ]

    def fill(self, text: str) -> list[list[Candidate]]:
        """For each [MASK] of a text, from left to right, `top_k` candidates, the most probable
        first; raises `UserError` where there is none, or the text has more tokens than the position
        table."""
        check_masks(text)
        ids = self._token_ids(text)
        self._config.check_sequence_length(len(ids), "the text's number of tokens")
        return self._fill(self.examples([(text, ids)]))[0]

    def serve_token_ids(self, features: dict) -> dict:
        """For P masks in the row that has most of them, from left to right: string "tokens" [B, P,
        top_k], the most probable first, and float32 "probabilities" [B, P, top_k]; rows with fewer
        masks end with "" and 0. And int32 "mask_count" [B]."""
        is_mask = tf.equal(features["input_ids"], self.vocabulary.mask_id) & (
            features["input_mask"] > 0
        )
        counts = tf.math.count_nonzero(is_mask, 1, dtype=tf.int64)
        columns = tf.RaggedTensor.from_row_lengths(tf.where(is_mask)[:, 1], counts, validate=False)
        positions = columns.to_tensor()  # [B, P]
        exists = tf.ones_like(columns, tf.bool).to_tensor()[:, :, None]
        best, ids = self._best_tokens(
            self.model.encode(features)["sequence_output"], positions
        )  # [B, P, top_k]
        return {
            "tokens": tf.where(exists, tf.gather(tf.constant(self.vocabulary.tokens), ids), ""),
            "probabilities": tf.where(exists, best, 0.0),
            "mask_count": tf.cast(counts, tf.int32),
        }

    def _token_ids(self, text: str) -> np.ndarray:
        """[CLS] text [SEP], int32 [S], of any length."""
        ids = self.tokenizer.encode(text, special_tokens=True)
        return np.concatenate([[self.vocabulary.cls_id], ids, [self.vocabulary.sep_id]]).astype(
            np.int32
        )

    def _fill(self, examples: Examples) -> list[list[list[Candidate]]]:
        """For each example, for each of its masks the candidates."""
        is_mask = examples.tokens["input_ids"] == self.vocabulary.mask_id
        masked = self.run(examples)["sequence_output"][is_mask]  # [masks, H]
        candidates = []
        for start in range(0, len(masked), _MASKS_AT_ONCE):
            vectors = masked[start : start + _MASKS_AT_ONCE]
            best = (
                ops.convert_to_numpy(one)[0]
                for one in self._best_tokens(vectors[None], np.arange(len(vectors))[None])
            )
            candidates += [
                [
                    Candidate(self.vocabulary.token_of(int(token)), float(probability))
                    for probability, token in zip(*one, strict=True)
                ]
                for one in zip(*best, strict=True)
            ]
        masks_before = np.concatenate([[0], np.cumsum(is_mask)])[
            np.concatenate([[0], np.cumsum(examples.row_lengths)])
        ]
        return [
            candidates[first:last]
            for first, last in zip(masks_before[:-1], masks_before[1:], strict=True)
        ]

    def _best_tokens(self, sequence_output, positions):
        """float32 [B, S, H], int [B, P] → the `top_k` most probable tokens there: values and
        indices [B, P, top_k]."""
        logits = self.model.masked_lm(
            sequence_output,
            positions,
            ops.convert_to_tensor(self.model.encoder.embeddings.word_embeddings),
        )
        return ops.top_k(ops.softmax(logits), self._top_k)


def load_mask_filler(options: FillMaskOptions) -> MaskInference:
    """The masked-LM head of a checkpoint, for `MaskInference.fill`."""
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    return MaskInference(
        loaded,
        InferenceSettings(
            top_k=options.top_k, max_seq_length=loaded.config.max_position_embeddings
        ),
    )


def run(options: FillMaskOptions) -> None:
    """Prints the candidates for every mask, and the texts with the best ones, for `fill_mask.py`.

    In `The [MASK]{cat} is [MASK].` what a mask hides stands after it: right and wrong ones are
    marked.
    """
    given = options.sentences or [
        line.strip()
        for _, line in decoded_lines(sys.stdin.buffer, "standard input")
        if line.strip()
    ]
    if not given:
        raise UserError('no sentence: give one, e.g. "Paris is the [MASK] of France."')
    for text in given:
        check_masks(text)
    filler = load_mask_filler(options)
    vocabulary, paint = filler.vocabulary, progress.painter(sys.stdout)
    for number, marked in enumerate(given):
        if number:
            print()
        text, hidden = _HIDDEN.sub(MASK, marked), _HIDDEN.findall(marked)
        masks, styles = filler.fill(text), []
        print(text)
        for index, (candidates, word) in enumerate(zip(masks, hidden, strict=True)):
            if len(masks) > 1:
                print(f"  mask {index + 1}")
            # The word itself, or a piece that is written with its ##.
            tokens = (
                [word]
                if word in vocabulary
                else [*map(vocabulary.token_of, filler.tokenizer.encode(word))]
            )
            right = tokens[0] if word and len(tokens) == 1 and tokens != ["[UNK]"] else None
            for candidate in candidates:
                line = f"  {candidate.probability:7.1%}  {candidate.token}"
                print(paint(f"{line}  ✓", progress.RIGHT) if candidate.token == right else line)
            if not word:
                styles.append(progress.MARKED)
                continue
            styles.append(progress.RIGHT if candidates[0].token == right else progress.WRONG)
            if right is None:
                print(paint(f"  ✗ {word} is no single token of the vocabulary", progress.WRONG))
            elif right not in [candidate.token for candidate in candidates]:
                print(
                    paint(f"  ✗ {right} is not among the first {len(candidates)}", progress.WRONG)
                )
        print(f"  → {filled(text, [candidates[0].token for candidates in masks], styles, paint)}")


def filled(
    text: str,
    tokens: Sequence[str],
    styles: Sequence[str] | None = None,
    paint: Callable[[str, str], str] = lambda text, style: text,
) -> str:
    """The text with a token for each mask, a ## piece joined to the word before it; `paint` takes
    each with its style (`bert_common/progress.py`)."""
    for number, token in enumerate(tokens):
        style = styles[number] if styles else progress.MARKED
        if token.startswith("##") and f" {MASK}" in text:
            text = text.replace(f" {MASK}", paint(token.removeprefix("##"), style), 1)
        else:
            text = text.replace(MASK, paint(token, style), 1)
    return text
