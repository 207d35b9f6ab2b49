"""What runs differ in, how sure a difference is, and which examples two runs disagree on."""

import json
import pathlib

import numpy as np
import pytest
from scipy import stats

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras import compare
from bert_tf.extras.compare import CompareOptions, Group, disagreements, read_groups
from bert_tf.tasks import run_inputs

_EARLIER = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures/run_directories"
TEXTS = [f"text {number} with | and `" for number in range(8)]
TRUE = ["yes", "no"] * 4


def write_run(folder: pathlib.Path, accuracy: float, seed: int = 1, predicted: list[str] | None = None, **flags) -> str:
  """A classifier's run with its evaluation, and its predictions where they are given."""
  folder.mkdir(parents=True)
  versions = {"tensorflow": "2.20.0"}
  start = {"time": "2026-01-01", "devices": "1 x CPU", "host": "a", "commit": {"id": "0" * 40, "modified": True},
           "versions": versions}
  json_files.write(str(folder / "flags.json"), {
      "script": "run_classifier.py", "versions": versions, "starts": [start],
      "flags": {"seed": seed, "output_dir": str(folder), "learning_rate": 1e-3, "num_train_epochs": 3.0} | flags})
  json_files.write(str(folder / "eval_results.json"), {"eval_accuracy": accuracy, "eval_loss": 1 - accuracy,
                                                       "loss": 1 - accuracy, "global_step": 9})
  (folder / "metrics.jsonl").write_text(json.dumps({"step": 9, "split": "eval", "accuracy": 0.0}) + "\n")
  if predicted:
    (folder / "eval_predictions.jsonl").write_text("".join(
        json.dumps({"id": number, "text_a": text, "label": label, "true_label": true}) + "\n"
        for number, (text, label, true) in enumerate(zip(TEXTS, predicted, TRUE, strict=True))))
  return str(folder)


def options(*sources, **changes) -> CompareOptions:
  made = CompareOptions(sources=tuple(map(str, sources)), **changes)
  made.check()
  return made


def groups(*sources) -> list[Group]:
  return read_groups([str(source) for source in sources])


def section(text: str, title: str) -> list[str]:
  """The lines below a title."""
  return text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines()


def test_runs_that_differ_in_the_seed_are_one_column(tmp_path, capsys):
  scores = {1e-3: [0.80, 0.82, 0.81], 1e-2: [0.91, 0.90, 0.95]}
  for rate, values in scores.items():
    for seed, value in enumerate(values):
      write_run(tmp_path / f"all/lr{rate}_seed{seed}", value, seed, learning_rate=rate)
  first, second = groups(tmp_path / "all")
  assert (first.name, second.name) == ("lr0.001 (3 seeds)", "lr0.01 (3 seeds)")
  compare.run(options(tmp_path / "all"))
  text = capsys.readouterr().out
  assert section(text, "Flags") == ["                   A     B", "learning_rate  0.001  0.01"]
  expected = stats.ttest_rel(scores[1e-2], scores[1e-3])
  low, high = expected.confidence_interval()
  accuracy = next(line for line in section(text, "Scores") if line.startswith("accuracy"))
  # Two metrics, which are one up to the sign: Holm's correction doubles p.
  assert accuracy == (f"accuracy  0.8100 ± 0.0100  0.9200 ± 0.0265  +0.1100 [{low:+.4f}, {high:+.4f}] "
                      f"p={2 * expected.pvalue:.3f}")
  assert section(text, "Versions") == ["the same"]
  # Who names seeds of one setting wants to see these.
  assert [group.name for group in groups(*(tmp_path / f"all/lr0.001_seed{seed}" for seed in range(3)))] == [
      f"lr0.001_seed{seed}" for seed in range(3)]


def test_other_seeds_are_compared_unpaired(tmp_path):
  for name, seeds, values in (("a", (1, 2, 3), (0.5, 0.6, 0.7)), ("b", (4, 5), (0.8, 0.9))):
    for seed, value in zip(seeds, values, strict=True):
      write_run(tmp_path / name / str(seed), value, seed, max_seq_length=len(seeds))
  first, second = groups(tmp_path / "a", tmp_path / "b")
  found = compare.difference(second.values("accuracy"), first.values("accuracy"))
  test = stats.ttest_ind([0.8, 0.9], [0.5, 0.6, 0.7], equal_var=False)
  np.testing.assert_allclose([found.mean, found.p, found.low, found.high],
                             [0.25, test.pvalue, *test.confidence_interval()])
  # Nothing is known of chance.
  for a, b in (({1: 0.5}, {1: 0.7}), ({1: 0.5, 2: 0.6}, {1: 0.6, 2: 0.7}), ({1: 0.5, 2: float("nan")}, {1: 0, 2: 1})):
    assert compare.difference(a, b).p is None


