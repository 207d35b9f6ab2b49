"""The layer against the tokenizer and the features of fine-tuning."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.common.errors import UserError
from data_gen.labelled.pair_features import encode_pairs
from modeling.classification import BertForClassification
from modeling.encoder import BertEncoder
from modeling.preprocessing.preprocessor import BertPreprocessor
from tests.data_gen.tokenization.common import TOKENIZERS
from tests.modeling.common import SMALL

TOKENIZER = TOKENIZERS[True]
FIRST = ["the un a . b", "", "É no c", "the the the the the the the the"]
SECOND = ["no it is", "a b", "", "un un un un un un"]
CONFIG = SMALL.__class__(**{**SMALL.to_dict(), "vocab_size": len(TOKENIZER.vocabulary)})


def exact(first, second, length, width=None):
  """The features of fine-tuning, padded to the longest or to `width`."""
  rows = encode_pairs(TOKENIZER, first, second, length)
  width = width or rows.row_lengths.max()
  mask = np.arange(width) < rows.row_lengths[:, None]
  ids, segments = np.full(mask.shape, TOKENIZER.vocabulary.pad_id), np.zeros(mask.shape, int)
  ids[mask], segments[mask] = rows.input_ids, rows.segment_ids
  return {"input_ids": ids, "input_mask": mask.astype(int), "segment_ids": segments}


def assert_same(found, expected):
  assert list(found) == list(expected)
  for name, value in expected.items():
    assert found[name].dtype == tf.int32
    np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("second", [None, SECOND])
@pytest.mark.parametrize("fixed", [False, True])
def test_ids_are_those_of_fine_tuning(second, fixed):
  layer = BertPreprocessor(TOKENIZER, max_seq_length=9, pad_to_max_length=fixed)
  expected = exact(FIRST, second, 9, 9 if fixed else None)
  assert_same(layer(FIRST if second is None else (FIRST, second)), expected)
  # Arrays, and columns of strings, as `keras.Input((1,), dtype="string")` gives them.
  as_arrays = [np.array(texts)[:, None] for texts in ([FIRST] if second is None else [FIRST, second])]
  assert_same(layer(as_arrays[0] if second is None else as_arrays), expected)
  dataset = tf.data.Dataset.from_tensor_slices(FIRST if second is None else (FIRST, second)).batch(4)
  batches = list(dataset.map(lambda *texts: layer(texts[0] if second is None else texts)))
  assert_same(batches[0], expected)
  again = BertPreprocessor.from_config(layer.get_config())
  assert_same(again(FIRST if second is None else (FIRST, second)), expected)


def test_a_model_takes_strings_and_is_saved_with_its_vocabulary(tmp_path):
  layer = BertPreprocessor(TOKENIZER, max_seq_length=12)
  texts, others = (keras.Input((), dtype="string", name=name) for name in ("first", "second"))
  logits = BertForClassification(CONFIG, 3)(layer([texts, others]))
  model = keras.Model([texts, others], logits)
  inputs = [tf.constant(FIRST), tf.constant(SECOND)]
  expected = model(inputs)
  np.testing.assert_allclose(expected, BertForClassification(CONFIG, 3)(exact(FIRST, SECOND, 12)), atol=1e-5)
  model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
  model.fit(inputs, np.array([0, 1, 2, 0]), verbose=0)
  path = str(tmp_path / "model.keras")
  model.save(path)
  loaded = keras.models.load_model(path)
  np.testing.assert_array_equal(loaded(inputs), model(inputs))
  assert not np.array_equal(model(inputs), expected)


def test_vocabularies_come_from_files_tokens_and_checkpoints(tmp_path):
  tokens = TOKENIZER.vocabulary.tokens
  (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
  BertEncoder(CONFIG).save_checkpoint(
      str(tmp_path / "model"), vocab_file=str(tmp_path / "vocab.txt"), do_lower_case=False)
  lower, cased = BertPreprocessor(tokens), BertPreprocessor.from_checkpoint(str(tmp_path / "model"), max_seq_length=7)
  assert (lower.do_lower_case, cased.do_lower_case, cased.max_seq_length) == (True, False, 7)
  assert BertPreprocessor(TOKENIZERS[False]).do_lower_case is False
  assert_same(BertPreprocessor(str(tmp_path / "vocab.txt"))(FIRST), exact(FIRST, None, 128))
  BertEncoder(CONFIG).save_checkpoint(str(tmp_path / "bare"))
  with pytest.raises(UserError, match="there is no vocab.txt beside the checkpoint"):
    BertPreprocessor.from_checkpoint(str(tmp_path / "bare"))
  with pytest.raises(UserError, match="max_seq_length is 2: it must be at least 3"):
    BertPreprocessor(tokens, max_seq_length=2)
  with pytest.raises(UserError, match="a batch of strings, or a pair of two batches"):
    lower([["a"], ["b"], ["c"]])
