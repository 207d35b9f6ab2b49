"""The benchmark of SQuAD features runs and finds both sides equal."""

import json
import subprocess
import sys


def test_a_small_run(project, tmp_path):
  path = tmp_path / "train.json"
  qas = [{"id": str(number), "question": "Which of the boats left the bay?"} for number in range(3)]
  paragraph = {"context": "The boats (two) left the bay. " * 90, "qas": qas}
  path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
  result = subprocess.run(
    [sys.executable, str(project / "benchmarks" / "squad_featurization.py"), f"--input_file={path}", "--sample=8",
     "--num_questions=40", "--repetitions=1", f"--vocab_file={project}/vocab/english_uncased/vocab.txt"],
    capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stdout + result.stderr
  assert "40 questions about 14 contexts of 540 words" in result.stdout and "times as fast" in result.stdout
