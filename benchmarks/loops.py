"""What is around a peer's model in fine-tuning: epochs of batches, made in the background."""

import itertools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from bert_tf.training.examples import Examples, assemble, epoch_batches

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
    warm_up = one_of_each_shape(examples, planned, lengths)
    for batch in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
      run_batch(batch)
    self._run_batch = run_batch
    self._batches = _in_background(assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def __call__(self, steps: int) -> None:
    for batch in itertools.islice(self._batches, steps):
      self._run_batch(batch)


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))


def one_of_each_shape(examples: Examples, planned: Iterable[np.ndarray], lengths: np.ndarray) -> list[dict]:
  """Of batches of these examples one of each shape; those of several texts are cut to the lengths of the texts."""
  batches = (assemble(examples, chosen, len(chosen), lengths) for chosen in planned)
  return list({(batch["input_ids"].shape, tuple(batch.get("text_lengths", [()])[0])): batch
               for batch in batches}.values())


def known_labels(batch: dict) -> np.ndarray:
  """"label_ids" with -1 for tokens that are not scored: also the padding, which batches have 0 for."""
  labels = batch["label_ids"]
  return np.where(batch["input_mask"] == 1, labels, -1) if labels.shape == batch["input_mask"].shape else labels


def _in_background(batches: Iterator[dict]) -> Iterator[dict]:
  """The same batches, a few of them made ahead in a thread."""
  made: queue.Queue[dict | None] = queue.Queue(_BATCHES_AHEAD)

  def make() -> None:
    for batch in batches:
      made.put(batch)
    made.put(None)

  threading.Thread(target=make, daemon=True).start()
  return iter(made.get, None)
