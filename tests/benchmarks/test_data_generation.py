"""The benchmark of making records runs small, beside the original algorithm, with its memory."""

import re

import pytest

from benchmarks import data_generation


def test_it_runs(golden, capsys):
  folder = golden / "pretraining_data"
  data_generation.main(data_generation.DataGenerationOptions(
      corpus_file=str(folder / "sample_corpus.txt"), vocab_file=str(golden / "bert" / "uncased_vocab.txt"),
      corpus_mb=0.2, repetitions=1, memory_factor=1))
  lines = capsys.readouterr().out.splitlines()
  rows = {line[:20].strip(): [float(value.replace(",", "")) for value in line[20:].split()]
          for line in lines if line.startswith(("original", "ours"))}
  assert {"original algorithm", "ours, 1 worker", "ours, 2 workers"} <= rows.keys()
  seconds, _, _, instances, *_ = rows["original algorithm"]
  ours = rows["ours, 1 worker"]
  # Chance makes the shares of short sequences differ, not the amount of text.
  assert ours[3] * ours[0] == pytest.approx(instances * seconds, rel=0.2) and rows["original algorithm"][5:] == [1, 1]
  peaks = [float(re.search(r"(\d+) MiB$", line)[1]) for line in lines if line.startswith("peak memory")]
  assert len(peaks) == 2 and all(20 < peak < 4000 for peak in peaks)
