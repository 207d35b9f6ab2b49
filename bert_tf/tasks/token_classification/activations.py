"""Activations of a frozen encoder at the words of a file, computed once and kept in a file that is mapped into memory.

Input: windows of a split and an encoder. Output: `<split>.npy`, [W, N, H] of N layers, 0 being the embeddings; and
beside it `<split>.json`, which says of what they are and how many windows are done. An interrupted computation resumes
where it stopped, a file of something else is computed again. Of such arrays a tagger reads batches of whole sentences.
"""

import hashlib
import os
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from bert_tf.common import files, json_files
from bert_tf.common.errors import UserError
from bert_tf.common.progress import Progress
from bert_tf.tasks.token_classification.data import window_examples
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for, sorted_batches
from bert_tf.training.prediction import Prediction
from data_gen.labelled.word_windows import WordWindows
from data_gen.tokenization.vectorized import ragged_range
from modeling.encoder import BertEncoder

# Windows between two notes of how far it is.
_WINDOWS_AT_ONCE = 256


def encoder_states(outputs: dict, layers: tuple[int, ...]) -> list:
  """The outputs of layers, 0 the embeddings, 1 the first; [B, S, H] each."""
  return [outputs["embedding_output"] if layer == 0 else outputs[f"encoder_layer_{layer - 1}"] for layer in layers]


def stored_activations(directory: str, name: str, windows: WordWindows, encoder: BertEncoder, layers: tuple[int, ...],
                       precision: str, weights: str, batch_size: int, max_seq_length: int, devices: Devices,
                       log: Callable[[str], None], check_stop: Callable[[], None]) -> np.ndarray:
  """The activations of a split, mapped into memory; computed as far as they are not there.

  Args:
    directory: for the files; local.
    name: of the split.
    windows: in which every word stands once.
    encoder: with its weights.
    layers: numbers, 0 for the embeddings.
    precision: "float16" or "float32", of the file.
    weights: what tells the weights of the encoder from others.
    batch_size: windows of a batch.
    max_seq_length: most tokens of a window.
    devices: what to compute on.
    log: takes lines for the user.
    check_stop: called between batches; may raise to break off.

  Returns:
    [W, layers, H], read only.

  Raises:
    UserError: the directory is not local.
  """
  if files.is_remote(directory):
    raise UserError(f"--output_dir={directory}: activations are mapped into memory, which needs a local disk")
  path, record = os.path.join(directory, f"{name}.npy"), os.path.join(directory, f"{name}.json")
  shape = (windows.num_words, len(layers), encoder.config.hidden_size)
  what = {"of": _fingerprint(windows, weights), "layers": list(layers), "precision": precision, "shape": list(shape)}
  state = json_files.read(record) if files.exists(record) and files.exists(path) else {}
  done = state.get("windows", 0) if {key: state.get(key) for key in what} == what else 0
  if done < len(windows):
    os.makedirs(directory, exist_ok=True)
    array = (np.lib.format.open_memmap(path, mode="r+") if done else
             np.lib.format.open_memmap(path, mode="w+", dtype=precision, shape=shape))
    log(f"{name}: activations of {shape[0]:,} words, {array.nbytes / 2**20:,.0f} MiB"
        f"{f'; {done:,} of {len(windows):,} windows are done' if done else ''}")

    def outputs(features: dict) -> dict:
      found = encoder_states(encoder(features["input_ids"], features["input_mask"], features["segment_ids"]), layers)
      return {"states": tf.cast(tf.stack(found, axis=2), precision)}

    predict = Prediction(outputs, batch_size, lengths_for(max_seq_length, devices.jit_compile), devices.strategy,
                         devices.jit_compile, ("states",), check_stop)
    starts = np.concatenate([[0], np.cumsum(windows.row_lengths)])
    with Progress(f"{name} activations", len(windows), "window", done) as progress:
      while done < len(windows):
        last = min(done + _WINDOWS_AT_ONCE, len(windows))
        states = predict(_part(windows, starts, done, last))["states"]
        scored = slice(*np.searchsorted(windows.positions, [starts[done], starts[last]]))
        array[windows.words[scored]] = states[windows.positions[scored] - starts[done]]
        array.flush()
        progress.advance(last - done)
        done = last
        json_files.write(record, {**what, "windows": done})
    del array
  return np.load(path, mmap_mode="r")


def sentence_batch(activations: np.ndarray, lengths: np.ndarray, chosen: np.ndarray,
                   columns: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The activations of some sentences, padded to the longest of them.

  Args:
    activations: [W, N, H], of the words of all sentences.
    lengths: int [sentences], their words.
    chosen: int [B], numbers of sentences.
    columns: which of the N layers; None for all.

  Returns:
    vectors float32 [B, S, layers, H]; bool [B, S], where there is a word; int [words], which of the W these are.
  """
  starts = (np.cumsum(lengths) - lengths)[chosen]
  mask = np.arange(lengths[chosen].max()) < lengths[chosen][:, None]
  words = ragged_range(starts, lengths[chosen])
  stored = activations[words] if columns is None else activations[words][:, columns]
  vectors = np.zeros((*mask.shape, *stored.shape[1:]), np.float32)
  vectors[mask] = stored
  return vectors, mask, words


def score_sentences(score: Callable, activations: np.ndarray, lengths: np.ndarray, classes: int, batch_size: int,
                    columns: Sequence[int] | None = None, check_stop: Callable[[], None] = lambda: None) -> np.ndarray:
  """The probabilities of the tags of all words.

  Args:
    score: (vectors, mask) as of `sentence_batch` → float32 tensor [B, S, C].
    activations, lengths, columns: see there.
    classes: C.
    batch_size: B, at most.
    check_stop: called between batches; may raise to break off.

  Returns:
    float32 [W, C].
  """
  result = np.zeros((int(lengths.sum()), classes), np.float32)
  with_words = np.flatnonzero(lengths)
  for chosen in sorted_batches(lengths[with_words], batch_size):
    check_stop()
    vectors, mask, words = sentence_batch(activations, lengths, with_words[chosen], columns)
    result[words] = score(vectors, mask).numpy()[mask]
  return result


def _part(windows: WordWindows, starts: np.ndarray, first: int, last: int) -> Examples:
  whole = window_examples(windows)
  return Examples({name: values[starts[first]:starts[last]] for name, values in whole.tokens.items()},
                  windows.row_lengths[first:last])


def _fingerprint(windows: WordWindows, weights: str) -> str:
  digest = hashlib.sha256(weights.encode())
  for array in (windows.input_ids, windows.row_lengths, windows.positions, windows.words):
    digest.update(np.ascontiguousarray(array).tobytes())
  return digest.hexdigest()
