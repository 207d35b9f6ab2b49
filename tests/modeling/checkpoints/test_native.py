"""Our own checkpoints: fixed names, and LoRA's matrices in them."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling import BertForClassification, BertForPreTraining, BertForQuestionAnswering
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.tensorflow_files import LoraWeights, checkpoint_of, lora_matrices, weight_variables
from modeling.checkpoints.weights import native_path, original_names
from tests.modeling.checkpoints.common import assert_same, read_all
from tests.modeling.common import SMALL, arrays, random_features

# Run directories of an earlier version: tests/fixtures/README.md.
EARLIER = pathlib.Path(__file__).resolve().parents[2] / "fixtures/run_directories"

def with_step(model):
  return checkpoint_of({**weight_variables(model), "step": tf.Variable(7, dtype=tf.int64)})


def values(model):
  return {name: variable.numpy() for name, variable in original_names(model).items()}


@pytest.mark.parametrize("strategy", [tf.distribute.get_strategy, lambda: tf.distribute.MirroredStrategy(["CPU:0"])])
def test_weights_come_back(tmp_path, strategy):
  with strategy().scope():
    model = BertForPreTraining(SMALL, seed=1)
  prefix = with_step(model).write(str(tmp_path / "ckpt-7"))
  restored, loaded = BertForPreTraining(SMALL, seed=2), BertForPreTraining(SMALL, seed=3)
  with_step(restored).read(prefix).assert_consumed()
  assert_same(values(restored), values(model))
  report = load_weights(loaded, read_checkpoint(prefix))
  assert_same(values(loaded), values(model))
  assert (report.loaded, report.newly_initialised, report.unused) == ([*original_names(model)], [], [])


def test_a_directory_means_its_newest_checkpoint_wherever_it_was_moved(tmp_path):
  run = tmp_path / "run"
  model = BertForPreTraining(SMALL, seed=1)
  checkpoint = with_step(model)
  manager = tf.train.CheckpointManager(checkpoint, str(run), max_to_keep=2)
  manager.save()
  model.encoder.pooler.bias.assign_add(np.ones(SMALL.hidden_size))
  manager.save()
  SMALL.to_file(str(run / "bert_config.json"))
  (run / "vocab.txt").write_text("[PAD]\n")
  (run / "tokenizer_config.json").write_text('{"do_lower_case": false}')
  moved = run.rename(tmp_path / "moved")

  source = read_checkpoint(str(moved))
  assert source.description == str(moved / "ckpt-2")
  assert (source.config, source.vocab_file, source.do_lower_case) == (SMALL, str(moved / "vocab.txt"), False)
  loaded = BertForPreTraining(SMALL, seed=2)
  load_weights(loaded, source)
  assert_same(values(loaded), values(model))
  assert read_checkpoint(str(moved / "ckpt-1")).read("bert/pooler/dense/bias").sum() == 0


MODELS = {"pretraining": (BertForPreTraining, "ckpt-4"),
          "classification": (lambda config: BertForClassification(config, 2), "best/ckpt-4"),
          "question_answering": (BertForQuestionAnswering, "best/ckpt-8")}


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_of_an_earlier_version_is_read_and_restored(name, tmp_path):
  make_model, prefix = MODELS[name]
  prefix = str(EARLIER / name / "run" / prefix)
  expected = arrays(EARLIER / name / "weights.npz")
  assert_same(read_all(EARLIER / name / "run"), expected)

  source = read_checkpoint(str(EARLIER / name / "run"))
  models = make_model(source.config), make_model(source.config)
  report = load_weights(models[0], source)
  assert (report.newly_initialised, report.unused) == ([], [])
  checkpoint_of(weight_variables(models[1])).read(prefix).assert_existing_objects_matched()
  for model in models:
    assert_same(values(model), expected)

  def weight_keys(prefix):
    return {key for key in tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
            if key.startswith(("encoder/", "heads/"))}

  assert weight_keys(with_step(models[0]).write(str(tmp_path / "ckpt-1"))) == weight_keys(prefix)


def test_the_optimizers_slots_of_an_earlier_version_lie_at_the_native_paths():
  found = {key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for key in tf.train.load_checkpoint(
      str(EARLIER / "pretraining/run/ckpt-4")).get_variable_to_shape_map()}
  paths = {native_path(name) for name in arrays(EARLIER / "pretraining/weights.npz")}
  assert found - {"_CHECKPOINTABLE_OBJECT_GRAPH"} == {
      *paths, *(f"optimizer/{slot}/{path}" for slot in "mv" for path in paths),
      "step", "examples", "loss_scale", "steps_since_overflow", "save_counter"}


def test_a_head_of_a_later_version_is_unused(tmp_path):
  model = BertForPreTraining(SMALL, seed=1)
  head = {"heads/paraphrase/output_weights": tf.Variable([[1.0, 2.0]])}
  prefix = checkpoint_of({**weight_variables(model), **head}).write(str(tmp_path / "ckpt-1"))
  source = read_checkpoint(prefix)
  assert load_weights(BertForPreTraining(SMALL, seed=2), source).unused == ["heads/paraphrase/output_weights"]
  assert source.read("heads/paraphrase/output_weights").tolist() == [[1.0, 2.0]]


FEATURES = random_features(SMALL, 4, 10, predictions=3)


def adapted(seed: int) -> BertForClassification:
  """With updates that are not 0."""
  model = BertForClassification(SMALL, 3, seed=seed)
  model.encoder.enable_lora(2, lora_alpha=3.0, layers="all")
  rng = np.random.default_rng(seed)
  for variable in lora_matrices(model).values():
    variable.assign(rng.normal(0, 0.05, variable.shape))
  return model


def test_merged_and_unmerged_compute_the_same(tmp_path):
  model = adapted(1)
  lora = LoraWeights(model)
  lora.merge()
  prefix = checkpoint_of({**weight_variables(model), **lora.variables}).write(str(tmp_path / "ckpt-3"))
  checkpoint = read_checkpoint(prefix)
  merged = BertForClassification(SMALL, 3, seed=2)
  report = load_weights(merged, checkpoint)
  assert report.unused == [] and report.newly_initialised == []
  np.testing.assert_allclose(merged(FEATURES), model(FEATURES), rtol=0, atol=1e-6)
  # Who resumes has all as it was, and what a seed begins with does not count.
  resumed = adapted(4)
  load_weights(resumed, checkpoint)
  LoraWeights(resumed).load(prefix)
  np.testing.assert_array_equal(resumed(FEATURES), model(FEATURES))
  for name, variable in lora_matrices(model).items():
    np.testing.assert_array_equal(lora_matrices(resumed)[name], variable, err_msg=name)


def test_a_checkpoint_without_updates_is_refused(tmp_path):
  prefix = checkpoint_of(weight_variables(BertForClassification(SMALL, 3))).write(str(tmp_path / "ckpt-3"))
  with pytest.raises(UserError, match="there is no lora/encoder/layer_0/attention/self/query/kernel"):
    LoraWeights(adapted(1)).load(prefix)


def test_the_first_matrix_follows_from_the_seed():
  def matrices(seed):
    keras.utils.set_random_seed(seed + 7)
    model = BertForClassification(SMALL, 3, seed=seed)
    model.encoder.enable_lora(2)
    return {name: variable.numpy() for name, variable in lora_matrices(model).items()}

  first, again, other = matrices(1), matrices(1), matrices(2)
  for name, value in first.items():
    np.testing.assert_array_equal(value, again[name], err_msg=name)
    assert name.endswith("_b") or not np.array_equal(value, other[name])
  assert len({value.tobytes() for name, value in first.items() if name.endswith("_a")}) == len(first) / 2