def test_what_two_runs_disagree_on(tmp_path, capsys):
  one = write_run(tmp_path / "one", 0.875, predicted=[*TRUE[:7], "yes"])
  two = write_run(tmp_path / "two", 0.5, predicted=["no"] * 8, learning_rate=1e-2)
  ((file, common, pairs),) = disagreements(one, two)
  assert (file, common, [pair[0] for pair in pairs]) == ("eval_predictions.jsonl", 8, ["0", "2", "4", "6", "7"])
  compare.run(options(one, two, examples=2))
  text = capsys.readouterr().out
  assert section(text, "Predictions of A (one) and B (two), eval_predictions.jsonl") == [
      "eval_predictions.jsonl: different predictions for 5 of 8 examples; only the first is right in 4, only the "
      "second in 1 (McNemar, exact: p = 0.375), neither in 0",
      "id  true    A   B                 text", "0    yes  yes  no  text 0 with | and `",
      "2    yes  yes  no  text 2 with | and `"]


def test_other_predictions(tmp_path, capsys):
  """Scores by their distance, answers to questions, and only examples that are the same in both."""
  for name, scores, answer in (("a", (1.0, 2.0, 3.0), "red"), ("b", (1.5, 2.0, 9.0), "blue")):
    folder = pathlib.Path(write_run(tmp_path / name, 0.5))
    (folder / "predictions.jsonl").write_text("".join(
        json.dumps({"id": number, "text_a": f"text {number}", "score": score}) + "\n"
        for number, score in enumerate(scores)) + json.dumps({"id": 3, "text_a": name, "score": 0.0}) + "\n")
    (folder / "predictions.json").write_text(json.dumps({"q1": answer, "q2": "same"}))
  scores, answers = disagreements(str(tmp_path / "a"), str(tmp_path / "b"))
  assert (scores[1], [pair[0] for pair in scores[2]]) == (3, ["2", "0"])
  assert [(key, one["predicted"], other["predicted"]) for key, one, other in answers[2]] == [("q1", "red", "blue")]
  compare.run(options(tmp_path / "a", tmp_path / "b"))
  assert "predictions.jsonl: different predictions for 2 of 3 examples\n" in capsys.readouterr().out


def test_data_are_those_that_the_runs_recorded(tmp_path, monkeypatch, capsys):
  """Not the files of these names that are there now, in whatever directory."""
  for name, text in (("a", "one"), ("b", "two")):
    run = pathlib.Path(write_run(tmp_path / name / "run", 0.5, dev_file="dev.csv"))
    (tmp_path / name / "dev.csv").write_text(text)
    run_inputs.write(str(run), run_inputs.facts_of({"dev": [f"{tmp_path}/{name}/dev.csv"]}, {}), {})
  for name in ("a", "b"):
    (tmp_path / name / "dev.csv").write_text("the same now")
  monkeypatch.chdir(tmp_path / "a")
  compare.run(options(tmp_path / "a/run", tmp_path / "b/run"))
  _, row = section(capsys.readouterr().out, "Data and model")
  name, first, second = row.rsplit(maxsplit=2)
  assert name == "dev" and first != second


def test_run_directories_of_earlier_versions(tmp_path, capsys):
  """Their values are text in lists, versions are few, and no file says what a result was made from."""
  now = write_run(tmp_path / "now", 0.9, 7, train_batch_size=8, eval_batch_size=8)
  compare.run(options(_EARLIER / "classification/run", now))
  text = capsys.readouterr().out
  assert ["learning_rate", "0.03", "0.001"] in [line.split() for line in section(text, "Flags")]
  assert ["accuracy", "0.7500", "0.9000", "+0.1500"] in [line.split() for line in section(text, "Scores")]
  assert "train_batch_size" not in "\n".join(section(text, "Flags")[:-1])
  compare.run(options(*(_EARLIER / name / "run" for name in ("classification", "pretraining", "question_answering"))))
  assert "exact" in capsys.readouterr().out


def test_what_is_refused(tmp_path):
  one = write_run(tmp_path / "one", 0.5)
  (tmp_path / "empty").mkdir()
  (tmp_path / "damaged").mkdir()
  (tmp_path / "damaged/flags.json").write_text('{"flags": 3}')
  for sources, message in (
      ((), "nothing to compare: name two or more run directories"), ((one,), "one is the only run: name another one"),
      ((one, tmp_path / "no"), "no does not exist: a run directory is expected"),
      ((one, f"{one}/flags.json"), "flags.json is a file"), ((one, tmp_path / "empty"), "empty is no run directory"),
      ((one, tmp_path / "damaged"), "damaged/flags.json: 'flags' is 3, an object is expected")):
    with pytest.raises(UserError, match=message):
      compare.run(options(*sources))
