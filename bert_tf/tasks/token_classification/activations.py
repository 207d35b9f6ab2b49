"""Cache of the activations of a frozen encoder at the words of a file: computed once, mapped into memory.

  .activation_cache/CACHEDIR.TAG   marks the directory as ours, and for programs that make backups as a cache
  .activation_cache/<name>.bin     [W, N, H] of N layers, 0 being the embeddings
  .activation_cache/<name>.json    what they were made from, how many windows are done, the digest of the bytes

Input: the windows of a split, and what computes their activations. Output: an array. A file is believed where all it
was made from and all of its bytes agree with its record; what an interruption has left of it is resumed, everything
else is computed again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_common import directories, files, json_files
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.labelled.word_windows import WordWindows

_DIRECTORY = ".activation_cache"
_TAG_FILE = "CACHEDIR.TAG"
# The signature is that of the cache directory tagging specification (bford.info/cachedir).
_TAG = ("Signature: 8a477f597d28d172789f06886806bc55\n"
        "# Activations of run_ner.py --feature_based. They are computed again where they are missing.\n")
# Of the files; raised when what is in them changes.
_FORMAT = 1
_RECORD_FIELDS = {"made_from": dict, "windows": int, "sha256": str}
# Windows between two records of how far the computation is.
_WINDOWS_AT_ONCE = 256
_READ_BYTES = 1 << 24


class LayersOf:
  """Some of the layers of stored activations, read when batches are made: indexed by words as an array [W, n, H] is."""

  def __init__(self, stored: np.ndarray, columns: Sequence[int]):
    self._stored, self._columns = stored, np.array(columns)
    self.dtype, self.shape = stored.dtype, (len(stored), len(columns), stored.shape[2])

  def __getitem__(self, words: np.ndarray) -> np.ndarray:
    return self._stored[words[..., None], self._columns]


class ActivationCache:
  """The cache of a run, or of all runs of a selection.

  Raises:
    UserError: the directory is not local, or holds a directory of the cache's name that this project has not made.
  """

  def __init__(self, output_dir: str):
    if files.is_remote(output_dir):
      raise UserError(f"--output_dir={output_dir}: activations are mapped into memory, which needs a local disk")
    self.directory = os.path.join(output_dir, _DIRECTORY)
    self._is_ours()
    # What has been verified or computed in this process: name → what it was made from, and the array.
    self._opened: dict[str, tuple[dict, np.ndarray]] = {}

  def states(self, name: str, windows: WordWindows, layers: Sequence[int], all_layers: Sequence[int], hidden_size: int,
             made_from: Mapping[str, object], precision: str, compute: Callable[[int, int], np.ndarray],
             log: Callable[[str], None]) -> LayersOf:
    """The activations of a split, computed as far as they are not there.

    Args:
      layers: numbers of those that are needed, 0 for the embeddings.
      all_layers: of those that are computed where something is missing; contains `layers`.
      compute: (first window, end) → [words of these windows, all_layers, H].

    Returns:
      [W, layers, H].

    Raises:
      UserError: the disk is full, or the directory can't be written; what is done so far is kept.
    """
    # As it is when it is read again.
    made_from = json.loads(json.dumps({
        **made_from, "format": _FORMAT, "precision": precision, "words": windows.num_words,
        "hidden_size": hidden_size, "layers": list(all_layers)}))
    there = self._find(name, made_from, layers, windows)
    if there is None:
      there = made_from, self._compute(name, made_from, windows, compute, log)
    self._opened[name] = there
    found, stored = there
    return LayersOf(stored, [found["layers"].index(layer) for layer in layers])

  def _find(self, name: str, made_from: dict, layers: Sequence[int], windows: WordWindows
            ) -> tuple[dict, np.ndarray] | None:
    """What is complete, was made from the same and has all the layers; None where there is no such file."""
    def fits(found: dict) -> bool:
      return ({**found, "layers": None} == {**made_from, "layers": None} and isinstance(found.get("layers"), list)
              and all(layer in found["layers"] for layer in layers))

    if name in self._opened and fits(self._opened[name][0]):
      return self._opened[name]
    record = self._record(name)
    if not record or not fits(record["made_from"]) or record["windows"] != len(windows):
      return None
    found = record["made_from"]
    return None if self._verified_digest(name, record, windows) is None else (found, self._map(name, found))

  def _compute(self, name: str, made_from: dict, windows: WordWindows, compute: Callable[[int, int], np.ndarray],
               log: Callable[[str], None]) -> np.ndarray:
    """Resumes after the last window that is recorded; by writes, as a full disk is an error there and not a signal."""
    self._make_directory()
    path, record, done = self._path(name, "bin"), self._record(name), 0
    digest = self._verified_digest(name, record, windows) if record.get("made_from") == made_from else None
    if digest is not None:
      done = record["windows"]
    else:
      digest = _digest_of(made_from)
      _remove_file(path)
    log(f"{name}: activations of {windows.num_words:,} words, {_num_bytes(made_from, windows) / 2**20:,.0f} MiB"
        f"{f'; {done:,} of {len(windows):,} windows are done' if done else ''}")
    with (files.user_error(f"activations can't be kept in {path}"), open(path, "r+b" if done else "xb") as file,
          Progress(f"{name} activations", len(windows), "window", done) as progress):
      file.seek(file.truncate(_num_bytes(made_from, windows, done)))
      while done < len(windows):
        last = min(done + _WINDOWS_AT_ONCE, len(windows))
        values = compute(done, last).tobytes()
        file.write(values)
        file.flush()
        os.fsync(file.fileno())
        digest.update(values)
        progress.advance(last - done)
        done = last
        json_files.write(self._path(name, "json"), {
            "made_from": made_from, "windows": done, "sha256": digest.hexdigest()})
    return self._map(name, made_from)

  def _map(self, name: str, made_from: dict) -> np.ndarray:
    shape = made_from["words"], len(made_from["layers"]), made_from["hidden_size"]
    return np.asarray(np.memmap(self._path(name, "bin"), made_from["precision"], "r", shape=shape))

  def _record(self, name: str) -> dict:
    """What is known of a file; empty where nothing is, or the record is damaged."""
    if not self._is_ours() or os.path.islink(self._path(name, "bin")):
      return {}
    try:
      return json_files.read_object(self._path(name, "json"), _RECORD_FIELDS)
    except UserError:
      return {}

  def _verified_digest(self, name: str, record: dict, windows: WordWindows):
    """The hash of what was made from what and of the recorded bytes, to be continued; None where they are others."""
    made_from, done = record["made_from"], record["windows"]
    if not 0 < done <= len(windows):
      return None
    digest, left = _digest_of(made_from), _num_bytes(made_from, windows, done)
    try:
      with open(self._path(name, "bin"), "rb") as file:
        while left > 0 and (block := file.read(min(left, _READ_BYTES))):
          digest.update(block)
          left -= len(block)
        is_whole = left == 0 and (done < len(windows) or not file.read(1))
    except OSError:
      return None
    return digest if is_whole and digest.hexdigest() == record["sha256"] else None

  def _path(self, name: str, extension: str) -> str:
    return os.path.join(self.directory, f"{name}.{extension}")

  def _is_ours(self) -> bool:
    """Whether the directory is there."""
    if not os.path.lexists(self.directory):
      return False
    try:
      with open(os.path.join(self.directory, _TAG_FILE), encoding="utf-8", errors="replace") as file:
        is_ours = file.read(len(_TAG) + 1) == _TAG
    except OSError:
      is_ours = False
    if not is_ours:
      raise UserError(f"{self.directory} is there and is no cache of activations ({_TAG_FILE} is missing in it): move "
                      "it away, or choose another --output_dir")
    return True

  def _make_directory(self) -> None:
    if not self._is_ours():
      with directories.new_directory(self.directory, "output_dir") as directory, open(
          os.path.join(directory, _TAG_FILE), "x", encoding="utf-8") as file:
        file.write(_TAG)


def words_of(windows: WordWindows, first: int, end: int) -> range:
  """The words that the windows `first` … `end` - 1 score: windows and words are in the same order."""
  starts = np.concatenate([[0], np.cumsum(windows.row_lengths)])
  return range(*np.searchsorted(windows.positions, starts[[first, end]]).tolist())


def _digest_of(made_from: dict):
  return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode())


def _num_bytes(made_from: dict, windows: WordWindows, done: int | None = None) -> int:
  """Of the first `done` windows; None for all."""
  words = len(words_of(windows, 0, len(windows) if done is None else done))
  return words * len(made_from["layers"]) * made_from["hidden_size"] * np.dtype(made_from["precision"]).itemsize


def _remove_file(path: str) -> None:
  """Of the cache: a link goes, never what it points to."""
  if os.path.lexists(path):
    with files.user_error(f"can't write {path}"):
      os.remove(path)
