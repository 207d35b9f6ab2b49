"""The same sequences packed and unpacked, for tests of both."""

import numpy as np
import tensorflow as tf

from bert_tf.tasks.pretraining.data import parser
from data_gen.pretraining.masking import predictions_of
from data_gen.pretraining.packing import pack, put_in_rows, space_needed
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.records import read_records
from data_gen.pretraining.schema import Schema
from modeling.config import BertConfig
from tests.data_gen.pretraining.packed_rows import split_row


def sequences_of(
    length: np.ndarray, width: int, predictions: int, vocab_size: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Features of unpacked records of random tokens, [B, ...]."""
    rng = np.random.default_rng(seed)
    count = predictions_of(length, 0.15, predictions)
    column = np.arange(width)
    real = column < length[:, None]
    used = np.arange(predictions) < count[:, None]
    return {
        "input_ids": rng.integers(5, vocab_size, real.shape) * real,
        "input_mask": real.astype(int),
        "segment_ids": ((column > length[:, None] // 2) & real).astype(int),
        "masked_lm_positions": rng.integers(1, length[:, None], used.shape) * used,
        "masked_lm_ids": rng.integers(5, vocab_size, used.shape) * used,
        "masked_lm_weights": used.astype(np.float32),
        "next_sentence_labels": rng.integers(0, 2, (len(length), 1)),
    }


def pack_features(
    features: dict[str, np.ndarray], most: int, seed: int = 0
) -> tuple[Schema, dict[str, np.ndarray]]:
    """The rows that hold the sequences, and their schema."""
    width, predictions = features["input_ids"].shape[1], features["masked_lm_ids"].shape[1]
    length, count = features["input_mask"].sum(1), (features["masked_lm_weights"] > 0).sum(1)
    packs = pack(
        length,
        space_needed(length, count, width, predictions),
        width,
        most,
        np.random.default_rng(seed),
    )
    schema = Schema(width, predictions, most)
    return schema, put_in_rows(features, length, packs, schema)


def parsed(
    schema: Schema, features: dict[str, np.ndarray], config: BertConfig, folder
) -> dict[str, tf.Tensor]:
    """What training makes of records with these features."""
    path = folder / "records"
    path.write_bytes(RecordWriter(schema, config.vocab_size).encode(features))
    assert sum(
        len(split_row({name: value[row] for name, value in features.items()}))
        for row in range(len(features["input_ids"]))
    ) >= len(features["input_ids"])
    return parser(schema, config)(list(read_records(str(path))))
