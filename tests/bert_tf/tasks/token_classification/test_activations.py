"""The cache of activations: what is believed, resumed, computed again and left alone."""

import json
import shutil

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.tasks.token_classification import activations
from bert_tf.tasks.token_classification.activations import ActivationCache, words_of
from data_gen.labelled.word_windows import WordPieces, WordWindows, make_windows
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tests.full_disk import full_disk

LENGTHS = np.array([3, 0, 2, 7, 1, 5, 4])
HIDDEN = 4
MADE_FROM = {"encoder": "abc", "max_seq_length": 6}


class Encoder:
  """Counts the windows that it is asked for; layer n of word w is w + n / 10."""

  def __init__(self, windows: WordWindows, layers: tuple[int, ...], fails_at: int | None = None):
    self.windows, self.layers, self.fails_at, self.seen = windows, layers, fails_at, 0

  def __call__(self, first: int, end: int) -> np.ndarray:
    if self.fails_at is not None and end > self.fails_at:
      raise KeyboardInterrupt
    self.seen += end - first
    words = np.array(words_of(self.windows, first, end))
    values = words[:, None, None] + np.array(self.layers)[:, None] / 10
    return np.broadcast_to(values, (len(words), len(self.layers), HIDDEN)).astype(np.float32)


@pytest.fixture
def windows(tmp_path, monkeypatch) -> WordWindows:
  monkeypatch.setattr(activations, "_WINDOWS_AT_ONCE", 2)
  (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, "a"]) + "\n")
  count = int(LENGTHS.sum())
  pieces = WordPieces(np.full(count, 5, np.int32), np.ones(count, np.int64), 0)
  return make_windows(pieces, LENGTHS, None, Vocabulary.from_file(str(tmp_path / "vocab.txt")), max_seq_length=6)


@pytest.fixture
def output_dir(tmp_path):
  (tmp_path / "out").mkdir()
  return tmp_path / "out"


def read(output_dir, windows, layers=(0, 3), fails_at=None, **changes) -> tuple[np.ndarray, int]:
  """What the cache gives, and for how many windows the encoder was run."""
  encoder = Encoder(windows, (0, 2, 3), fails_at)
  found = ActivationCache(str(output_dir)).states(
      "dev", windows, layers, encoder.layers, HIDDEN, {**MADE_FROM, **changes}, "float32", encoder, lambda line: None)
  return found[np.arange(found.shape[0])], encoder.seen


@pytest.fixture
def expected(output_dir, windows) -> np.ndarray:
  """What is in a cache that is complete."""
  found, seen = read(output_dir, windows)
  assert seen == len(windows) > 4 and found.shape == (LENGTHS.sum(), 2, HIDDEN)
  np.testing.assert_allclose(found[:, :, 1], np.arange(len(found))[:, None] + [0, 0.3])
  return found


def test_what_is_there_is_not_computed_again(output_dir, windows, expected):
  for layers in ((0, 3), (3,), (3, 0)):
    found, seen = read(output_dir, windows, layers)
    np.testing.assert_array_equal(found, expected[:, [(0, 3).index(layer) for layer in layers]])
    assert seen == 0
  assert (output_dir / ".activation_cache/CACHEDIR.TAG").read_text().startswith(
      "Signature: 8a477f597d28d172789f06886806bc55")


def test_activations_of_something_else_are_computed_again(output_dir, windows, expected):
  assert read(output_dir, windows, encoder="abd")[1] == len(windows)
  assert read(output_dir, windows, encoder="abd")[1] == 0
  assert read(output_dir, windows)[1] == len(windows)


def _damage(data, record, kind: str) -> None:
  values, state = bytearray(data.read_bytes()), json_files.read(str(record))
  if kind == "truncated":
    data.write_bytes(values[:-7])
  elif kind == "edited":
    values[100] ^= 1
    data.write_bytes(values)
  elif kind == "longer":
    data.write_bytes(values + b"more")
  elif kind == "missing":
    data.unlink()
  elif kind == "foreign":
    data.write_bytes(b"\x93NUMPY" + bytes(200))
  elif kind == "damaged record":
    record.write_text("{")
  elif kind == "another record":
    record.write_text("[]")
  elif kind == "other layers":
    state["made_from"]["layers"].reverse()
    record.write_text(json.dumps(state))
  elif kind == "no layers":
    state["made_from"]["layers"] = [[1]]
    record.write_text(json.dumps(state))
  elif kind == "more windows":
    record.write_text(json.dumps(state | {"windows": 10**9}))


@pytest.mark.parametrize("kind", ["truncated", "edited", "longer", "missing", "foreign", "damaged record",
                                  "another record", "other layers", "no layers", "more windows"])
def test_a_file_that_is_not_what_was_written_is_not_believed(output_dir, windows, expected, kind):
  directory = output_dir / ".activation_cache"
  _damage(directory / "dev.bin", directory / "dev.json", kind)
  found, seen = read(output_dir, windows)
  assert seen == len(windows)
  np.testing.assert_array_equal(found, expected)


def test_a_computation_that_was_interrupted_is_resumed(output_dir, windows, expected):
  directory = output_dir / ".activation_cache"
  whole = (directory / "dev.bin").read_bytes()
  shutil.rmtree(directory)
  with pytest.raises(KeyboardInterrupt):
    read(output_dir, windows, fails_at=4)
  with open(directory / "dev.bin", "ab") as file:
    file.write(b"half a block")
  found, seen = read(output_dir, windows)
  assert seen == len(windows) - 4 and (directory / "dev.bin").read_bytes() == whole
  # Of what is edited in between nothing is taken.
  with pytest.raises(KeyboardInterrupt):
    read(output_dir, windows, fails_at=4, encoder="abd")
  values = bytearray((directory / "dev.bin").read_bytes())
  values[0] ^= 1
  (directory / "dev.bin").write_bytes(values)
  assert read(output_dir, windows, encoder="abd")[1] == len(windows)


def test_nothing_of_the_users_is_touched(output_dir, windows, expected, tmp_path):
  directory = output_dir / ".activation_cache"
  (tmp_path / "users").write_bytes((directory / "dev.bin").read_bytes())
  (directory / "dev.bin").unlink()
  (directory / "dev.bin").symlink_to(tmp_path / "users")
  before = (tmp_path / "users").read_bytes()
  assert read(output_dir, windows, encoder="abd")[1] == len(windows)
  assert (tmp_path / "users").read_bytes() == before and not (directory / "dev.bin").is_symlink()
  (directory / "CACHEDIR.TAG").unlink()
  with pytest.raises(UserError, match="is no cache of activations .CACHEDIR.TAG is missing in it.: move it away"):
    ActivationCache(str(output_dir))


def test_a_disk_that_is_full_and_has_room_again(output_dir, windows):
  with full_disk(600), pytest.raises(UserError, match="activations can't be kept in .*dev.bin: File too large"):
    read(output_dir, windows)
  found, seen = read(output_dir, windows)
  assert 0 < seen < len(windows) and found[-1, 1, 0] == pytest.approx(LENGTHS.sum() - 1 + 0.3)


def test_a_directory_that_is_not_local():
  with pytest.raises(UserError, match="activations are mapped into memory, which needs a local disk"):
    ActivationCache("gs://bucket/run")
