"""LAMB in runs, and MLPerf's files: a TensorFlow 1 checkpoint with LAMB's slots, its records, and
the accuracy of a whole evaluation set."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.inference.conversion import run as convert_run
from bert_tf.tasks.classification import task as classification
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.pretraining import task as pretraining
from bert_tf.tasks.pretraining.options import PretrainingOptions
from modeling.checkpoints.convert import ConvertOptions
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import model_shapes
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from tests.bert_tf.tasks.classification.toy_task import own_task, write_csv, write_model
from tests.bert_tf.training.common import LENGTH, PREDICTIONS, instances, write_records
from tests.refusals import assert_refused

HEADS = {
    "cls/predictions/output_bias": (50,),
    "cls/seq_relationship/output_weights": (2, 8),
}
CONFIG = BertConfig(
    vocab_size=50,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=LENGTH,
)


@pytest.fixture(scope="module")
def mlperf(tmp_path_factory):
    """A directory with model.ckpt-28252 and bert_config.json, as MLPerf's, and records."""
    folder = tmp_path_factory.mktemp("mlperf")
    rng = np.random.default_rng(0)
    tensors = {}
    for name, shape in model_shapes(CONFIG, HEADS).items():
        value = rng.normal(0, 0.05, shape).astype(np.float32)
        tensors[name] = value
        tensors[f"{name}/LAMB"] = value * np.float32(0.01)
        tensors[f"{name}/LAMB_1"] = np.square(value)
    tensors["global_step"] = np.int64(28252)
    tensors["beta1_power"] = np.float32(0)
    tensors["beta2_power"] = np.float32(5e-13)
    tf.raw_ops.SaveV2(
        prefix=str(folder / "model.ckpt-28252"),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(value) for value in tensors.values()],
    )
    CONFIG.to_file(str(folder / "bert_config.json"))
    write_records(folder / "part-00000-of-00002", 20, vocab_size=50)
    write_records(folder / "part-00001-of-00002", 20, 20, vocab_size=50)
    write_records(folder / "eval_10k", 21, 20, vocab_size=50)
    return folder


def options(mlperf, output_dir, **changes) -> PretrainingOptions:
    values = {
        "input_file": f"{mlperf}/part-*",
        "eval_file": f"{mlperf}/eval_10k",
        "init_checkpoint": f"{mlperf}/model.ckpt-28252",
        "bert_config_file": f"{mlperf}/bert_config.json",
        "output_dir": str(output_dir),
        "max_seq_length": LENGTH,
        "max_predictions_per_seq": PREDICTIONS,
        "optimizer": "lamb",
        "optimizer_betas": (0.60466, 0.85437),
        "weight_decay": 0.1,
        "learning_rate": 9.6e-4,
        "num_warmup_steps": 0,
        "num_train_steps": 4,
        "train_batch_size": 8,
        "save_checkpoints_steps": 2,
        "do_train": True,
    }
    return PretrainingOptions(**{**values, **changes})


def contents(prefix) -> dict[str, bytes]:
    reader = tf.train.load_checkpoint(str(prefix))
    values = {}
    for key in reader.get_variable_to_shape_map():
        if not key.startswith(("save_counter", "run_id", "_CHECKPOINTABLE_OBJECT_GRAPH")):
            values[key] = np.asarray(reader.get_tensor(key)).tobytes()
    return values


def test_a_run_with_lamb_is_resumed_bit_for_bit_and_other_optimizers_refuse_it(mlperf, tmp_path):
    whole = options(mlperf, tmp_path / "whole")
    assert pretraining.run(whole) == 0
    # The rates of a run that was stopped are those of the whole run.
    part = options(mlperf, tmp_path / "part", num_train_steps=2, lr_schedule="constant")
    assert pretraining.run(part) == 0
    whole_constant = options(mlperf, tmp_path / "constant", lr_schedule="constant")
    assert pretraining.run(whole_constant) == 0
    assert pretraining.run(part.replace(num_train_steps=4)) == 0
    expected = contents(tmp_path / "constant/ckpt-4")
    assert contents(tmp_path / "part/ckpt-4") == expected
    assert any(key.startswith("optimizer/lamb_v/") for key in expected)
    assert contents(tmp_path / "whole/ckpt-4") != expected

    adamw = options(mlperf, tmp_path / "adamw", optimizer="adamw", num_train_steps=2)
    assert pretraining.run(adamw) == 0
    for first, second in (("lamb", "adamw"), ("adamw", "lamb")):
        directory = {"lamb": tmp_path / "part", "adamw": tmp_path / "adamw"}[first]
        again = options(mlperf, directory, optimizer=second, num_train_steps=6)
        parts = f"--optimizer={first}", f"--optimizer={second}"
        assert_refused(lambda again=again: pretraining.run(again), *parts)
    # A directory without flags, such as a converted one, is refused for its slots.
    os.remove(tmp_path / "adamw/flags.json")
    again = options(mlperf, tmp_path / "adamw", num_train_steps=6)
    assert_refused(lambda: pretraining.run(again), "optimizer/lamb_m/", "another --optimizer, m")


