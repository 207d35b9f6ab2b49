"""Windows of long texts: against a plain loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.labelled.text_windows import encode_windows
from tests.data_gen.tokenization.common import TOKENIZERS

TOKENIZER = TOKENIZERS[True]
SENTENCES = st.lists(st.sampled_from(["un", "able", "unable", "the", "!", " ", ""]), max_size=30).map(" ".join)


def plain(text, max_seq_length, stride):
  """The windows of a text, token by token."""
  tokens, room = TOKENIZER.encode(text).tolist(), max_seq_length - 2
  windows, start = [], 0
  while True:
    if start + room >= len(tokens):
      windows.append(tokens[max(len(tokens) - room, 0):])
      break
    windows.append(tokens[start:start + room])
    start += stride
  vocabulary = TOKENIZER.vocabulary
  return [[vocabulary.cls_id, *window, vocabulary.sep_id] for window in windows]


@settings(deadline=None, max_examples=50)
@given(st.lists(SENTENCES, max_size=8), st.integers(3, 12), st.data())
def test_every_window_is_that_of_a_plain_loop(texts, max_seq_length, data):
  stride = data.draw(st.integers(1, max_seq_length - 2))
  features = encode_windows(TOKENIZER, texts, max_seq_length, stride)
  expected = [plain(text, max_seq_length, stride) for text in texts]
  assert features.window_counts.tolist() == list(map(len, expected))
  rows = np.split(features.input_ids, np.cumsum(features.row_lengths)[:-1]) if expected else []
  assert [row.tolist() for row in rows] == [window for windows in expected for window in windows]
  assert (features.input_ids.dtype, features.row_lengths.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("stride", [0, 9])
def test_strides_that_leave_tokens_out(stride):
  with pytest.raises(ValueError, match="it must be from 1 to 8"):
    encode_windows(TOKENIZER, ["the"], 10, stride)
