"""A BiLSTM on fixed activations: all rows of table 7, resuming, and what is kept."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.common.errors import UserError
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks.token_classification.feature_based import make_choices
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.task import run
from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.checkpoints.weights import original_names
from modeling.checkpoints.write import write_checkpoint
from modeling.encoder import BertEncoder
from modeling.feature_tagger import FeatureTagger
from tests.bert_tf.tasks.token_classification.toy_names import CONFIG, TOKENS, make_documents, write_conll


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("features")
  (folder / "words.txt").write_text("\n".join(TOKENS) + "\n")
  (folder / "model").mkdir()
  weights = {name: np.asarray(one.value) for name, one in original_names(BertEncoder(CONFIG, seed=3)).items()}
  write_checkpoint("native", str(folder / "model"), weights, CONFIG, str(folder / "words.txt"), True)
  for name, count, seed in (("train", 60, 1), ("dev", 15, 2), ("test", 15, 3)):
    write_conll(folder / f"{name}.conll", make_documents(count, seed))
  return folder


def options(folder, output_dir, **changes) -> TokenClassificationOptions:
  given = dict(data_dir=str(folder), output_dir=str(output_dir), init_checkpoint=f"{folder}/model", do_train=True,
               do_predict=True, feature_based=True, lstm_units=12, lstm_layers=1, max_seq_length=40,
               num_train_epochs=10, learning_rate=0.02, train_batch_size=16, seed=1)
  given |= changes
  return TokenClassificationOptions(**given, given=frozenset(given))


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
  directory = tmp_path_factory.mktemp("run")
  assert run(options(folder, directory, layers=("1", "-1"), combine="weighted_sum")) == 0
  return directory


def test_it_learns_from_activations_that_are_kept(folder, trained):
  (row,) = json_files.read(str(trained / "feature_based.json"))["rows"]
  assert row["layers"] == [1, 2]
  assert row["runs"][0]["dev"]["f1"] > 0.5
  assert (trained / "weighted_sum_1_2_seed1" / "test_predictions.txt").exists()
  stored = np.load(trained / "activations" / "dev.npy", mmap_mode="r")
  assert (stored.dtype, stored.shape[1:]) == (np.float16, (2, CONFIG.hidden_size))
  # The first sentence's words, all of one sub-token, as the encoder sees them in the window of their document.
  opened = open_checkpoint(f"{folder}/model")
  encoder = BertEncoder(opened.config)
  load_weights(encoder, opened.source)
  document = (folder / "dev.conll").read_text().split("-DOCSTART-")[1]
  words = [line.split()[0] for line in document.splitlines()[1:] if line]
  ids = tf.constant([[TOKENS.index(word) for word in ["[CLS]", *words, "[SEP]"]]])
  outputs = encoder(ids)
  for column in (0, 1):
    np.testing.assert_allclose(stored[:len(words), column], outputs[f"encoder_layer_{column}"][0, 1:-1], atol=2e-3)


def test_a_run_that_was_stopped_gives_the_same(folder, trained, tmp_path):
  changes = dict(layers=("1", "-1"), combine="weighted_sum")
  run(options(folder, tmp_path, num_train_epochs=1, **changes))
  (tmp_path / "weighted_sum_1_2_seed1" / "result.json").unlink()
  record = tmp_path / "activations" / "train.json"
  state = json_files.read(str(record))
  json_files.write(str(record), {**state, "windows": state["windows"] // 2})
  run(options(folder, tmp_path, **changes))
  results = [json_files.read(str(path / "weighted_sum_1_2_seed1" / "result.json")) for path in (trained, tmp_path)]
  assert results[0]["dev"] == results[1]["dev"] and results[0]["epoch"] == results[1]["epoch"]
  np.testing.assert_array_equal(np.load(trained / "activations" / "train.npy"),
                                np.load(tmp_path / "activations" / "train.npy"))


@pytest.fixture(scope="module")
def of_sentences(folder, tmp_path_factory):
  """A run whose sentences are read alone, as those of predictions are."""
  directory = tmp_path_factory.mktemp("of_sentences")
  run(options(folder, directory, context="sentence", lstm_layers=2, layers=("0", "-1"), combine="concat",
              activation_precision="float32"))
  return directory


def test_predictions_are_those_of_the_run(folder, of_sentences):
  predictor = Predictor.from_checkpoint(str(of_sentences))
  assert predictor.task == "ner_features"
  blocks = (of_sentences / "concat_0_2_seed1" / "test_predictions.txt").read_text().strip().split("\n\n")
  sentences = [[line.split() for line in block.splitlines()] for block in blocks]
  results = predictor([{"tokens": [word for word, *_ in sentence]} for sentence in sentences])
  assert [result["tags"] for result in results] == [[guess for *_, guess in sentence] for sentence in sentences]
  assert any(result["entities"] for result in results)
  assert predictor([{"tokens": []}]) == [{"entities": [], "tags": []}]
  # The encoder is there, too, for whatever else.
  assert Predictor.from_checkpoint(str(of_sentences), "features").task == "features"


def test_an_export_gives_what_predictions_give(folder, of_sentences, tmp_path):
  words = [[line.split()[0] for line in block.splitlines() if line and not line.startswith("-DOC")]
           for block in (folder / "test.conll").read_text().split("\n\n")]
  texts = ["", *(" ".join(sentence) for sentence in words if sentence)]
  report = export(ExportOptions(init_checkpoint=str(of_sentences), export_dir=str(tmp_path / "1")))
  assert report.max_difference < 1e-5
  outputs = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](text=tf.constant(texts))
  found = 0
  for row, result in enumerate(Predictor.from_checkpoint(str(of_sentences))(texts)):
    spans = [(one["start"], one["end"], one["label"].encode()) for one in result["entities"]]
    assert spans == [tuple(outputs[name].numpy()[row, number] for name in ("start", "end", "label"))
                     for number in range(len(spans))]
    assert (outputs["start"].numpy()[row, len(spans):] == -1).all()
    found += len(spans)
  assert found > 0


@pytest.mark.parametrize(("change", "message"), [
    ({"combine": "sum"}, "the tagger on fixed activations does not fit its task.json: lstm_0/backward/kernel is"),
    ({"combine": "mean"}, "combine in task.json is 'mean', one of concat, sum, weighted_sum"),
    ({"layers": [3]}, "layers in task.json is .3., a list of numbers of layers, 0 to 2"),
    ({"labels": ["O"]}, "must name . different labels")])
def test_files_that_do_not_belong_together(of_sentences, tmp_path, change, message):
  shutil.copytree(of_sentences / "best", tmp_path / "best")
  task = json_files.read(str(tmp_path / "best" / "task.json"))
  json_files.write(str(tmp_path / "best" / "task.json"), {**task, **change})
  with pytest.raises(UserError, match=message):
    Predictor.from_checkpoint(str(tmp_path / "best"))


def test_the_rows_of_table_7(folder):
  rows = make_choices(options(folder, "x", layers=("all",)), CONFIG)
  # This model has two layers: the rows of the last four are left out.
  assert [(row.layers, row.combine, row.paper_f1) for row in rows] == [
      ((0,), "concat", 91.0), ((1,), "concat", 95.6), ((2,), "concat", 94.9), ((1, 2), "weighted_sum", 95.5)]
  with pytest.raises(UserError, match="there is no layer 3"):
    make_choices(options(folder, "x", layers=("3",)), CONFIG)


def test_ways_of_combining_layers():
  vectors = tf.constant(np.random.default_rng(1).normal(size=(2, 3, 4, 5)), tf.float32)
  mask = tf.constant([[True, True, True], [True, False, False]])
  for combine, width in (("concat", 20), ("sum", 5), ("weighted_sum", 5)):
    model = FeatureTagger(3, 4, combine, units=2, seed=1)
    assert model(vectors, mask).shape == (2, 3, 3)
    assert model.lstms[0].forward_layer.cell.kernel.shape[0] == width
    # What stands behind a sentence does not matter.
    changed = tf.concat([vectors[:, :1], vectors[:, 1:] + 7.0], 1)
    np.testing.assert_allclose(model(changed, mask)[1, 0], model(vectors, mask)[1, 0], atol=1e-6)
  with pytest.raises(ValueError, match="none of concat"):
    FeatureTagger(3, 4, "mean")


@pytest.mark.parametrize(("changes", "message"), [
    ({"do_train": False}, "give --do_train"), ({"context": "vote"}, "--context=vote is for fine-tuned models"),
    ({"init_checkpoint": None}, "give --init_checkpoint"),
    ({"sweep": {"learning_rate": (1.0, 2.0)}}, "--learning_rate: with --feature_based only --seed takes several")])
def test_what_does_not_fit_is_refused(folder, tmp_path, changes, message):
  with pytest.raises(UserError, match=message):
    run(options(folder, tmp_path, **changes))