def test_slots_are_converted_to_and_from_the_names_of_tensorflow_1(mlperf, tmp_path):
    def convert(source, output_format, output):
        convert_run(
            ConvertOptions(
                input=str(source),
                output_format=output_format,
                output=str(tmp_path / output),
                bert_config_file=f"{mlperf}/bert_config.json",
                optimizer_state=True,
            )
        )

    convert(mlperf / "model.ckpt-28252", "native", "run")
    convert(tmp_path / "run", "original", "original")
    expected = contents(mlperf / "model.ckpt-28252")
    # They follow from the step.
    for name in ("beta1_power", "beta2_power"):
        del expected[name]
    assert contents(tmp_path / "original/bert_model.ckpt") == expected
    # The converted directory is a run that goes on.
    further = options(mlperf, tmp_path / "run", num_train_steps=28254, init_checkpoint=None)
    assert pretraining.run(further) == 0
    assert os.path.exists(tmp_path / "run/ckpt-28254.index")
    convert(tmp_path / "run", "original", "further")
    assert set(contents(tmp_path / "further/bert_model.ckpt")) == set(expected)
    # AdamW's have the names of the original.
    adamw = options(mlperf, tmp_path / "adamw", optimizer="adamw", num_train_steps=2)
    assert pretraining.run(adamw) == 0
    convert(tmp_path / "adamw", "original", "adamw_original")
    assert "bert/pooler/dense/kernel/adam_v" in contents(
        tmp_path / "adamw_original/bert_model.ckpt"
    )
    for changes, part in (
        ({"output_format": "huggingface"}, "huggingface"),
        ({"input": f"{tmp_path}/run,{tmp_path}/adamw"}, "mean"),
    ):
        values = {"input": str(tmp_path / "run"), "output": str(tmp_path / "no")}
        values |= {"output_format": "original", "optimizer_state": True, **changes}
        refused = ConvertOptions(**values)
        assert_refused(refused.check, "--optimizer_state", part)


def test_slots_that_are_not_there_are_refused(tmp_path):
    model = BertForPreTraining(CONFIG)
    from modeling.checkpoints.convert import write_checkpoint
    from modeling.checkpoints.weights import weight_values

    write_checkpoint("native", str(tmp_path / "run"), weight_values(model), CONFIG)
    refused = ConvertOptions(
        input=str(tmp_path / "run"),
        output_format="original",
        output=str(tmp_path / "no"),
        optimizer_state=True,
    )
    assert_refused(lambda: convert_run(refused), "0 slots", "--optimizer_state")


def test_the_accuracy_counts_every_masked_token_of_the_evaluation_set_once(mlperf, tmp_path):
    """As MLPerf's reference: matches over all masked tokens, not a mean of batches."""
    evaluation = options(mlperf, tmp_path / "run", do_train=False, do_eval=True, eval_batch_size=8)
    assert pretraining.run(evaluation) == 0
    found = json.loads((tmp_path / "run/eval_results.json").read_text())
    model = BertForPreTraining(CONFIG)
    load_weights(model, read_checkpoint(f"{mlperf}/model.ckpt-28252"))
    # 21 records in batches of 8 leave a part of a batch.
    features = instances(21, 20, vocab_size=50)
    logits = model(features)["masked_lm_logits"].numpy()
    weights = features["masked_lm_weights"]
    matches = (logits.argmax(-1) == features["masked_lm_ids"]) * weights
    assert found["masked_lm_accuracy"] == pytest.approx(matches.sum() / weights.sum(), abs=1e-6)


@pytest.mark.parametrize(
    "changes, part",
    [
        ({"optimizer": "lamb", "optimizer_bias_correction": True}, "--optimizer_bias_correction"),
        ({"optimizer": "lars"}, "--optimizer"),
        ({"optimizer_betas": (0.9,)}, "--optimizer_betas=0.9"),
        ({"optimizer_betas": (0.9, 1.0)}, "--optimizer_betas"),
        ({"optimizer_betas": (0.0, 0.9)}, "--optimizer_betas"),
    ],
)
def test_options_that_an_optimizer_does_not_have_are_refused(changes, part):
    values = {"task_name": "mrpc", "output_dir": "out", "do_train": True, **changes}
    assert_refused(ClassificationOptions(**values).check, part)


def test_fine_tuning_with_lamb_learns(tmp_path):
    write_model(tmp_path)
    write_csv(tmp_path / "train.csv", 80, 1)
    write_csv(tmp_path / "dev.csv", 40, 2)
    run = own_task(
        tmp_path,
        tmp_path / "run",
        optimizer="lamb",
        learning_rate=0.02,
        num_train_epochs=5,
        do_train=True,
        do_eval=True,
        test_file=None,
    )
    assert classification.run(run) == 0
    results = json.loads((tmp_path / "run/eval_results.json").read_text())
    assert results["eval_accuracy"] >= 0.9
