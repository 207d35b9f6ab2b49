"""The comparison with transformers on the same weights, for the encoder and for both tasks."""

import re

import pytest

pytest.importorskip("transformers", reason="transformers is not installed (requirements-peers.txt)")

from benchmarks import huggingface_agreement
from bert_common.errors import UserError
from tests.tiny import write_tiny


@pytest.fixture
def model(tmp_path):
  """Writes a Hugging Face directory with a head."""
  def write(*heads):
    (tmp_path / "model").mkdir()
    return write_tiny(tmp_path / "model", *heads, output_format="huggingface")
  return write


def largest_differences(capsys) -> dict[str, float]:
  return {name: float(value) for name, value in re.findall(
      r"^largest difference of (\w+): ([-\d.e]+)", capsys.readouterr().out, re.MULTILINE)}


def compare(model, path, **changes):
  huggingface_agreement.main(huggingface_agreement.AgreementOptions(
      model=model, input_file=str(path), count=3, max_seq_length=16, **changes))


def test_encoder(model, tmp_path, capsys):
  (tmp_path / "lines.txt").write_text("the array is sorted .\n\na list\nwho is returned ?\nis\n")
  compare(model(), tmp_path / "lines.txt")
  found = largest_differences(capsys)
  assert found.keys() == {"sequence_output", "pooled_output"} and max(found.values()) < 2e-5


def test_token_classification(model, tmp_path, capsys):
  (tmp_path / "words.conll").write_text("the\tO\narray\tB-thing\n\n" * 4)
  compare(model("token_classification"), tmp_path / "words.conll", task="token_classification")
  found = largest_differences(capsys)
  assert found.keys() == {"logits"} and found["logits"] < 2e-5


def test_multiple_choice(model, tmp_path, capsys):
  heading = "video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
  (tmp_path / "questions.csv").write_text(heading + "".join(
      f"{number},{number},the array,the array,,gold,is a list,is sorted,is a mask,is the array,{number % 4}\n"
      for number in range(4)))
  compare(model("multiple_choice"), tmp_path / "questions.csv", task="multiple_choice")
  found = largest_differences(capsys)
  assert found.keys() == {"logits"} and found["logits"] < 2e-5


def test_a_model_without_the_head(model, tmp_path):
  (tmp_path / "words.conll").write_text("the\tO\n\n")
  with pytest.raises(UserError, match="has no head for --task=token_classification"):
    compare(model(), tmp_path / "words.conll", task="token_classification")
