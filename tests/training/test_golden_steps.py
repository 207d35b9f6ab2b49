"""The original's steps through the trainer: twenty of pre-training, ten of fine-tuning."""

import json

import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import raw_variables
from modeling.classification import BertForClassification
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from modeling.task_heads import ClassificationHead
from tasks.classification import task as classification
from tests.modeling.common import arrays
from tests.training.common import batches, make_trainer, train
from training.optimization import LearningRateSchedule


@pytest.mark.parametrize(("jit_compile", "gradient_accumulation_steps"), [(False, 1), (True, 4)])
def test_twenty_steps_of_the_original(golden, jit_compile, gradient_accumulation_steps):
  folder = golden / "optimizer"
  expected = json.loads((folder / "pretrain_steps.json").read_text())
  model = BertForPreTraining(BertConfig.from_file(str(folder / "bert_config.json")))
  model.build_weights()
  load_weights(model, read_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
  schedule = LearningRateSchedule(expected["init_lr"], expected["num_train_steps"], expected["num_warmup_steps"])
  trainer = make_trainer(model, batches(arrays(folder / "pretrain_batches.npz")), 8, schedule,
                         jit_compile=jit_compile, gradient_accumulation_steps=gradient_accumulation_steps)
  reports = train(trainer, 2)
  assert_weights(model, folder / "pretrain_weights_after_step2.npz", 5e-6)
  reports += train(trainer, 18)
  assert len(reports) == int(trainer.state.step.numpy()) == 20
  assert_reports(reports, expected["steps"], "total_loss")
  assert_weights(model, folder / "pretrain_final_weights.npz", 2e-4)


@pytest.mark.parametrize(("jit_compile", "gradient_accumulation_steps"), [(False, 1), (True, 4)])
def test_ten_steps_of_the_originals_fine_tuning(golden, jit_compile, gradient_accumulation_steps):
  """Those with one-hot embeddings, as on TPUs: there the clip norm is that of the summed gradient."""
  folder = golden / "optimizer"
  expected = json.loads((folder / "finetune_onehot_steps.json").read_text())
  features = arrays(folder / "finetune_batches.npz")
  head = {name: features.pop(f"initial_{name}") for name in ("output_weights", "output_bias")}
  model = BertForClassification(BertConfig.from_file(str(folder / "bert_config.json")), expected["num_labels"])
  # The original's constant dropout in front of the head was off too.
  model.classifier = ClassificationHead(model.config, expected["num_labels"], dropout_rate=0.0)
  model.build_weights()
  load_weights(model, read_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
  for name, value in head.items():
    getattr(model.classifier, name).assign(value)
  schedule = LearningRateSchedule(expected["init_lr"], expected["num_train_steps"], expected["num_warmup_steps"])
  # As in fine-tuning, the graph does not know how long a batch is.
  dataset = batches(features).map(lambda batch: {
      name: value if name == "label_ids" else tf.compat.v1.placeholder_with_default(value, [8, None])
      for name, value in batch.items()})
  trainer = make_trainer(model, dataset, 8, schedule, task=classification.make_task(model), jit_compile=jit_compile,
                         gradient_accumulation_steps=gradient_accumulation_steps)
  reports = train(trainer, 10)
  assert_reports(reports, expected["steps"], "loss")
  assert_weights(model, folder / "finetune_onehot_final_weights.npz", 2e-4)


def assert_reports(reports, steps, loss):
  assert len(steps) == len(reports)
  for name, key, tolerance in (("learning_rate", "learning_rate", {"rtol": 1e-6}),
                               ("loss", loss, {"rtol": 0, "atol": 5e-5}),
                               ("gradient_norm", "global_grad_norm", {"rtol": 1e-4})):
    np.testing.assert_allclose([report[name] for report in reports], [step[key] for step in steps], **tolerance,
                               err_msg=name)


def assert_weights(model, path, tolerance):
  expected = arrays(path)
  variables = raw_variables(model)
  assert set(variables) == set(expected)
  for name, variable in variables.items():
    np.testing.assert_allclose(variable.numpy(), expected[name], rtol=0, atol=tolerance, err_msg=name)
