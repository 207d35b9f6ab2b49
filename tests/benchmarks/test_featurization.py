"""A short run of the real command, and its comparison with the reference."""

import re
import subprocess
import sys

from benchmarks import featurization
from data_gen.labelled.glue import find_task, read_split
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tests.oracles.pairs import reference_features

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "."]


def write_vocabulary(directory):
  path = directory / "vocab.txt"
  path.write_text("\n".join([*SPECIAL_TOKENS, *WORDS]), encoding="utf-8")
  return str(path)


def test_the_command(project, tmp_path):
  vocab_file = write_vocabulary(tmp_path)
  (tmp_path / "text.txt").write_text(" ".join(WORDS), encoding="utf-8")
  result = subprocess.run(
    [sys.executable, str(project / "benchmarks" / "featurization.py"), f"--vocab_file={vocab_file}",
     f"--text_file={tmp_path / 'text.txt'}", "--pairs=200", "--reference_pairs=100", "--repetitions=1",
     "--max_seq_length=30"], capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stderr
  assert re.search(r"^ours, 1 process .*\d", result.stdout, re.MULTILINE)
  assert re.search(r"[1-9]\d* pairs truncated", result.stdout)


def test_a_difference_from_the_reference_is_seen(tmp_path):
  vocab_file = write_vocabulary(tmp_path)
  path = str(tmp_path / "train.tsv")
  featurization.write_pairs(path, [" ".join(WORDS)], 50)
  assert len(read_split(find_task("mnli"), str(tmp_path), "train")) == 50
  ids, segments = reference_features(path, Vocabulary.from_file(vocab_file).tokens, 20, 24)
  assert len(ids) == 20
  assert featurization.same_features(str(tmp_path), vocab_file, 24, ids, segments)
  ids[3][1] += 1
  assert not featurization.same_features(str(tmp_path), vocab_file, 24, ids, segments)
