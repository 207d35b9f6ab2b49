"""Short turns of the programs of all tasks."""

import importlib.util
import re

import pytest

from benchmarks.finetuning import FinetuningOptions, main, turn_steps
from bert_common.errors import UserError

SMALL = {"size": "L1-H32", "batch_size": 4, "max_seq_length": 24, "max_steps": 1, "turns": 2,
         "one_process": True}


def test_an_epoch_is_cut_into_turns():
  assert turn_steps(114, 4, None) == [29, 29, 28, 28]
  assert turn_steps(114, 1, None) == [114]
  assert turn_steps(3, 4, None) == [1, 1, 1]
  assert turn_steps(114, 2, 5) == [5, 5]


@pytest.mark.parametrize("task, predict, programs, title", [
    ("classification", False, ("ours", "model_garden_grouped", "pytorch_grouped"), "3,668 examples, sequences of "),
    ("multiple_choice", False, ("ours", "model_garden", "pytorch"), "1,664 questions, 6,656 sequences of "),
    ("token_classification", False, ("ours", "model_garden", "pytorch"), "3,392 sentences, sequences of "),
    ("token_classification", True, ("ours_predict", "model_garden_predict", "pytorch_predict"),
     "3,392 sentences, sequences of ")])
def test_the_command(task, predict, programs, title, capsys, monkeypatch):
  monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
  has_torch = importlib.util.find_spec("transformers")
  programs = programs if has_torch else programs[:2]
  main(FinetuningOptions(**SMALL, task=task, predict=predict, programs=programs))
  printed = capsys.readouterr().out
  assert f"L1-H32, batch 4, limit 24, {title}" in printed and "2 steps in 2 turns" in printed
  assert re.search(rf"^{programs[0]} +[1-9][\d.,]* .* 1\.00x$", printed, re.MULTILINE), printed
  for name in programs[1:]:
    assert re.search(rf"^{name} +[1-9][\d.,]* .*x +[\d.]+ to [\d.]+$", printed, re.MULTILINE), printed
  if not has_torch:
    pytest.skip("PyTorch and transformers are not installed (pip install --group peers); the others ran")


def test_pairs_of_sentences(tmp_path, capsys, monkeypatch):
  monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
  (tmp_path / "STS-B").mkdir()
  rows = [["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2", "score"]]
  rows += [[*"0123456", "A boat left. " * (number + 1), "The bay.", "2.5"] for number in range(9)]
  (tmp_path / "STS-B" / "train.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
  programs = ("ours", *(("sentence_transformers",) if importlib.util.find_spec("sentence_transformers") else ()))
  main(FinetuningOptions(**SMALL, task="sentence_embedding", data_dir=str(tmp_path), programs=programs))
  printed = capsys.readouterr().out
  assert "L1-H32, batch 4, limit 24, 8 pairs, 16 sequences of " in printed
  assert all(re.search(rf"^{name} +[1-9]", printed, re.MULTILINE) for name in programs), printed


def test_programs_of_other_tasks_are_refused():
  with pytest.raises(UserError, match="--task=multiple_choice has no pytorch_dynamic: use some of ours, "):
    FinetuningOptions(task="multiple_choice", programs=("ours", "pytorch_dynamic")).check()
  with pytest.raises(UserError, match="--task=sentence_embedding needs --data_dir"):
    FinetuningOptions(task="sentence_embedding").check()
  with pytest.raises(UserError, match="--predict is for --task=token_classification"):
    FinetuningOptions(predict=True).check()
  assert list(FinetuningOptions(task="token_classification", predict=True).chosen()) == [
      "ours_predict", "model_garden_predict", "model_garden_grouped_predict", "pytorch_predict"]
  assert "ours_padded" not in FinetuningOptions().chosen()
