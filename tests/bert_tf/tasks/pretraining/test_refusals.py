import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.runs.run import set_up_devices
from bert_tf.tasks.pretraining import task as task_module
from bert_tf.tasks.pretraining.data import PretrainingRecords, check_all_records, parser
from bert_tf.tasks.pretraining.task import PretrainingTask
from bert_tf.training.inputs import RecordFiles, evaluation_dataset
from bert_tf.training.step import TrainingState
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.schema import Schema
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from tests.bert_tf.training.common import (
    LENGTH,
    ONE_LAYER,
    PREDICTIONS,
    VOCAB,
    default_devices,
    instances,
    write_records,
)
from tests.bert_tf.training.packed import pack_features, sequences_of
from tests.refusals import assert_refused


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"do_train": False}, ["--do_train", "--do_eval"]),
        ({"num_train_steps": 0}, ["--num_train_steps is 0", "at least 1"]),
        ({"num_warmup_steps": -1}, ["--num_warmup_steps is -1"]),
        ({"num_warmup_steps": 7}, ["--num_warmup_steps=7 is more than --num_train_steps=6"]),
        (
            {"train_batch_size": 2**31 - 4},
            ["of --train_batch_size=2147483644 needs at least", "TB of memory", "this machine has"],
        ),
        (
            {"lr_schedule": "wsd", "decay_proportion": 0.7},
            ["--decay_proportion=0.7: warm-up and decay", "0.333333 of its"],
        ),
        (
            {"masked_lm_prob": (0.15, 0.3)},
            ["--masked_lm_prob=0.15,0.3: one share is expected, or the first and the last"],
        ),
        (
            {"masked_lm_prob": (0.3, 0.15)},
            ["--masked_lm_prob: the records of --input_file are masked already"],
        ),
        ({"eval_masked_lm_prob": (0.5,)}, ["--eval_masked_lm_prob is for", "give --do_eval"]),
        (
            {"eval_masked_lm_prob": (0.5,), "do_eval": True},
            ["--eval_masked_lm_prob: the records of --eval_file are masked already"],
        ),
        ({"profile_steps": (3, 9)}, ["--profile_steps=3,9", "--num_train_steps=6"]),
        (
            {"gradient_accumulation_steps": 3},
            ["--train_batch_size=4", "3 gradient accumulation steps", "multiple of 3"],
        ),
        (
            {"input_file": "nowhere/*.tfrecord"},
            ["--input_file", "no file matches 'nowhere/*.tfrecord'"],
        ),
        ({"bert_config_file": None}, ["--bert_config_file must be given"]),
        ({"vocab_file": "nowhere"}, ["--vocab_file", "nowhere"]),
        ({"max_seq_length": 32}, ["--max_seq_length", "32", "20"]),
        (
            {"max_seq_length": 18},
            ["train-0.tfrecord", "max_seq_length=16", "--max_seq_length is 18"],
        ),
        (
            {"max_predictions_per_seq": 20},
            ["max_predictions_per_seq=3", "--max_predictions_per_seq is 20"],
        ),
        ({"do_train": False, "do_eval": True}, ["holds no checkpoint", "--init_checkpoint"]),
        (
            {"distribution_strategy": "mirrored"},
            ["--distribution_strategy=mirrored needs several devices"],
        ),
        ({"distribution_strategy": "tpu"}, ["--tpu_name"]),
        (
            {"fused_attention": "on"},
            ["--fused_attention=on and --jit_compile=false contradict each other"],
        ),
        (
            {"fused_attention": "on", "jit_compile": "auto"},
            ["GPUs of compute capability 8.0 or newer", "is on CPUs"],
        ),
    ],
)
def test_flags_that_can_not_be(refused, changes, parts):
    refused(*parts, **changes)


@pytest.mark.parametrize(
    ("capability", "dtype", "changes", "parts"),
    [
        ((7, 5), "mixed_float16", {}, ["8.0 or newer", "is on compute capability 7.5"]),
        ((8, 6), "float32", {}, ["--precision=bfloat16"]),
        (
            (9, 0),
            "mixed_bfloat16",
            {"attention_probs_dropout_prob": 0.1},
            ["--attention_probs_dropout_prob=0"],
        ),
    ],
)
def test_gpus_and_models_without_fused_attention(options, capability, dtype, changes, parts):
    changes = {
        "attention_probs_dropout_prob": 0.0,
        "jit_compile": "auto",
        "fused_attention": "on",
        **changes,
    }
    task = PretrainingTask(dataclasses.replace(options, **changes))
    # As if there were such a GPU.
    devices = dataclasses.replace(
        default_devices(dtype=dtype), kind="GPU", compute_capability=capability
    )
    assert_refused(lambda: task.check_devices(devices), "--fused_attention", *parts)


@pytest.mark.parametrize(
    ("is_used", "changes", "device"),
    [
        (True, {}, {}),
        (False, {"fused_attention": "off"}, {}),
        (False, {"attention_probs_dropout_prob": 0.1}, {}),
        (False, {}, {"compute_capability": (8, 6)}),
        (False, {}, {"compute_capability": None, "kind": "CPU"}),
        (False, {}, {"jit_compile": False}),
        (False, {}, {"dtype": "float32"}),
    ],
)
def test_fused_attention_is_chosen_where_it_was_faster(
    options, monkeypatch, is_used, changes, device
):
    settings = {"attention_probs_dropout_prob": 0.0, "fused_attention": "auto", **changes}
    task = PretrainingTask(dataclasses.replace(options, **settings))
    devices = dataclasses.replace(
        default_devices(dtype="mixed_bfloat16"),
        **{"kind": "GPU", "compute_capability": (9, 0), "jit_compile": True, **device},
    )
    # The records have short rows, with which the kernel gains nothing.
    assert not task.uses_fused_attention(devices)
    monkeypatch.setattr(task_module, "MEASURED_LENGTH", LENGTH)
    assert task.uses_fused_attention(devices) == is_used


