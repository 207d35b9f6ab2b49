"""XNLI's files, as they are downloaded."""

import pathlib

import pytest

from bert_common.errors import UserError
from data_gen.labelled.glue import XNLI_LABELS as LABELS
from data_gen.labelled.glue import read_xnli_evaluation as read_evaluation
from data_gen.labelled.glue import read_xnli_training as read_training

HEADER = ("language\tgold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
          "sentence1\tsentence2\tpromptID\tpairID\tgenre")


def write(folder: pathlib.Path, below: bool = False, rows: int = 6) -> str:
  """Training data in "zh"; development and test data in "en" and "zh"; `below` as the archives unpack."""
  training = folder / ("XNLI-MT-1.0/multinli" if below else "multinli")
  evaluation = folder / ("XNLI-1.0" if below else "")
  for one in (training, evaluation):
    one.mkdir(parents=True, exist_ok=True)
  names = ("contradictory", "entailment", "neutral")
  (training / "multinli.train.zh.tsv").write_text("premise\thypo\tlabel\n" + "".join(
      f'the "book {row}\tis a film\t{names[row % 3]}\n' for row in range(rows)))
  for split in ("dev", "test"):
    (evaluation / f"xnli.{split}.tsv").write_text(HEADER + "\n" + "".join(
        f"{language}\t{LABELS[row % 3]}\t\t\t\t\t{language} premise {row}\tso it is\t1\t2\tx\n"
        for language in ("en", "zh") for row in range(rows)))
  return str(folder)


@pytest.mark.parametrize("below", [False, True])
def test_training_and_evaluation(tmp_path, below):
  folder = write(tmp_path, below)
  train = read_training(folder, "zh", LABELS)
  assert train.text_a[:2] == ['the "book 0', 'the "book 1'] and train.text_b[0] == "is a film"
  assert train.labels.tolist() == [0, 1, 2, 0, 1, 2] and train.ids[:2] == ["0", "1"]
  dev = read_evaluation(folder, "dev", ("zh",), LABELS)
  assert list(dev) == ["zh"] and dev["zh"].text_a == [f"zh premise {row}" for row in range(6)]
  assert list(read_evaluation(folder, "test", ("all",), LABELS)) == ["en", "zh"]
  both = read_evaluation(folder, "dev", ("zh", "en"), ("neutral", "entailment", "contradiction"))
  assert list(both) == ["zh", "en"] and both["en"].labels.tolist() == [2, 1, 0, 2, 1, 0]


def test_what_is_missing_is_named(tmp_path):
  folder = write(tmp_path)
  with pytest.raises(UserError, match=r"multinli.train.fr.tsv of XNLI is not there: looked for .*XNLI-MT-1.0"):
    read_training(folder, "fr", LABELS)
  with pytest.raises(UserError, match=r"xnli.dev.tsv has no examples in 'fr': the languages are en, zh"):
    read_evaluation(folder, "dev", ("zh", "fr"), LABELS)
  (tmp_path / "xnli.dev.tsv").write_text(HEADER.replace("gold_label", "label") + "\n")
  with pytest.raises(UserError, match=r"xnli.dev.tsv:1: no column 'gold_label'"):
    read_evaluation(folder, "dev", ("zh",), LABELS)
