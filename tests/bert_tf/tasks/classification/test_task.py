"""Classification runs in this process: what they learn, leave behind and refuse."""

import csv
import dataclasses
import json
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.common.errors import UserError
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks import run as driver
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask, run
from bert_tf.training.run_directory import read_metrics
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.encoder import BertEncoder
from tests.bert_tf.tasks.classification.toy_task import MODEL, write_csv, write_glue, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
  folder = tmp_path_factory.mktemp("data")
  write_model(folder)
  for name, count, seed in (("train", 203, 1), ("dev", 45, 2), ("test", 21, 3)):
    write_csv(folder / f"{name}.csv", count, seed)
  write_glue(folder)
  return folder


def own_task(folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> ClassificationOptions:
  return ClassificationOptions(**{**dict(
      task_name="custom", train_file=f"{folder}/train.csv", dev_file=f"{folder}/dev.csv",
      test_file=f"{folder}/test.csv", text_a_column="review", label_column="verdict", output_dir=str(output_dir),
      bert_config_file=f"{folder}/bert_config.json", max_seq_length=16, train_batch_size=8, learning_rate=0.003,
      num_train_epochs=3, seed=1), **changes})


def glue_task(name: str, folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> ClassificationOptions:
  return ClassificationOptions(**{**dict(
      task_name=name, data_dir=str(folder), output_dir=str(output_dir), bert_config_file=f"{folder}/bert_config.json",
      max_seq_length=24, train_batch_size=8, learning_rate=1e-3, num_train_epochs=1), **changes})


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory) -> pathlib.Path:
  """The directory of a finished run of the toy task."""
  directory = tmp_path_factory.mktemp("trained") / "run"
  assert run(own_task(folder, directory, do_train=True, do_eval=True, do_predict=True)) == 0
  return directory


def test_it_learns_and_keeps_its_best_weights(trained):
  results = json_files.read(str(trained / "eval_results.json"))
  assert {"eval_accuracy", "eval_macro_f1", "eval_loss", "loss", "global_step"} == set(results)
  assert results["eval_accuracy"] > 0.9
  evaluations = [line for line in read_metrics(str(trained)) if line["split"] == "eval"]
  # 203 examples are 26 batches, the last one of 3.
  assert [line["step"] for line in evaluations] == [26, 52, 78]
  best = json_files.read(str(trained / "best" / "best.json"))
  assert best["step"] == results["global_step"]
  assert best["metrics"]["accuracy"] == max(line["accuracy"] for line in evaluations) == results["eval_accuracy"]
  reader = tf.train.load_checkpoint(str(trained / "best"))
  assert not any("optimizer" in key for key in reader.get_variable_to_shape_map())


def test_a_run_directory_tells_what_it_is_for(trained):
  opened = open_checkpoint(str(trained))
  assert os.path.samefile(opened.source.directory, trained / "best")
  assert opened.task == {"kind": "classification", "task_name": "custom", "labels": ["no", "yes"], "pair": False,
                         "max_seq_length": 16}
  assert opened.config.extra["id2label"] == {"0": "no", "1": "yes"}
  assert os.path.samefile(open_checkpoint(str(trained / "ckpt-78")).source.directory, trained)


def test_a_left_to_right_model_stays_so(folder, tmp_path):
  """From pre-trained weights through training to predictions; another configuration does not change it."""
  BertEncoder(dataclasses.replace(MODEL, causal=True), seed=1).save_checkpoint(
      str(tmp_path / "weights"), vocab_file=f"{folder}/vocab.txt", do_lower_case=True)
  options = own_task(folder, tmp_path / "run", init_checkpoint=str(tmp_path / "weights"), do_train=True, do_eval=True,
                     num_train_epochs=1, bert_config_file=None)
  with pytest.raises(UserError, match="describes a bidirectional model, but .* is left-to-right"):
    run(dataclasses.replace(options, bert_config_file=f"{folder}/bert_config.json"))
  assert run(options) == 0
  predictor = Predictor.from_checkpoint(str(tmp_path / "run"))
  # It reads the last token, which has seen all others.
  texts = ["good film", "bad film"]
  assert len({one["probabilities"]["yes"] for one in predictor(texts)}) == 2
  assert open_checkpoint(str(tmp_path / "run")).config.causal


def test_a_bilstm_between_encoder_and_head(folder, tmp_path, capsys):
  """Trained, stopped and resumed, predicted with; the pre-trained checkpoint has none."""
  BertEncoder(MODEL, seed=1).save_checkpoint(
      str(tmp_path / "weights"), vocab_file=f"{folder}/vocab.txt", do_lower_case=True)
  options = own_task(folder, tmp_path / "run", init_checkpoint=str(tmp_path / "weights"), do_train=True, do_eval=True,
                     num_train_epochs=1, bilstm_units=5, max_train_examples=40, save_checkpoints_steps=3)
  assert run(options) == 0
  assert run(dataclasses.replace(options, num_train_epochs=2)) == 0
  output = capsys.readouterr().out
  assert "newly initialised, not in the checkpoint: classification head (2 tensors), BiLSTM (6 tensors)" in output
  assert "resuming from" in output
  assert open_checkpoint(str(tmp_path / "run")).config.bilstm_units == 5
  reader = tf.train.load_checkpoint(str(tmp_path / "run"))
  key = "heads/bilstm/backward/recurrent_kernel"
  assert reader.get_variable_to_shape_map()[f"{key}/.ATTRIBUTES/VARIABLE_VALUE"] == [5, 20]
  predictor = Predictor.from_checkpoint(str(tmp_path / "run"))
  evaluated = [json.loads(line) for line in (tmp_path / "run/eval_predictions.jsonl").read_text().splitlines()]
  found = predictor([line["text_a"] for line in evaluated])
  for one, line in zip(found, evaluated, strict=True):
    assert one["probabilities"] == pytest.approx(line["probabilities"], abs=1e-5)
  with pytest.raises(UserError, match="--bilstm_units=6 contradicts the checkpoint, whose BiLSTM has 5 units"):
    run(dataclasses.replace(options, bilstm_units=6))
  # Predictions know it without the flag.
  assert run(dataclasses.replace(options, bilstm_units=None, do_train=False)) == 0


def test_the_predictions_of_a_test_file(folder, trained):
  with open(folder / "test.csv", newline="") as file:
    truth = list(csv.DictReader(file))
  lines = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
  assert [line["text_a"] for line in lines] == [row["review"] for row in truth]
  probabilities = np.loadtxt(trained / "test_results.tsv", delimiter="\t")
  assert probabilities.shape == (21, 2)
  np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
  assert [line["label"] for line in lines] == [("no", "yes")[row] for row in probabilities.argmax(axis=1)]
  assert np.mean([line["label"] == row["verdict"] for line, row in zip(lines, truth, strict=True)]) > 0.8


def test_tensorboard_shows_scalars_and_the_confusion(trained):
  (path,) = (trained / "eval").glob("events*")
  events = tf.compat.v1.train.summary_iterator(str(path))
  values = {value.tag: value for event in events for value in event.summary.value}
  assert set(values) == {"loss/loss", "quality/accuracy", "quality/macro_f1", "quality/confusion",
                         "quality/reliability", "precision and recall/yes/pr_curves", "eval/examples",
                         "custom_scalars__config__"}
  assert "example" in values["quality/accuracy"].metadata.summary_description
  examples = tf.make_ndarray(values["eval/examples"].tensor).item().decode()
  assert "| text | true | predicted | probability |" in examples and "| ✓ |" in examples


def test_a_finished_run_is_used_without_training(folder, trained, tmp_path, capsys):
  """By --output_dir alone, in its own directory and elsewhere; padding and batches do not change what comes out."""
  expected = np.loadtxt(trained / "test_results.tsv", delimiter="\t")
  changes = dict(train_file=None, dev_file=None, bert_config_file=None, label_column=None, do_predict=True)
  elsewhere = dict(init_checkpoint=str(trained), pad_to_max_length=True, predict_batch_size=5)
  for directory, extra in ((trained, {}), (tmp_path, elsewhere)):
    assert run(own_task(folder, directory, **changes, **extra)) == 0
    np.testing.assert_allclose(np.loadtxt(directory / "test_results.tsv", delimiter="\t"), expected, atol=1e-5)
  assert "predicted 21 examples" in capsys.readouterr().out
  assert run(own_task(folder, trained, do_train=True, seed=2)) == 0
  output = capsys.readouterr().out
  assert "training is finished" in output and "seed: 1 → 2" in output
  assert "nothing was trained with seed: 1 → 2: to do so, choose another --output_dir" in output


def test_the_head_of_another_task_is_not_taken(folder, trained, tmp_path, capsys):
  run(glue_task("mnli", folder, tmp_path / "mnli", init_checkpoint=str(trained), bert_config_file=None, do_train=True,
                do_eval=True))
  output = capsys.readouterr().out
  assert "the head is newly initialised: that of the checkpoint has 2 classes, this task has 3" in output
  assert "MNLI has no dev_mismatched.tsv" in output
  # The diagnostic set goes with the model of MNLI.
  run(glue_task("ax", folder, tmp_path / "ax", init_checkpoint=str(tmp_path / "mnli"), bert_config_file=None,
                do_predict=True))
  lines = (tmp_path / "ax" / "AX.tsv").read_text().splitlines()
  assert lines[0] == "index\tprediction" and len(lines) == 41
  assert {line.split("\t")[1] for line in lines[1:]} <= {"contradiction", "entailment", "neutral"}
  with pytest.raises(UserError, match="not a trained model for this task .*2 classes"):
    run(glue_task("ax", folder, tmp_path / "no", init_checkpoint=str(trained), bert_config_file=None,
                  do_predict=True))


def test_pairs_are_scored_by_f1_and_written_for_the_server(folder, tmp_path):
  run(glue_task("MRPC", folder, tmp_path, do_train=True, do_eval=True, do_predict=True))
  results = json_files.read(str(tmp_path / "eval_results.json"))
  assert results["eval_f1_accuracy_mean"] == pytest.approx((results["eval_f1"] + results["eval_accuracy"]) / 2)
  best = json_files.read(str(tmp_path / "best" / "best.json"))
  assert best["metric"] == "f1_accuracy_mean"
  # A run that an earlier version began has no such metric in its record: it resumes all the same.
  earlier = {name: value for name, value in best["metrics"].items() if name != "f1_accuracy_mean"}
  json_files.write(str(tmp_path / "best" / "best.json"), {**best, "metric": "f1", "metrics": earlier})
  run(glue_task("MRPC", folder, tmp_path, do_train=True, do_eval=True, num_train_epochs=2))
  again = json_files.read(str(tmp_path / "best" / "best.json"))["metrics"]
  assert again.get("f1_accuracy_mean", 2) >= best["metrics"]["f1_accuracy_mean"]
  # The same with ids, texts and names of the classes.
  predicted = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
  raw = [list(map(float, line.split("\t"))) for line in (tmp_path / "test_results.tsv").read_text().splitlines()]
  assert [list(one["probabilities"].values()) for one in predicted] == raw
  assert [one["id"] for one in predicted] == list(map(str, range(len(raw))))
  assert all(one["text_b"] for one in predicted)
  lines = (tmp_path / "MRPC.tsv").read_text().splitlines()
  assert [line.split("\t")[0] for line in lines] == ["index", *map(str, range(40))]


def test_scores_are_regressed(folder, tmp_path):
  run(glue_task("sts-b", folder, tmp_path, do_train=True, do_eval=True, do_predict=True, eval_steps=2,
                learning_rate=0.05))
  results = json_files.read(str(tmp_path / "eval_results.json"))
  assert {"eval_pearson", "eval_spearman", "eval_loss"} <= set(results)
  evaluations = [line["step"] for line in read_metrics(str(tmp_path)) if line["split"] == "eval"]
  assert evaluations == [2, 4, 5]
  scores = [float(line.split("\t")[1]) for line in (tmp_path / "STS-B.tsv").read_text().splitlines()[1:]]
  assert all(0 <= score <= 5 for score in scores)
  raw = np.loadtxt(tmp_path / "test_results.tsv")
  np.testing.assert_allclose(np.clip(raw, 0, 5), scores, atol=5.1e-4)
  assert read_checkpoint(str(tmp_path)).tensors["output_weights"] == (1, 16)


@pytest.fixture(scope="module")
def selected(folder, tmp_path_factory) -> pathlib.Path:
  """The directory of a finished selection."""
  directory = tmp_path_factory.mktemp("selected") / "out"
  run(selection(folder, directory, do_eval=True, do_predict=True))
  return directory


def selection(folder: pathlib.Path, output_dir, **changes) -> ClassificationOptions:
  return own_task(folder, output_dir, **{**dict(do_train=True, num_train_epochs=2,
                                                sweep={"learning_rate": (1e-6, 0.003)}), **changes})


WORSE, BETTER = (f"lr{rate}_bs8_ep2_seed1" for rate in ("1e-06", "0.003"))


def test_a_selection_predicts_with_the_best(selected):
  found = json_files.read(str(selected / "selection.json"))
  assert [one["directory"] for one in found["runs"]] == [WORSE, BETTER]
  best = found["best"]
  assert best["learning_rate"] == 0.003 and best["directory"] == BETTER
  assert json_files.read(str(selected / WORSE / "flags.json"))["flags"]["learning_rate"] == 1e-6
  assert json_files.read(str(selected / "eval_results.json"))["eval_accuracy"] == best["metrics"]["accuracy"]
  np.testing.assert_array_equal(read_checkpoint(str(selected)).read("output_weights"),
                                read_checkpoint(str(selected / BETTER)).read("output_weights"))
  kept = json_files.read(str(selected / BETTER / "run_result.json"))
  assert kept["metrics"] == best["metrics"] and kept["seconds"] > 0 and not kept["degenerate"]
  assert kept["sources"]["learning_rate"] == 0.003 and kept["sources"]["train data"].startswith("sha256:")


def test_a_run_that_is_missing_is_carried_out(folder, selected, tmp_path, capsys):
  copy = shutil.copytree(selected, tmp_path / "out")
  shutil.rmtree(copy / WORSE)
  run(selection(folder, copy, do_predict=True))
  output = capsys.readouterr().out
  assert output.count("finished already\n") == 1 and output.count("trained to step") == 1
  assert (copy / "predictions.jsonl").read_bytes() == (selected / "predictions.jsonl").read_bytes()


class Killed(ClassificationTask):
  """Is killed in the second run of a selection."""

  def evaluate(self, run):
    if self.options.learning_rate == 0.003:
      raise KeyboardInterrupt
    return super().evaluate(run)


def test_a_selection_that_was_killed_resumes(folder, selected, tmp_path, capsys):
  options = selection(folder, tmp_path / "out", do_predict=True, save_checkpoints_steps=20)
  with pytest.raises(KeyboardInterrupt):
    driver.run(Killed, options)
  assert "seconds" in (tmp_path / "out" / BETTER / "run_result.json").read_text()
  # What was begun with other options is not resumed with these.
  refused(options.replace(weight_decay=0.5), f"the run in {tmp_path / 'out' / WORSE}", "weight_decay: 0.01 → 0.5")
  capsys.readouterr()
  assert run(options) == 0
  output = capsys.readouterr().out
  assert output.count("finished already\n") == 1 and output.count("resuming from") == 1
  assert (tmp_path / "out" / "predictions.jsonl").read_bytes() == (selected / "predictions.jsonl").read_bytes()


def test_every_run_of_a_selection_is_recorded(selected):
  for directory in (selected, selected / BETTER, selected / WORSE):
    assert len(json_files.read(str(directory / "flags.json"))["starts"]) >= 1
    assert (directory / "README.md").read_text().startswith("<!-- Written by bert-tf")
  everything, own = ((directory / "console.log").read_text() for directory in (selected, selected / BETTER))
  assert "trained to step" in own and f"run 1 of 2: {WORSE}" in everything and "run 1 of 2" not in own
  assert own.splitlines()[1] in everything and "mean ± standard deviation" in (selected / "README.md").read_text()


def test_a_selection_may_be_copied_moved_and_spelled_otherwise(folder, selected, tmp_path, monkeypatch, capsys):
  shutil.copytree(selected, tmp_path / "copy")
  os.rename(tmp_path / "copy", tmp_path / "moved")
  for name in ("train", "dev"):
    shutil.copy(folder / f"{name}.csv", tmp_path / f"the_same_{name}.csv")
  monkeypatch.chdir(tmp_path)
  before = (tmp_path / "moved" / "selection.json").read_bytes()
  for output_dir in ("./moved", "moved/", str(tmp_path / "moved"), "../" + tmp_path.name + "/moved"):
    run(selection(folder, output_dir, train_file="the_same_train.csv", dev_file="the_same_dev.csv"))
    assert capsys.readouterr().out.count("finished already\n") == 2
  assert (tmp_path / "moved" / "selection.json").read_bytes() == before
  assert str(tmp_path).encode() not in before and str(selected).encode() not in before


@pytest.mark.parametrize("changes, message", [
    ({"warmup_proportion": 0.2}, "warmup_proportion: 0.1 → 0.2"),
    ({"train_file": "{folder}/dev.csv"}, "train data has other contents"),
    ({"dev_file": "{folder}/train.csv"}, "dev data has other contents"),
    ({"init_checkpoint": "{trained}", "bert_config_file": None}, "--init_checkpoint: now given")])
def test_results_of_other_options_and_data_are_not_believed(folder, trained, selected, tmp_path, changes, message):
  copy = shutil.copytree(selected, tmp_path / "out")
  changes = {name: value and str(value).format(folder=folder, trained=trained) if name != "warmup_proportion" else value
             for name, value in changes.items()}
  refused(selection(folder, copy, **changes), f"the run in {copy / WORSE} is made from something else", message)
  assert digests(copy) == digests(selected)


def test_where_and_how_a_selection_is_computed_may_change(folder, selected, tmp_path, capsys):
  copy = shutil.copytree(selected, tmp_path / "out")
  run(selection(folder, copy, save_checkpoints_steps=7, predict_batch_size=5, test_file=None))
  assert capsys.readouterr().out.count("finished already\n") == 2


@pytest.mark.parametrize("content, message", [
    ("{", "not JSON"), ("", "is empty"), ("[]", "a JSON object is expected"), ("{}", "there is no 'version'"),
    ({"version": 1}, "version 1 of the format, 2 is expected"), ({"metrics": [0.5]}, "'metrics' is [0.5]"),
    ({"seconds": "long"}, "'seconds' is \"long\""), ({"sources": {}}, "'digest' is not that of 'sources'"),
    ({"details": 3}, "'details' is 3")])
def test_a_damaged_result_is_named(folder, selected, tmp_path, content, message):
  copy = shutil.copytree(selected, tmp_path / "out")
  path = copy / BETTER / "run_result.json"
  if isinstance(content, dict):
    content = json.dumps({**json.loads(path.read_text()), **content})
  path.write_text(content)
  before = digests(copy)
  refused(selection(folder, copy), str(path), message)
  assert digests(copy) == before


def test_a_result_of_an_earlier_version_is_not_believed(folder, selected, tmp_path, capsys):
  """It had no sources. The weights are evaluated again."""
  copy = shutil.copytree(selected, tmp_path / "out")
  (copy / "best" / "copied.json").unlink()
  found = json_files.read(str(copy / "selection.json"))
  for one in found["runs"]:
    (copy / one["directory"] / "run_result.json").unlink()
    (copy / one["directory"] / "result.json").write_text(json.dumps({**one, "metrics": {"accuracy": 2.0, "loss": 0}}))
  run(selection(folder, copy))
  output = capsys.readouterr().out
  assert output.count("result.json is of an earlier version, which did not keep what it was made from") == 2
  assert output.count("training is finished") == 2
  again = json_files.read(str(copy / "selection.json"))
  assert [one["metrics"] for one in again["runs"]] == [one["metrics"] for one in found["runs"]]
  (copy / WORSE / "run_result.json").unlink()
  refused(selection(folder, copy, warmup_proportion=0.2), "warmup_proportion: 0.1 → 0.2")


def digests(directory: pathlib.Path) -> dict[str, bytes]:
  """Everything below a directory."""
  return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_selection_does_not_replace_what_is_not_its_own(folder, selected, trained, tmp_path):
  def kept(directory: pathlib.Path, message: str) -> None:
    before = digests(directory)
    refused(selection(folder, directory), message)
    assert digests(directory) == before

  shutil.copytree(trained, tmp_path / "single")
  kept(tmp_path / "single", "holds a single run: choose another directory for a selection")
  for path in (tmp_path / "single").glob("ckpt-*"):
    path.unlink()
  kept(tmp_path / "single", "is of no selection, whose best weights go there: move")
  (tmp_path / "notes" / "best").mkdir(parents=True)
  (tmp_path / "notes" / "best" / "thesis.txt").write_text("mine")
  kept(tmp_path / "notes", "best/thesis.txt is of no selection")
  copy = shutil.copytree(selected, tmp_path / "copy")
  (copy / "best" / "thesis.txt").write_text("mine")
  kept(copy, "best/thesis.txt is of no selection")


def test_best_weights_behind_a_link_are_not_touched(folder, trained, tmp_path):
  other = shutil.copytree(trained, tmp_path / "other")
  before = digests(other)
  for name, make in (("selection", selection), ("single", own_task)):
    (tmp_path / name).mkdir()
    (tmp_path / name / "best").symlink_to(other / "best")
    refused(make(folder, tmp_path / name, do_train=True), "best is a symbolic link")
    assert (tmp_path / name / "best").is_symlink() and digests(other) == before


def test_the_order_of_the_labels_is_that_of_the_checkpoint(folder, trained, tmp_path):
  """A head whose classes are numbered otherwise, as those of other people's models are."""
  opened = open_checkpoint(str(trained))
  config = dataclasses.replace(opened.config, extra={"id2label": {"0": "yes", "1": "no"}})
  for path in (trained / "best").iterdir():
    if path.name != "task.json":
      (tmp_path / path.name).write_bytes(path.read_bytes())
  config.to_file(str(tmp_path / "bert_config.json"))
  run(own_task(folder, tmp_path / "out", init_checkpoint=str(tmp_path), bert_config_file=None, do_eval=True))
  accuracy = json_files.read(str(tmp_path / "out" / "eval_results.json"))["eval_accuracy"]
  assert accuracy == pytest.approx(1 - json_files.read(str(trained / "eval_results.json"))["eval_accuracy"])


def refused(options: ClassificationOptions, *parts: str) -> None:
  """Asserts that the run ends with one line that contains the parts, and leaves nothing."""
  with pytest.raises(UserError) as error:
    run(options)
  message = str(error.value)
  assert "\n" not in message
  for part in parts:
    assert part in message


@pytest.mark.parametrize("content, parts", [
    (b"", ["train.csv", "empty"]),
    (b"review,verdict\n", ["train.csv"]),
    (b"review,verdict\na film,yes\nso dull\n", ["train.csv:3"]),
    (b"review,verdict\na film,yes\n,no\n", ["train.csv:3", "empty"]),
    (b"review,verdict\na film,yes\n\xff\xfe,no\n", ["train.csv:3", "UTF-8"]),
    (b"text,verdict\na film,yes\nso dull,no\n", ["train.csv:1", "review"]),
])
def test_a_bad_training_file_is_refused(folder, tmp_path, content, parts):
  (tmp_path / "train.csv").write_bytes(content)
  refused(own_task(folder, tmp_path / "out", train_file=f"{tmp_path}/train.csv", do_train=True), *parts)
  assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("changes, parts", [
    (dict(dev_file="{folder}/none.csv", do_train=True), ["--dev_file", "none.csv does not exist"]),
    (dict(train_file=None, do_train=True), ["--task_name=custom: --do_train needs --train_file"]),
    (dict(text_b_column="answer", do_train=True), ["train.csv:1", "answer"]),
    (dict(train_file="/dev/null", do_train=True), ["--train_file: /dev/null is a pipe or a device"]),
    (dict(do_predict=True), ["holds no trained model", "--do_train"]),
    (dict(do_train=True, max_seq_length=33), ["33", "32"]),
    (dict(do_train=True, max_seq_length=2), ["--max_seq_length is 2"]),
    (dict(do_train=True, vocab_file="{folder}/short.txt"), ["short.txt has 20 entries, but vocab_size is 25"]),
    (dict(do_train=True, regression=True), ["train.csv:2", "number"]),
    (dict(do_train=True, learning_rate=0.0), ["--learning_rate is 0.0"]),
    (dict(), ["nothing to do"]),
    (dict(task_name="rde", data_dir="{folder}", do_train=True), ["did you mean rte"]),
    (dict(task_name="rte", do_train=True), ["--train_file", "custom"]),
])
def test_what_does_not_go_together_is_refused(folder, tmp_path, changes, parts):
  (folder / "short.txt").write_text("".join(f"{word}\n" for word in (folder / "vocab.txt").read_text().split()[:20]))
  changes = {name: value.format(folder=folder) if isinstance(value, str) else value for name, value in changes.items()}
  refused(own_task(folder, tmp_path / "out", **changes), *parts)


def test_wrong_splits_are_refused(folder, trained, tmp_path):
  refused(glue_task("cola", folder, tmp_path, do_train=True), "'train'", "cola", "train.tsv")
  refused(glue_task("ax", folder, tmp_path, do_eval=True, init_checkpoint=str(trained)), "no labels here")
  write_csv(tmp_path / "dev.csv", 9, names=("no", "perhaps"))
  refused(own_task(folder, tmp_path / "out", dev_file=f"{tmp_path}/dev.csv", do_train=True), "dev.csv:", "'perhaps'",
          "'no', 'yes'")
  refused(own_task(folder, tmp_path / "out", dev_file=None, do_train=True,
                   sweep={"seed": (1, 2)}), "--dev_file")


def test_several_classes_in_windows_from_the_run_to_the_prediction(folder, tmp_path):
  """With class weights, a further evaluation file and the other schedules and rates."""
  for name in ("train", "dev"):
    with open(folder / f"{name}.csv", newline="") as file:
      rows = [{"review": row["review"], "tags": [row["verdict"]] + ["long"] * (len(row["review"]) > 50)}
              for row in csv.DictReader(file)]
    (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
  options = own_task(
      folder, tmp_path / "run", train_file=f"{tmp_path}/train.jsonl", dev_file=f"{tmp_path}/dev.jsonl",
      test_file=f"{tmp_path}/dev.jsonl", eval_files=(f"again:{tmp_path}/dev.jsonl",), label_column="tags",
      multi_label=True, class_weights="balanced", long_texts="windows", max_seq_length=14, lr_schedule="cosine",
      weight_decay=0.0, hidden_dropout_prob=0.0, classifier_dropout=0.0, learning_rate=0.01, max_eval_examples=30,
      max_predict_examples=12, do_train=True, do_eval=True, do_predict=True)
  assert run(options) == 0
  results = json_files.read(str(tmp_path / "run" / "eval_results.json"))
  assert results["eval_micro_f1"] == results["eval_again_micro_f1"] > 0.7
  config = json_files.read(str(tmp_path / "run" / "best" / "bert_config.json"))
  assert config["problem_type"] == "multi_label_classification" and config["hidden_dropout_prob"] == 0.0
  lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
  assert len(lines) == 12 and np.loadtxt(tmp_path / "run" / "test_results.tsv").shape == (12, 3)
  predictor = Predictor.from_checkpoint(str(tmp_path / "run"))
  for line, result in zip(lines, predictor([line["text_a"] for line in lines]), strict=True):
    assert result["labels"] == line["labels"]
    assert result["probabilities"] == pytest.approx(line["probabilities"], abs=1e-5)
  # Later nothing but the file need be told.
  again = own_task(folder, tmp_path / "run", train_file=None, dev_file=None, test_file=f"{tmp_path}/dev.jsonl",
                   label_column=None, bert_config_file=None, max_seq_length=14, max_predict_examples=12,
                   do_predict=True)
  before = (tmp_path / "run" / "predictions.jsonl").read_bytes()
  assert run(again) == 0 and (tmp_path / "run" / "predictions.jsonl").read_bytes() == before
