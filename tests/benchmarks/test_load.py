"""The benchmark of load runs small: answers are counted, errors are told, both kinds of exports are asked."""

import pytest

from benchmarks import load
from bert_common.errors import UserError
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from tests.tiny import WORDS, write_tiny


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
  root = tmp_path_factory.mktemp("load")
  (root / "model").mkdir()
  checkpoint = write_tiny(root / "model")
  (root / "texts.txt").write_text("\n".join(" ".join(WORDS[:size]) for size in range(1, 7)))
  for name in ("saved_model", "onnx"):
    export(ExportOptions(init_checkpoint=checkpoint, export_dir=str(root / name), task="features", format=name))
  return root


@pytest.mark.parametrize("name", ["saved_model", "onnx"])
def test_clients_are_answered(exports, capsys, name):
  load.main(load.LoadOptions(export_dir=str(exports / name), text_file=str(exports / "texts.txt"), clients=(1, 3),
                             seconds=1.0))
  heading, *rows = capsys.readouterr().out.splitlines()
  assert heading.split()[0] == "clients"
  for row, clients in zip(rows, ("1", "3"), strict=True):
    values = row.replace(",", "").split()
    assert values[0] == clients and values[-1] == "0" and int(values[1]) > 0
    assert 0 < float(values[3]) <= float(values[4]) <= float(values[5]) and float(values[6]) > 100


def test_errors_are_counted(exports):
  def fail(text):
    raise ValueError(f"no answer to {text}")

  taken, errors, _, _ = load._ask(fail, ["a"], 2, 1.0)
  assert not taken and len(errors) > 1 and set(errors) == {"no answer to a"}


def test_a_model_of_two_texts_is_refused(tmp_path):
  import tensorflow as tf

  pair = tf.function(lambda a, b: {"both": tf.strings.join([a, b])}, autograph=False).get_concrete_function(
      a=tf.TensorSpec([None], tf.string, "a"), b=tf.TensorSpec([None], tf.string, "b"))
  tf.saved_model.save(tf.Module(), str(tmp_path / "pair"), signatures=pair)
  with pytest.raises(UserError, match="takes a and b, a model of one text is expected"):
    load._load(str(tmp_path / "pair"))
