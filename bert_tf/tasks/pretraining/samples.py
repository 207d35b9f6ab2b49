"""Masks of an evaluation as the model fills them, for people to read.

Input: a batch of records and the model's logits for it. Output: lines of `eval_samples.jsonl`:
{"text", "true", "predicted", "probability"}; the text has "____" where the model fills.
"""

from collections.abc import Mapping

import numpy as np

from bert_tf.evaluation.classification import softmax
from data_gen.tokenization.vocabulary import Vocabulary

_MOST_SAMPLES = 20
# Tokens on each side of a mask.
_CONTEXT = 12


def filled_masks(
    features: Mapping[str, np.ndarray], logits: np.ndarray, vocabulary: Vocabulary
) -> list[dict]:
    """Returns the first [MASK] of each row as the model fills it.

    Args:
      features: int "input_ids" [B, S], "masked_lm_positions" and "masked_lm_ids" [B, P], float
        "masked_lm_weights" [B, P].
      logits: float [B, P, V].
    """
    samples = []
    for row, ids in enumerate(features["input_ids"][:_MOST_SAMPLES]):
        positions = features["masked_lm_positions"][row]
        is_used = features["masked_lm_weights"][row] > 0
        at_mask = np.flatnonzero(is_used & (ids[positions] == vocabulary.mask_id))
        if not len(at_mask):
            continue
        index = at_mask[0]
        position = int(positions[index])
        before = ids[max(position - _CONTEXT, 0) : position]
        after = ids[position + 1 : position + 1 + _CONTEXT]
        probabilities = softmax(logits[row, index])
        best = int(probabilities.argmax())
        samples.append(
            {
                "text": f"{_text(before, vocabulary)} ____ {_text(after, vocabulary)}",
                "true": vocabulary.tokens[features["masked_lm_ids"][row, index]],
                "predicted": vocabulary.tokens[best],
                "probability": float(probabilities[best]),
            }
        )
    return samples


def _text(ids: np.ndarray, vocabulary: Vocabulary) -> str:
    """Returns tokens as words, without padding."""
    tokens = [vocabulary.tokens[id] for id in ids[ids != vocabulary.pad_id]]
    return " ".join(tokens).replace(" ##", "")
