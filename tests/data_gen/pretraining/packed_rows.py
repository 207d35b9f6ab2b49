"""Packed records as the sequences they are made of."""

from collections.abc import Mapping

import numpy as np

from data_gen.pretraining.schema import FEATURES, MASK_FEATURES


def split_row(features: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """The sequences of a record of `read_examples`, under the original's names; itself if it is not
    packed."""
    no_masks = {name: np.zeros(0, FEATURES[name]) for name in MASK_FEATURES}
    if "next_sentence_positions" not in features:
        return [{**no_masks, **features}]
    sequences = []
    for number, begin in enumerate(features["next_sentence_positions"], 1):
        mine = features["input_mask"] == number
        if not mine.any():
            break
        sequence = {
            "input_ids": features["input_ids"][mine],
            "input_mask": np.ones(mine.sum(), np.int64),
            "segment_ids": features["segment_ids"][mine],
            **no_masks,
            "next_sentence_labels": features["next_sentence_labels"][number - 1 : number],
        }
        if "masked_lm_ids" in features:
            chosen = mine[features["masked_lm_positions"]] & (features["masked_lm_weights"] > 0)
            sequence |= {name: features[name][chosen] for name in MASK_FEATURES}
            sequence["masked_lm_positions"] = sequence["masked_lm_positions"] - begin
        sequences.append(sequence)
    return sequences
