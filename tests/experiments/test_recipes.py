"""What data there is for a column, and the split of a development set."""

import json

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_tf.vocabulary.building import ConfigOptions, write_config
from experiments.runner import recipes
from experiments.runner.experiment import COLUMNS, ExperimentOptions
from experiments.runner.jobs import Given
from experiments.runner.recipes import Source
from experiments.split_dev_set import SplitOptions, split
from modeling.config import BertConfig

HEADER = "index\tquestion\tsentence\tlabel"


def lines(path) -> list[str]:
  return path.read_text().splitlines()


@pytest.fixture
def qnli(tmp_path):
  """Ten questions with three sentences each."""
  (tmp_path / "QNLI").mkdir()
  rows = [f"{number}\tQuestion {number // 3}?\tSentence {number}.\tentailment" for number in range(30)]
  (tmp_path / "QNLI" / "dev.tsv").write_text("\n".join([HEADER, *rows]) + "\n")
  return tmp_path


def test_a_development_set_is_split_by_its_first_texts(qnli, tmp_path):
  options = SplitOptions(task_name="qnli", data_dir=str(qnli), output_dir=str(tmp_path / "out"), dev_fraction=0.3)
  split(options)
  train, dev = (lines(tmp_path / "out" / "QNLI" / f"{name}.tsv") for name in ("train", "dev"))
  assert train[0] == dev[0] == HEADER and (len(train), len(dev)) == (22, 10)
  assert sorted(train[1:] + dev[1:]) == sorted(lines(qnli / "QNLI" / "dev.tsv")[1:])
  questions = [{row.split("\t")[1] for row in part[1:]} for part in (train, dev)]
  assert not questions[0] & questions[1]
  # The task's own folder will do; another seed is another split, the same seed is the same.
  split(options.replace(data_dir=str(qnli / "QNLI"), output_dir=str(tmp_path / "again")))
  assert lines(tmp_path / "again" / "QNLI" / "dev.tsv") == dev
  split(options.replace(seed=1, output_dir=str(tmp_path / "other")))
  assert lines(tmp_path / "other" / "QNLI" / "dev.tsv") != dev


@pytest.mark.parametrize("changes, message", [
    ({"task_name": "ax"}, "has no development set"),
    ({"task_name": "rte"}, r"dev\.tsv of RTE is not there"),
    ({"dev_fraction": 0.01}, "10 different first texts can't be split"),
])
def test_what_can_not_be_split(qnli, tmp_path, changes, message):
  options = SplitOptions(**{"task_name": "qnli", "data_dir": str(qnli), "output_dir": str(tmp_path / "out"), **changes})
  with pytest.raises(UserError, match=message):
    split(options)


def test_where_data_is(qnli, tmp_path):
  def found(column: str, **directories) -> Source | str:
    return recipes.find(COLUMNS[column], ExperimentOptions(output_dir="x", **directories))

  source = found("qnli", glue_dir=str(qnli))
  assert source.split and source.examples == 30 and "four fifths" in source.note
  assert "has no train.tsv and dev.tsv" in found("rte", glue_dir=str(qnli))
  assert found("swag") == "--swag_dir was not given"
  assert "neither train.csv and val.csv of SWAG nor codah" in found("swag", swag_dir=str(qnli))
  assert "train-v1.1.json and " in found("squad", squad_dir=str(qnli))
  for name in ("eng.train", "eng.testa", "eng.testb"):
    (tmp_path / name).write_text("A\tO\n\nB\tO\n\n")
  source = found("ner_features", ner_dir=str(tmp_path))
  assert source.flags == {name: Given(str(tmp_path / file)) for name, file in (
      ("train_file", "eng.train"), ("dev_file", "eng.testa"))}
  assert source.note is None and source.examples == 2
  assert "no file for train" in found("ner", ner_dir=str(qnli / "QNLI"))
  # A plan needs none.
  plan = recipes.find(COLUMNS["mnli"], ExperimentOptions(print_plan=True))
  assert plan.flags == {"data_dir": Given("glue_dir/MNLI")} and plan.examples == 392_702


def test_a_configuration_for_a_vocabulary(tmp_path):
  (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
  command = ["x", f"--vocab_file={tmp_path / 'vocab.txt'}", f"--output_dir={tmp_path}", "--num_hidden_layers=2",
             "--hidden_size=12", "--num_attention_heads=3", "--hidden_dropout_prob=0"]
  write_config(cli.parse(ConfigOptions, command))
  config = BertConfig.from_file(str(tmp_path / "bert_config.json"))
  assert (config.vocab_size, config.intermediate_size, config.num_attention_heads) == (6, 48, 3)
  assert config.hidden_dropout_prob == 0 and not config.causal
  write_config(cli.parse(ConfigOptions, [*command, "--causal"]))
  assert json.loads((tmp_path / "bert_config.json").read_text())["is_decoder"] is True
  with pytest.raises(UserError, match="not a multiple"):
    write_config(cli.parse(ConfigOptions, [*command, "--num_attention_heads=5"]))


def test_data_that_is_no_text_is_named(tmp_path):
  for name in ("train.csv", "val.csv"):
    (tmp_path / name).write_bytes(b"a\n\xff\n")
  with pytest.raises(UserError, match=r"train.csv:2: byte 1 of the line \(0xff\) is not UTF-8"):
    recipes.find(COLUMNS["swag"], ExperimentOptions(output_dir=str(tmp_path / "out"), swag_dir=str(tmp_path)))
