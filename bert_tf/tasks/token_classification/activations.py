"""Cache of the activations of a frozen encoder at the words of a file: computed once, mapped into memory.

  .activation_cache/<name>.bin     [W, N, H] of N layers, 0 being the embeddings
  .activation_cache/<name>.json    their manifest: what they were made from, and how many windows are done

Input: the windows of a split, and a function that computes their activations. Output: an array. What was made from the
same is used, a computation that was interrupted is resumed, everything else is computed again.
"""

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.tasks import run_inputs
from bert_tf.training.run_directory import ACTIVATIONS
from data_gen.labelled.word_windows import WordWindows

# Of the files; raised when their content changes.
_VERSION = 3
# Windows between two records of how far the computation is.
_WINDOWS_AT_ONCE = 256


class LayersOf:
  """Some of the layers of stored activations, read when batches are made: indexed by words as an array [W, n, H] is."""

  def __init__(self, stored: np.ndarray, columns: Sequence[int]):
    self._stored, self._columns = stored, np.array(columns)
    self.dtype, self.shape = stored.dtype, (len(stored), len(columns), stored.shape[2])

  def __getitem__(self, words: np.ndarray) -> np.ndarray:
    return self._stored[words[..., None], self._columns]


def stored_activations(output_dir: str, name: str, windows: WordWindows, layers: Sequence[int],
                       all_layers: Sequence[int], hidden_size: int, made_from: Mapping[str, object], precision: str,
                       compute: Callable[[int, int], np.ndarray], log: Callable[[str], None]) -> LayersOf:
  """The activations of a split in the cache of a run or a selection, computed as far as they are not there.

  Args:
    layers: numbers of those that are needed, 0 for the embeddings.
    all_layers: of those that are computed where something is missing; contains `layers`.
    made_from: everything that the activations depend on, for JSON.
    compute: (first window, end) → [words of these windows, all_layers, H].

  Returns:
    [W, layers, H].

  Raises:
    UserError: the disk is full, or the directory can't be written; the activations computed so far are kept.
  """
  directory = os.path.join(output_dir, ACTIVATIONS)
  path, record_path = (os.path.join(directory, f"{name}.{extension}") for extension in ("bin", "json"))
  sources = {**made_from, "precision": precision, "words": windows.num_words, "hidden_size": hidden_size}
  stored_layers, done = list(all_layers), 0
  try:
    found = run_inputs.read_manifest(record_path, _VERSION, sources, {"layers": list[int], "windows": int})
    whole = found["windows"] == len(windows)
    if set(layers) <= set(found["layers"]) and (whole or found["layers"] == stored_layers):
      stored_layers, done = found["layers"], found["windows"]
  except UserError:
    pass
  row_bytes = len(stored_layers) * hidden_size * np.dtype(precision).itemsize
  if done < len(windows):
    resumed = f"; {done:,} of {len(windows):,} windows are done" if done else ""
    log(f"{name}: activations of {windows.num_words:,} words, {windows.num_words * row_bytes / 2**20:,.0f} MiB"
        f"{resumed}")
    # Written and not mapped: a full disk is an error there, and no signal.
    with files.user_error(f"activations can't be kept in {path}"):
      os.makedirs(directory, exist_ok=True)
      if not done and os.path.exists(record_path):
        # Of the file's former content.
        os.remove(record_path)
      with (open(path, "r+b" if done else "wb") as file,
            Progress(f"{name} activations", len(windows), "window", done) as progress):
        size = len(words_of(windows, 0, done)) * row_bytes
        content = run_inputs.file_digest(path, size)
        file.seek(file.truncate(size))
        while done < len(windows):
          last = min(done + _WINDOWS_AT_ONCE, len(windows))
          block = compute(done, last).tobytes()
          file.write(block)
          content.update(block)
          file.flush()
          os.fsync(file.fileno())
          progress.advance(last - done)
          done = last
          run_inputs.write_manifest(
              record_path, _VERSION, sources, {os.path.basename(path): (file.tell(), content.hexdigest())},
              layers=stored_layers, windows=done)
  stored = np.memmap(path, precision, "r", shape=(windows.num_words, len(stored_layers), hidden_size))
  return LayersOf(np.asarray(stored), [stored_layers.index(layer) for layer in layers])


def words_of(windows: WordWindows, first: int, end: int) -> range:
  """The words that the windows `first` … `end` - 1 score: windows and words are in the same order."""
  starts = np.concatenate([[0], np.cumsum(windows.row_lengths)])
  return range(*np.searchsorted(windows.positions, starts[[first, end]]).tolist())
