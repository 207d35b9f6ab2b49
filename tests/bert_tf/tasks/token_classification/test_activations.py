"""The cache of activations: what is used, resumed and computed again."""

import shutil

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.tasks.token_classification import activations
from bert_tf.tasks.token_classification.activations import stored_activations, words_of
from data_gen.labelled.word_windows import WordPieces, WordWindows, make_windows
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tests.full_disk import full_disk

LENGTHS = np.array([3, 0, 2, 7, 1, 5, 4])
HIDDEN, LAYERS = 4, (0, 2, 3)
MADE_FROM = {"encoder": "abc", "max_seq_length": 6}


@pytest.fixture
def windows(tmp_path, monkeypatch) -> WordWindows:
  monkeypatch.setattr(activations, "_WINDOWS_AT_ONCE", 2)
  count = int(LENGTHS.sum())
  pieces = WordPieces(np.full(count, 5, np.int32), np.ones(count, np.int64), 0)
  return make_windows(pieces, LENGTHS, None, Vocabulary([*SPECIAL_TOKENS, "a"]), max_seq_length=6)


def read(output_dir, windows, layers=(0, 3), fails_at=None, offset=0, **changes) -> tuple[np.ndarray, int]:
  """The activations in the cache, and for how many windows the encoder was run: layer n of word w is w + n / 10."""
  seen = 0

  def compute(first: int, end: int) -> np.ndarray:
    nonlocal seen
    if fails_at is not None and end > fails_at:
      raise KeyboardInterrupt
    seen += end - first
    words = np.array(words_of(windows, first, end)) + offset
    values = words[:, None, None] + np.array(LAYERS)[:, None] / 10
    return np.broadcast_to(values, (len(words), len(LAYERS), HIDDEN)).astype(np.float32)

  found = stored_activations(str(output_dir), "dev", windows, layers, LAYERS, HIDDEN, {**MADE_FROM, **changes},
                             "float32", compute, lambda line: None)
  return found[np.arange(found.shape[0])], seen


@pytest.fixture
def expected(tmp_path, windows) -> np.ndarray:
  """A cache that is complete."""
  found, seen = read(tmp_path, windows)
  assert seen == len(windows) > 4 and found.shape == (LENGTHS.sum(), 2, HIDDEN)
  np.testing.assert_allclose(found[:, :, 1], np.arange(len(found))[:, None] + [0, 0.3])
  return found


def test_what_is_there_is_not_computed_again(tmp_path, windows, expected):
  for layers in ((0, 3), (3,), (3, 0)):
    found, seen = read(tmp_path, windows, layers)
    np.testing.assert_array_equal(found, expected[:, [(0, 3).index(layer) for layer in layers]])
    assert seen == 0


def test_activations_of_something_else_are_computed_again(tmp_path, windows, expected):
  assert read(tmp_path, windows, encoder="abd")[1] == len(windows)
  assert read(tmp_path, windows, encoder="abd")[1] == 0
  assert read(tmp_path, windows)[1] == len(windows)
  # Those of another encoder that were not finished are not taken for these.
  with pytest.raises(KeyboardInterrupt):
    read(tmp_path, windows, encoder="abd", offset=100, fails_at=2)
  found, seen = read(tmp_path, windows)
  assert seen == len(windows)
  np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name, damage", [
    ("dev.bin", lambda old: old[:-7]), ("dev.bin", lambda old: old[:-1] + b"?"), ("dev.json", lambda old: b"{"),
    ("dev.json", lambda old: b'{"made_from": {"layers": [0, 3]}, "windows": 7}')])
def test_a_file_that_is_not_what_was_written_is_computed_again(tmp_path, windows, expected, name, damage):
  path = tmp_path / ".activation_cache" / name
  path.write_bytes(damage(path.read_bytes()))
  found, seen = read(tmp_path, windows)
  assert seen == len(windows)
  np.testing.assert_array_equal(found, expected)


def test_a_computation_that_was_interrupted_is_resumed(tmp_path, windows, expected):
  directory = tmp_path / ".activation_cache"
  whole = (directory / "dev.bin").read_bytes()
  shutil.rmtree(directory)
  with pytest.raises(KeyboardInterrupt):
    read(tmp_path, windows, fails_at=4)
  with open(directory / "dev.bin", "ab") as file:
    file.write(b"half a block")
  found, seen = read(tmp_path, windows)
  assert seen == len(windows) - 4 and (directory / "dev.bin").read_bytes() == whole


def test_a_disk_that_is_full_and_has_room_again(tmp_path, windows):
  with full_disk(600), pytest.raises(UserError, match="activations can't be kept in .*dev.bin: File too large"):
    read(tmp_path, windows)
  found, seen = read(tmp_path, windows)
  assert 0 < seen < len(windows) and found[-1, 1, 0] == pytest.approx(LENGTHS.sum() - 1 + 0.3)
