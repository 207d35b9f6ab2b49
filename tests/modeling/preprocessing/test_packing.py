"""Texts and pairs against `data_gen/labelled/pair_features.py`."""

import numpy as np
import pytest
import tensorflow as tf

from data_gen.labelled.pair_features import encode_pairs
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from modeling.preprocessing.packing import pack
from tests.data_gen.tokenization.common import TOKENIZERS

TOKENIZER = TOKENIZERS[True]
GRAPH = GraphTokenizer(TOKENIZER.vocabulary, True)


@pytest.mark.parametrize("max_seq_length", [3, 4, 5, 8, 9, 50])
@pytest.mark.parametrize("pairs", [False, True])
def test_rows_are_those_of_training(max_seq_length, pairs):
  lengths = [(a, b) for a in range(8) for b in range(8)]
  first, second = (["the un a . b c no é"[:2 * n] for n in column] for column in zip(*lengths, strict=True))
  second = second if pairs else None
  exact = encode_pairs(TOKENIZER, first, second, max_seq_length)
  found = pack(GRAPH(tf.constant(first)).ids, GRAPH(tf.constant(second)).ids if pairs else None, max_seq_length,
               TOKENIZER.vocabulary)
  mask = found["input_mask"].numpy().astype(bool)
  np.testing.assert_array_equal(mask.sum(1), exact.row_lengths)
  np.testing.assert_array_equal(found["input_ids"].numpy()[mask], exact.input_ids)
  np.testing.assert_array_equal(found["segment_ids"].numpy()[mask], exact.segment_ids)
  # Padded to the longest and not beyond.
  assert mask.shape[1] == exact.row_lengths.max()
  assert set(found["input_ids"].numpy()[~mask]) <= {TOKENIZER.vocabulary.pad_id}
