"""What benchmarks give their programs: epochs of batches for peers; texts that every machine with this project's
environment holds, where no file was given.
"""

import dataclasses
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import Options, option

if TYPE_CHECKING:
  from bert_tf.training.examples import Examples

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = "vocab/english_uncased/vocab.txt"
_WARM_UP_STEPS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
  """Vocabulary."""

  vocab_file: str = option(str(PROJECT / VOCABULARY), "WordPiece vocabulary, uncased.", default_text=VOCABULARY)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
  """Text."""

  text_file: str | None = option(None, "English text, a paragraph a line; comma-separated patterns.",
                                 default_text="the docstrings of the installed packages")

  def lines(self) -> list[str]:
    """The lines of --text_file that are not blank, or sentences of docstrings.

    Raises:
      UserError: see `files.expand_patterns`; or a file is not UTF-8, or there is no text.
    """
    with tempfile.TemporaryDirectory() as folder:
      patterns, lines = self.text_file or docstring_corpus(folder), []
      for path in files.expand_patterns(patterns, "text_file"):
        try:
          with open(path, encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in file if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
          raise UserError(f"--text_file: can't read {path} as UTF-8 text: {error}") from None
    if not lines:
      raise UserError(f"--text_file: no text in {patterns}")
    return lines


def docstring_corpus(folder: str) -> str:
  """Writes a prepared corpus of the docstrings of the installed packages into a folder; returns its path."""
  docstrings, corpus = os.path.join(folder, "docstrings.jsonl"), os.path.join(folder, "docstrings.txt")
  for script, *flags in (("data_gen/extract_docstrings.py", f"--output_file={docstrings}"),
                         ("data_gen/prepare_corpus.py", f"--input_file={docstrings}", f"--output_file={corpus}")):
    subprocess.run([sys.executable, str(PROJECT / script), *flags], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
  return corpus


def epoch_loop(run_batch: Callable[[dict], object], examples: "Examples", batch_size: int, lengths: Sequence[int],
               steps: int, grouped: bool) -> Callable[[int], None]:
  """Runs a peer over so many more batches of endless epochs; a batch of each of their shapes is run at once.

  Args:
    run_batch: the program: what it does with a batch, which ends with a result on the host.
    examples, batch_size: of which batches are made.
    lengths: what batches are padded to, in ascending order.
    steps: how many there will be.
    grouped: batches are of similar lengths, as ours: random pools of 50 batches, sorted.
  """
  from bert_tf.training.examples import assemble, epoch_batches

  def random_batches(epoch: int) -> list[np.ndarray]:
    order = np.random.default_rng([0, epoch]).permutation(len(examples.lengths))
    return np.split(order, range(batch_size, len(order), batch_size))

  lengths = np.asarray(lengths)
  epochs = (epoch_batches(examples.lengths, batch_size, 0, epoch) if grouped else random_batches(epoch)
            for epoch in itertools.count())
  planned = list(itertools.islice(itertools.chain.from_iterable(epochs), steps))
  warm_up = one_of_each_shape(examples, planned, lengths)
  for batch in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
    run_batch(batch)
  batches = (assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def run(count: int) -> None:
    for batch in itertools.islice(batches, count):
      run_batch(batch)

  return run


def one_of_each_shape(examples: "Examples", planned: Iterable[np.ndarray], lengths: np.ndarray) -> list[dict]:
  """Of batches of these examples one of each shape; those of several texts are cut to the lengths of the texts."""
  from bert_tf.training.examples import assemble

  batches = (assemble(examples, chosen, len(chosen), lengths) for chosen in planned)
  return list({(batch["input_ids"].shape, tuple(batch.get("text_lengths", [()])[0])): batch
               for batch in batches}.values())


def known_labels(batch: dict) -> np.ndarray:
  """"label_ids" with -1 for tokens that are not scored: also the padding, which batches have 0 for."""
  labels = batch["label_ids"]
  return np.where(batch["input_mask"] == 1, labels, -1) if labels.shape == batch["input_mask"].shape else labels
