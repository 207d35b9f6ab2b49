"""Twenty steps of the original's optimizer through the trainer."""

import json

import numpy as np
import pytest

from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.checkpoints.names import raw_variables
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from tests.modeling.common import arrays
from tests.training.common import batches, make_trainer, train
from training.optimization import LearningRateSchedule


@pytest.mark.parametrize(("jit_compile", "gradient_accumulation_steps"), [(False, 1), (True, 4)])
def test_twenty_steps_of_the_original(golden, jit_compile, gradient_accumulation_steps):
  folder = golden / "optimizer"
  expected = json.loads((folder / "pretrain_steps.json").read_text())
  model = BertForPreTraining(BertConfig.from_file(str(folder / "bert_config.json")))
  model.build_weights()
  load_weights(model, open_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
  schedule = LearningRateSchedule(expected["init_lr"], expected["num_train_steps"], expected["num_warmup_steps"])
  trainer = make_trainer(model, batches(arrays(folder / "pretrain_batches.npz")), 8, schedule,
                         jit_compile=jit_compile, gradient_accumulation_steps=gradient_accumulation_steps)
  reports = train(trainer, 2)
  assert_weights(model, folder / "pretrain_weights_after_step2.npz", 5e-6)
  reports += train(trainer, 18)
  steps = expected["steps"]
  assert len(steps) == len(reports) == int(trainer.state.step.numpy()) == 20
  for name, key, tolerance in (("learning_rate", "learning_rate", {"rtol": 1e-6}),
                               ("loss", "total_loss", {"rtol": 0, "atol": 5e-5}),
                               ("gradient_norm", "global_grad_norm", {"rtol": 1e-4})):
    np.testing.assert_allclose([report[name] for report in reports], [step[key] for step in steps], **tolerance,
                               err_msg=name)
  assert_weights(model, folder / "pretrain_final_weights.npz", 2e-4)


def assert_weights(model, path, tolerance):
  expected = arrays(path)
  variables = raw_variables(model)
  assert set(variables) == set(expected)
  for name, variable in variables.items():
    np.testing.assert_allclose(variable.numpy(), expected[name], rtol=0, atol=tolerance, err_msg=name)
