"""The benchmark of learning a vocabulary runs small."""

import re

from benchmarks import build_vocab


def test_it_runs(golden, capsys):
  build_vocab.main(build_vocab.BuildVocabOptions(
      input_file=str(golden / "pretraining_data" / "sample_corpus.txt"), megabytes=0.05, vocab_size=300, num_workers=1))
  ours, peer, ratio = capsys.readouterr().out.splitlines()
  found = [int(re.search(r"→ ([\d,]+) tokens", line)[1].replace(",", "")) for line in (ours, peer)]
  assert ours.startswith("build_vocab.py") and peer.startswith("tensorflow_text learn")
  assert all(100 < number <= 300 for number in found)
  assert re.fullmatch(r"ours is \d+\.\d times as fast", ratio)
