"""The original's steps through the trainer: twenty of pre-training, ten of fine-tuning."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.optimizer import AdamWeightDecay
from modeling import encoder
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.fine_tuning import BertForClassification
from modeling.optimizer import WarmupDecay
from modeling.pretraining import BertForPreTraining
from tests.bert_tf.training.common import batches, make_trainer, train
from tests.golden.values import assert_close
from tests.modeling.common import arrays

# Largest differences of a loss, of the gradient norm (relative) and of a final weight: see
# tests/golden/README.md.
LOSS, NORM, WEIGHT = 5e-5, 1e-4, 2e-4


# (jit_compile, gradient_accumulation_steps)
@pytest.mark.golden
@pytest.mark.parametrize(("jit_compile", "parts"), [(False, 4), (True, 1)])
def test_twenty_steps_of_the_original(golden, jit_compile, parts):
    folder = golden / "optimizer"
    expected = json.loads((folder / "pretrain_steps.json").read_text())
    model = BertForPreTraining(BertConfig.from_file(str(folder / "bert_config.json")))
    load_weights(model, read_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
    trainer = make_trainer(
        model,
        batches(arrays(folder / "pretrain_batches.npz")),
        8,
        schedule_of(expected),
        jit_compile=jit_compile,
        gradient_accumulation_steps=parts,
    )
    reports = train(trainer, 2)
    assert_close(raw_variables(model), folder / "pretrain_weights_after_step2.npz", 5e-6)
    reports += train(trainer, 18)
    assert len(reports) == int(trainer.state.step.numpy()) == 20
    assert_reports(reports, expected["steps"], "total_loss")
    assert_close(raw_variables(model), folder / "pretrain_final_weights.npz", WEIGHT)


@pytest.mark.golden
def test_ten_steps_of_the_originals_fine_tuning(golden):
    """As on TPUs: there the clip norm is that of the summed gradient. That XLA computes the same
    steps of every task is in `tests/bert_tf/runs/test_run.py`, and with the values of the original
    above."""
    folder = golden / "optimizer"
    expected = json.loads((folder / "finetune_onehot_steps.json").read_text())
    model, features = fine_tuning(golden, folder)
    # As in fine-tuning, the graph does not know how long a batch is.
    dataset = batches(features).map(
        lambda batch: {
            name: value
            if name == "label_ids"
            else tf.compat.v1.placeholder_with_default(value, [8, None])
            for name, value in batch.items()
        }
    )
    trainer = make_trainer(
        model,
        dataset,
        8,
        schedule_of(expected),
        loss=model.head_losses[0],
        jit_compile=False,
        gradient_accumulation_steps=4,
    )
    reports = train(trainer, 10)
    assert_reports(reports, expected["steps"], "loss")
    assert_close(raw_variables(model), folder / "finetune_onehot_final_weights.npz", WEIGHT)


@pytest.mark.golden
def test_the_originals_fine_tuning_on_cpus_and_gpus_differs_in_the_clip_norm_only(
    golden, golden_set, monkeypatch
):
    """There the norm counts the rows of the word embeddings' gradient one by one, before equal
    words are summed."""
    folder = golden_set / "optimizer"
    expected = json.loads((folder / "finetune_steps.json").read_text())
    model, features = fine_tuning(golden, folder)
    # The original's lookup: its gradient is a list of rows.
    monkeypatch.setattr(encoder, "lookup", tf.gather)
    loss_of, schedule = model.head_losses[0], schedule_of(expected)
    optimizer = AdamWeightDecay(raw_variables(model), clip_norm=None)
    reports, summed_norms = [], []
    for step, batch in enumerate(batches(features)):
        with tf.GradientTape() as tape:
            sums = loss_of.sums(model(batch), batch)
            loss = sums["classification_loss_sum"] / sums["classification_count"]
        gradients = tape.gradient(loss, optimizer.variables)
        rows = [
            name
            for name, gradient in zip(optimizer.names, gradients, strict=True)
            if isinstance(gradient, tf.IndexedSlices)
        ]
        assert rows == expected["indexed_slices_gradients"] == ["bert/embeddings/word_embeddings"]
        norm = tf.linalg.global_norm(gradients)
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        summed_norms.append(float(tf.linalg.global_norm(gradients)))
        rate = schedule(tf.constant(step, tf.int64))
        optimizer.update(
            [gradient / tf.maximum(norm, 1.0) for gradient in gradients],
            rate,
            tf.constant(step, tf.int64),
        )
        reports.append(
            {"loss": float(loss), "gradient_norm": float(norm), "learning_rate": float(rate)}
        )
    assert_reports(reports, expected["steps"], "loss", norm_tolerance=5e-4)
    wanted = [step["global_norm_if_slices_were_summed"] for step in expected["steps"]]
    np.testing.assert_allclose(summed_norms, wanted, rtol=5e-4)
    assert_close(raw_variables(model), folder / "finetune_final_weights.npz", WEIGHT)


def fine_tuning(golden, folder) -> tuple[BertForClassification, dict]:
    """The classifier before the first step, without dropout, and its batches [step, batch, ...]."""
    features = arrays(folder / "finetune_batches.npz")
    head = {name: features.pop(f"initial_{name}") for name in ("output_weights", "output_bias")}
    classes = len(head["output_bias"])
    # The original's constant dropout in front of the head was off too.
    model = BertForClassification(
        BertConfig.from_file(str(folder / "bert_config.json")), classes, head_dropout=0.0
    )
    load_weights(model, read_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
    for name, value in head.items():
        getattr(model.classifier, name).assign(value)
    return model, features


def schedule_of(expected) -> WarmupDecay:
    return WarmupDecay(
        expected["init_lr"], expected["num_train_steps"], expected["num_warmup_steps"]
    )


def assert_reports(reports, steps, loss, norm_tolerance=NORM):
    assert len(steps) == len(reports)
    for name, key, tolerance in (
        ("learning_rate", "learning_rate", {"rtol": 1e-6}),
        ("loss", loss, {"rtol": 0, "atol": LOSS}),
        ("gradient_norm", "global_grad_norm", {"rtol": norm_tolerance}),
    ):
        np.testing.assert_allclose(
            [report[name] for report in reports],
            [step[key] for step in steps],
            **tolerance,
            err_msg=name,
        )