def test_packed_records_need_a_newer_gpu(options, tmp_path):
    schema, rows = pack_features(
        sequences_of(np.array([5, 7, 6, 8]), LENGTH, PREDICTIONS, VOCAB), 2
    )
    (tmp_path / "packed").write_bytes(RecordWriter(schema, VOCAB).encode(rows))
    task = PretrainingTask(
        dataclasses.replace(
            options,
            attention_probs_dropout_prob=0.0,
            fused_attention="on",
            jit_compile="auto",
            input_file=str(tmp_path / "packed"),
            eval_file=None,
        )
    )

    def devices_of(capability):
        return dataclasses.replace(
            default_devices(dtype="mixed_bfloat16"), kind="GPU", compute_capability=capability
        )

    assert_refused(
        lambda: task.check_devices(devices_of((8, 6))),
        "--fused_attention of packed rows",
        "9.0 or newer",
        "is on compute capability 8.6",
    )
    task.check_devices(devices_of((9, 0)))


def test_the_shapes_of_batches_are_known(options):
    """Which fused attention needs."""
    task = PretrainingTask(options)
    weights = types.SimpleNamespace(state=TrainingState())
    trainer = types.SimpleNamespace(step=0, weights=weights, devices=default_devices())
    dataset = task.make_dataset(trainer, task.phases()[0])
    assert all(None not in spec.shape for spec in dataset.element_spec.values())


def test_a_record_file_that_is_cut_off(refused, data, tmp_path):
    (tmp_path / "bad.tfrecord").write_bytes((data / "train-0.tfrecord").read_bytes()[:-7])
    refused(
        "bad.tfrecord",
        "ends inside record 20",
        "cut off",
        input_file=f"{data}/train-0.tfrecord,{tmp_path}/bad.tfrecord",
    )
    refused("is a directory", input_file=str(tmp_path))


def test_records_of_another_vocabulary(refused, tmp_path):
    path = tmp_path / "bad.tfrecord"
    write_records(path, 5, vocab_size=2000)
    refused("bad.tfrecord", "token id", f"vocab_size is {VOCAB}", input_file=str(path))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (
            "masked_lm_positions",
            LENGTH,
            f"contains {LENGTH} among its masked_lm_positions, 0 to {LENGTH - 1} are expected",
        ),
        ("masked_lm_weights", np.float32("nan"), "contains nan among its masked_lm_weights"),
        (None, b"\xff\xff", "is not a serialized tf.train.Example"),
    ],
)
def test_a_record_of_another_program_that_can_not_be(
    refused, data, tmp_path, name, values, message
):
    """At the first place of a file it is refused before anything is built, behind it as soon as it
    is read."""
    bad = tmp_path / "bad"
    if name is None:
        with tf.io.TFRecordWriter(str(bad)) as writer:
            writer.write(values)
    else:
        write_records(
            bad,
            1,
            changes={name: np.full_like(instances(1)[name], values, np.asarray(values).dtype)},
        )
    refused(
        f"--input_file: the first record of {bad} {message}"
        if name
        else f"{bad}: record 1 {message}",
        input_file=str(bad),
    )
    (tmp_path / "good").write_bytes((data / "train-0.tfrecord").read_bytes() + bad.read_bytes())
    parse = parser(Schema(LENGTH, PREDICTIONS), ONE_LAYER)
    record_files = RecordFiles(
        (f"{data}/train-0.tfrecord", f"{tmp_path}/good"), (20, 21), (False, False)
    )
    with pytest.raises((tf.errors.InvalidArgumentError, UnicodeDecodeError)):
        list(evaluation_dataset(record_files, parse, 8, tf.distribute.InputContext(1, 0, 1)))
    found = PretrainingRecords(record_files, Schema(LENGTH, PREDICTIONS), "input_file")
    assert_refused(
        lambda: check_all_records(found, ONE_LAYER), f"{tmp_path}/good: record 21 {message}"
    )


def test_segments_of_a_model_without_segments(refused, data, tmp_path):
    dataclasses.replace(ONE_LAYER, type_vocab_size=1).to_file(str(tmp_path / "bert_config.json"))
    refused(
        "the first record of",
        "contains the segment id 1, but type_vocab_size is 1",
        bert_config_file=str(tmp_path / "bert_config.json"),
    )


def test_a_vocabulary_of_another_size(refused, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{token}\n" for token in (*SPECIAL_TOKENS, *map(str, range(VOCAB)))))
    refused(f"words.txt has {VOCAB + 5} entries", f"vocab_size is {VOCAB}", vocab_file=str(path))


@pytest.mark.parametrize("do_train", [False, True])
def test_fused_attention_is_compiled_where_there_is_any(options, do_train):
    asked = dataclasses.replace(
        options, jit_compile="auto", fused_attention="on", do_train=do_train
    )
    assert set_up_devices(asked).jit_compile == do_train
