"""What is around a peer's model: epochs of batches made in the background; SQuAD's windows and answers in plain Python.

The peers themselves are in tensorflow_peers.py and pytorch_peers.py.
"""

import itertools
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator

import numpy as np

from bert_tf.training.examples import Examples, assemble, epoch_batches
from data_gen.labelled.squad import read_squad
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.squad import reference_features
from tests.oracles.squad_answers import reference_answers
from tests.oracles.tokenizer import ReferenceTokenizer

SQUAD_LENGTHS = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}
_WARM_UP_STEPS = 2
_BATCHES_AHEAD = 2


class EpochLoop:
  """Runs a peer over endless epochs of full batches, the next ones being made in a thread meanwhile.

  Args:
    run_batch: the program: what it does with a batch, which ends with a result on the host.
    examples, batch_size: of which batches are made.
    lengths: what batches are padded to, in ascending order.
    steps: how many there will be; a batch of each of their shapes is run at once.
    grouped: batches are of similar lengths, as ours: random pools of 50 batches, sorted.
  """

  def __init__(self, run_batch: Callable[[dict], object], examples: Examples, batch_size: int, lengths, steps: int,
               grouped: bool):
    lengths, make_epoch = np.asarray(lengths), epoch_batches if grouped else random_epoch
    epochs = (make_epoch(examples.lengths, batch_size, 0, epoch) for epoch in itertools.count())
    planned = list(itertools.islice(itertools.chain.from_iterable(epochs), steps))
    warm_up = list({np.searchsorted(lengths, examples.lengths[chosen].max()): chosen for chosen in planned}.values())
    for chosen in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
      run_batch(assemble(examples, chosen, batch_size, lengths))
    self._run_batch = run_batch
    self._batches = _in_background(assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def __call__(self, steps: int) -> None:
    for batch in itertools.islice(self._batches, steps):
      self._run_batch(batch)


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))


def known_labels(batch: dict) -> np.ndarray:
  """"label_ids" with -1 for tokens that are not scored: also the padding, which batches have 0 for."""
  labels = batch["label_ids"]
  return np.where(batch["input_mask"] == 1, labels, -1) if labels.shape == batch["input_mask"].shape else labels


def plain_squad(outputs_of: Callable, input_file: str, vocab_file: str, output_dir: str, batch_size: int,
                grouped: bool) -> Callable[[], int]:
  """A SQuAD prediction with a peer's model and the original's way of making windows and answers, in plain Python.

  It begins with the files on the disk, vocabulary included, ends with the answers on the disk, and returns the number
  of windows.

  Args:
    outputs_of: ids, mask and segments, int32 [B, S] → logits of starts and of ends, [B, S].
    input_file, vocab_file, output_dir: of the prediction.
    batch_size: B.
    grouped: sort the windows by length, and pad each batch to its longest one instead of to the full length.
  """
  def predict() -> int:
    data = read_squad(input_file, "input_file")
    tokenizer = ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens)
    features = list(reference_features(data, tokenizer, **SQUAD_LENGTHS, training=False))
    counts = [len(feature["tokens"]) for feature in features]
    order = sorted(range(len(features)), key=lambda number: -counts[number]) if grouped else range(len(features))
    logits: list[tuple[list, list]] = [([], [])] * len(features)
    for first in range(0, len(features), batch_size):
      chosen = order[first:first + batch_size]
      length = counts[chosen[0]] if grouped else SQUAD_LENGTHS["max_seq_length"]
      ids, mask, segments = (np.zeros((len(chosen), length), np.int32) for _ in range(3))
      for row, number in enumerate(chosen):
        count = counts[number]
        ids[row, :count] = [tokenizer.ids[token] for token in features[number]["tokens"]]
        mask[row, :count] = 1
        segments[row, :count] = features[number]["segment_ids"]
      for number, start, end in zip(chosen, *outputs_of(ids, mask, segments), strict=True):
        logits[number] = start.tolist(), end.tolist()
    answers = reference_answers(data, features, *zip(*logits, strict=True), tokenizer)
    for name, contents in (("predictions", {id: nbest[0]["text"] for id, nbest in answers.items()}),
                           ("nbest_predictions", answers)):
      with open(os.path.join(output_dir, f"{name}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(contents, indent=4) + "\n")
    return len(features)

  return predict


def _in_background(batches: Iterator[dict]) -> Iterator[dict]:
  """The same batches, a few of them made ahead in a thread."""
  made: queue.Queue[dict | None] = queue.Queue(_BATCHES_AHEAD)

  def make() -> None:
    for batch in batches:
      made.put(batch)
    made.put(None)

  threading.Thread(target=make, daemon=True).start()
  return iter(made.get, None)
