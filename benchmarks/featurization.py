r"""How fast a large set of sentence pairs becomes features, from the TSV on the disk to the arrays; in how much memory.

  python benchmarks/featurization.py
  python benchmarks/featurization.py --text_file='corpus/*.txt' --vocab_file=vocab.txt --pairs=400000

The pairs are synthetic, in the layout of MNLI's training file (12 columns, parses included) and with its lengths: a
median of 19 words in the premise and 9 in the hypothesis. They are runs of words of a text whose words were shuffled,
again for every pass over it, so no sentence comes twice. Without --text_file the text is the docstrings of the
installed packages.

Ours runs in new processes that have imported nothing else, once per number of workers and repetition. Reading the
vocabulary is counted, importing is not. The reference is what the original does: one row and one character after the
other, in plain Python (tests/oracles/pairs.py), on the first pairs of the same file. It must give the same
features (exit status 1 otherwise).
"""

import dataclasses
import os
import resource
import statistics
import tempfile
import time

import numpy as np

from benchmarks import resources, texts
from bert_common import cli, files, parallel
from bert_common.options import option
from bert_common.tables import print_table
from data_gen.labelled.glue import find_task, read_split
from data_gen.labelled.pair_features import encode_pairs
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.pairs import reference_features

_MNLI = find_task("mnli")
# Of the words a sentence has: median and spread of a log-normal distribution like that of MNLI's lengths.
_PREMISE, _HYPOTHESIS = (19, 0.6), (9, 0.4)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeaturizationOptions(texts.TextOptions, texts.VocabularyOptions):
  """Options of the benchmark."""

  pairs: int = option(400_000, "Number of pairs; MNLI has 392,702.", minimum=100)
  reference_pairs: int = option(3_000, "The first of them go through the reference.", minimum=1)
  repetitions: int = option(3, "Repetitions of ours with each number of workers.", minimum=1)
  max_seq_length: int = option(128, "Longer pairs are truncated.", minimum=3)


def write_pairs(path: str, lines: list[str], pairs: int, seed: int = 0) -> None:
  """Writes `pairs` rows in the layout of MNLI's training file."""
  words = np.array(" ".join(lines).split(), object)
  source = np.random.default_rng(seed)
  # Words of the premise and of the hypothesis of each pair.
  lengths = np.stack([np.clip(source.lognormal(np.log(median), spread, pairs), 1, 300).astype(int)
                      for median, spread in (_PREMISE, _HYPOTHESIS)], axis=1)
  passes = -(-lengths.sum() // len(words))
  shuffled = np.concatenate([source.permutation(words) for _ in range(passes)])
  ends = np.cumsum(lengths).reshape(pairs, 2).tolist()
  start = 0
  with open(path, "w", encoding="utf-8", newline="") as file:
    file.write("\t".join(_MNLI.headers["train"]) + "\n")
    for number, (middle, end) in enumerate(ends):
      sentences = shuffled[start:middle], shuffled[middle:end]
      start = end
      # Brackets and trees, which nobody reads, are as long as the real ones.
      columns = [form.format(mark.join(sentence)) for form, mark in (
          ("( {} )", " ( "), ("(ROOT (S (NP {})))", ") (NN "), ("{}", " ")) for sentence in sentences]
      label = _MNLI.labels[number % 3]
      file.write("\t".join([str(number), f"{number}n", f"{number}e", "fiction", *columns, label, label]) + "\n")


def _write_pairs(path: str, options: FeaturizationOptions) -> None:
  write_pairs(path, options.lines(), options.pairs)


def run_ours(directory: str, vocab_file: str, max_seq_length: int, num_workers: int) -> dict:
  """Reads and encodes; what it took. Meant for a process of its own."""
  start = time.perf_counter()
  tokenizer = Tokenizer.from_file(vocab_file)
  split = read_split(_MNLI, directory, "train")
  read = time.perf_counter()
  features = encode_pairs(tokenizer, split.text_a, split.text_b, max_seq_length, num_workers)
  end = time.perf_counter()
  array_mib = sum(array.nbytes for array in features[:3]) / 2**20
  return {"reading": read - start, "seconds": end - start, "tokens": len(features.input_ids),
          "truncated": features.truncated, "peak_mib": resources.peak_mib(),
          "worker_mib": resources.peak_mib(resource.RUSAGE_CHILDREN), "array_mib": array_mib}


def same_features(directory: str, vocab_file: str, max_seq_length: int, ids: list, segments: list) -> bool:
  """Whether ours gives the same for the first pairs."""
  split = read_split(_MNLI, directory, "train")
  ours = encode_pairs(Tokenizer.from_file(vocab_file), split.text_a[:len(ids)], split.text_b[:len(ids)], max_seq_length)
  return (ours.row_lengths.tolist() == list(map(len, ids)) and ours.input_ids.tolist() == sum(ids, [])
          and ours.segment_ids.tolist() == sum(segments, []))


def main(options: FeaturizationOptions) -> int:
  vocab_file = files.check_readable(options.vocab_file, "vocab_file")
  limit = options.max_seq_length
  with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "train.tsv")
    # In processes of their own, too: what they leave behind must not count.
    resources.in_new_process(_write_pairs, path, options)
    print(f"{options.pairs:,} pairs in a TSV of {os.path.getsize(path) / 1e6:.0f} MB, at most {limit} tokens each; "
          f"{parallel.default_num_workers()} cores; load {os.getloadavg()[0]:.1f}")
    runs: dict[int, list[dict]] = {workers: [] for workers in sorted({1, parallel.default_num_workers()})}
    for _ in range(options.repetitions):
      for workers, results in runs.items():
        results.append(resources.in_new_process(run_ours, directory, vocab_file, limit, workers))
    start = time.perf_counter()
    ids, segments = reference_features(path, Vocabulary.from_file(vocab_file).tokens, options.reference_pairs, limit)
    reference_rate = len(ids) / (time.perf_counter() - start)
    is_exact = same_features(directory, vocab_file, limit, ids, segments)
  facts = runs[1][0]
  print(f"{facts['tokens']:,} tokens, {facts['tokens'] / options.pairs:.1f} a pair, {facts['truncated']:,} pairs "
        f"truncated, {facts['array_mib']:.0f} MiB of features")
  rows = [("", "seconds", "reading", "pairs/s", "ratio", "peak MiB", "of a worker"),
          ("plain Python", f"{options.pairs / reference_rate:.0f}", "", f"{reference_rate:,.0f}", "1", "", "")]
  for workers, results in runs.items():
    seconds, reading = (statistics.median(result[name] for result in results) for name in ("seconds", "reading"))
    peak, of_worker = (max(result[name] for result in results) for name in ("peak_mib", "worker_mib"))
    rate = options.pairs / seconds
    rows.append((f"ours, {workers} process{'es' * (workers > 1)}", f"{seconds:.2f}", f"{reading:.2f}", f"{rate:,.0f}",
                 f"{rate / reference_rate:.0f}", f"{peak:.0f}", f"{of_worker:.0f}" if workers > 1 else "-"))
  print_table(rows)
  print(f"load at the end {os.getloadavg()[0]:.1f}")
  if not is_exact:
    print("NOT EXACT: the features differ from those of plain Python")
    return 1
  return 0


if __name__ == "__main__":
  cli.run(FeaturizationOptions, main)
