"""What --suggest proposes for data whose sizes are known."""

import csv
import shutil

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_tf.tasks.classification import task as classification
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.question_answering import task as question_answering
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.token_classification import task as token_classification
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from tests.bert_tf.tasks.classification.toy_task import GOOD, write_model
from tests.bert_tf.tasks.token_classification import toy_names


@pytest.fixture
def folder(tmp_path, monkeypatch):
  """110 texts: 99 of 3 tokens, 10 of 11 and 1 of 12, with [CLS] and [SEP]; one class has 10 of them."""
  write_model(tmp_path)
  for name in ("train", "dev"):
    with open(tmp_path / f"{name}.csv", "w", newline="") as file:
      writer = csv.writer(file)
      writer.writerow(["review", "verdict"])
      writer.writerows([(" ".join([GOOD[0]] * length), verdict) for length, verdict in (
          *[(1, "good")] * 99, *[(9, "bad")] * 10, (10, "good"))])
  monkeypatch.chdir(tmp_path)
  return tmp_path


def suggest(options, run, *flags: str, script: str = "run_classifier.py") -> None:
  assert run(cli.parse(options, [script, "--do_train", "--output_dir=out", "--bert_config_file=bert_config.json",
                                 "--suggest=run.yaml", *flags])) == 0


def classifier(*flags: str) -> None:
  suggest(ClassificationOptions, classification.run, "--task_name=custom", "--train_file=train.csv",
          "--text_a_column=review", "--label_column=verdict", *flags)


def configured(options, script: str = "run_classifier.py"):
  return cli.parse(options, [script, "--config=run.yaml"])


def test_a_classification(folder, capsys):
  before = set(folder.rglob("*"))
  classifier("--dev_file=dev.csv", "--freeze_layers=1")
  assert {path.name for path in set(folder.rglob("*")) - before} == {"run.yaml"}
  text = (folder / "run.yaml").read_text()
  assert text in capsys.readouterr().out
  assert ("# training data: 110 examples, 110 sequences of 3.8 tokens, half of them of at most 3, the longest 12\n"
          in text)
  assert "# share of the sequences that is cut: 0.0% at 32" in text and "# classes: good 100, bad 10\n" in text
  assert "# time of a run: about " in text
  options = configured(ClassificationOptions)
  assert (options.max_seq_length, options.train_batch_size, options.learning_rate) == (32, 16, 1e-4)
  # 7 steps an epoch would make 300 in 43.
  assert (options.num_train_epochs, options.optimizer_bias_correction, options.sweep) == (20, True, {"seed": (1, 2, 3)})
  assert (options.class_weights, options.freeze_layers, options.suggest) == ("balanced", 1, None)


def test_what_is_given_stays(folder, capsys):
  classifier("--learning_rate=0.003,0.001", "--lora_rank=2", "--max_seq_length=8")
  options = configured(ClassificationOptions)
  assert options.sweep == {"learning_rate": (0.003, 0.001)} and options.max_seq_length == 8
  text = (folder / "run.yaml").read_text()
  # Without a development set nothing can be chosen.
  assert "nothing to evaluate on" in text and "seed" not in text
  with pytest.raises(UserError, match="--suggest: run.yaml exists"):
    classifier()
  with pytest.raises(UserError, match="--suggest looks at training data: give --do_train"):
    classifier("--dev_file=dev.csv", "--nodo_train", "--do_eval", "--suggest=other.yaml")


def test_shares_that_are_cut(folder, capsys, monkeypatch):
  monkeypatch.setattr("bert_tf.tasks.suggestions._LENGTHS", (4, 11, 16))
  classifier("--suggest=-")
  shown = capsys.readouterr().out
  assert "is cut: 10.0% at 4, 0.9% at 11, 0.0% at 16\n" in shown and "\nmax_seq_length: 11 " in shown
  assert not (folder / "run.yaml").exists()


def test_questions_and_names(project, folder, tmp_path, capsys):
  fixture = shutil.copytree(project / "tests/fixtures/run_directories/question_answering", tmp_path / "squad")
  suggest(SquadOptions, question_answering.run, f"--train_file={fixture}/train.json", "--max_seq_length=20",
          f"--bert_config_file={fixture}/bert_config.json", "--max_query_length=8", "--doc_stride=4",
          script="run_squad.py")
  text = (folder / "run.yaml").read_text()
  assert "is cut" not in text and configured(SquadOptions, "run_squad.py").doc_stride == 4
  (folder / "run.yaml").unlink()
  toy_names.write_conll(folder / "train.conll", toy_names.make_documents(6, 1))
  suggest(TokenClassificationOptions, token_classification.run, "--train_file=train.conll", "--max_seq_length=24",
          script="run_ner.py")
  assert "is cut" not in (folder / "run.yaml").read_text()
  (folder / "run.yaml").unlink()
  suggest(TokenClassificationOptions, token_classification.run, "--train_file=train.conll", "--context=sentence",
          script="run_ner.py")
  assert configured(TokenClassificationOptions, "run_ner.py").max_seq_length == 32
  with pytest.raises(UserError, match="--suggest is for fine-tuning"):
    cli.parse(TokenClassificationOptions, [
        "run_ner.py", "--feature_based", "--do_train", "--suggest=-", "--output_dir=out"])
