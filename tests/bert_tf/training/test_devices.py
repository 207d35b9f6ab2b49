import dataclasses
import json
import os
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training import speed
from bert_tf.training.devices import TpuAddress, graph_function, set_up
from bert_tf.training.speed import compiled_for, describe_time, peak_rate, utilization
from modeling.xla import is_jit_compiled
from tests.bert_tf.training.common import default_devices


def run_on_two_devices(script, folder, kind="CPU") -> tuple[dict, str]:
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "results.npz"), kind],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "results.npz") as file:
        return dict(file), done.stdout


_FROM_THE_CACHE = """
import os, sys
from bert_tf.training import devices
import tensorflow as tf

def compiled(function):
    return tf.function(function, jit_compile=True)(tf.ones(3))

devices.set_up()
print("imported", file=sys.stderr, flush=True)
compiled(lambda x: x + 1)
try:
    compiled(tf.strings.as_string)
except tf.errors.OpError as error:
    print("refused:", error)
print("-- all lines", file=sys.stderr, flush=True)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
devices.set_up()
compiled(lambda x: x + 2)
"""


@pytest.mark.processes
def test_a_program_from_the_cache_prints_no_error_and_errors_are_raised(project, tmp_path):
    """TensorFlow first reads the program as text, which it is not, and says so."""
    options = ("directory=" + str(tmp_path), "device_types=CPU")
    flags = " ".join(f"--tf_xla_persistent_cache_{option}" for option in options)
    environment = {**os.environ, "TF_XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": "3"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _FROM_THE_CACHE],
            capture_output=True,
            text=True,
            cwd=project,
            env=environment,
            check=True,
        )
        assert "refused: Detected unsupported operations" in done.stdout
    # TensorFlow 2.21 logs information while it is imported, too.
    hidden, _, shown = done.stderr.partition("imported\n")[2].partition("-- all lines")
    assert not hidden and "Error parsing text-format" in shown


@pytest.mark.processes
@pytest.mark.parametrize("level, shown", [("1", False), ("0", True)])
def test_information_of_xla_is_hidden_as_that_of_tensorflow(project, level, shown):
    program = (
        "from bert_tf.training import devices; import sys, tensorflow as tf; devices.set_up();"
        "print('imported', file=sys.stderr);"
        "tf.function(lambda x: x + 1, jit_compile=True)(tf.ones(3))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": level},
        check=True,
    )
    # TensorFlow 2.21 logs information while it is imported, too.
    _, _, compiled = done.stderr.partition("imported\n")
    # absl marks each line with the first letter of its level.
    assert bool(re.search(r"^I0000 ", compiled, re.MULTILINE)) == shown, done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["CPU", "GPU"])
def test_two_devices_train_as_one(project, tmp_path, kind):
    """With XLA and recomputed layers on the two. With dropout: the units that are dropped depend on
    the example, not on the device. Without XLA: two processes in
    `tests/test_run_pretraining.py`."""
    if not tf.config.list_physical_devices(kind):
        pytest.skip(f"needs a {kind}")
    results, printed = run_on_two_devices(
        project / "tests/bert_tf/training/mirrored_on_two_devices.py", tmp_path, kind
    )
    assert f"2 x {kind} (MirroredStrategy), float32, XLA on" in printed
    # Not in the functions that are compiled, where NCCL hangs or is missing.
    compiled = ("forward_backward", "accumulated", "update")
    assert "_steps" in results["reductions"] and not [
        name for name in results["reductions"] if any(one in name for one in compiled)
    ]
    name = "mirrored-true"
    found, expected = (json.loads(results[f"{run} reports"].item()) for run in (name, "none-false"))
    assert [(line["split"], line["step"]) for line in found] == [
        (line["split"], line["step"]) for line in expected
    ]
    assert len(found) == 11
    for line, expected_line in zip(found, expected, strict=True):
        for metric in ("loss", "masked_lm_accuracy", "next_sentence_loss"):
            assert line[metric] == pytest.approx(expected_line[metric], rel=1e-5), metric
    keys = [
        key.removeprefix("none-false ") for key in results if key.startswith("none-false encoder")
    ]
    keys += [
        key.removeprefix("none-false ")
        for key in results
        if key.startswith(("none-false heads", "none-false opt"))
    ]
    assert len(keys) == 3 * 30
    for key in keys:
        np.testing.assert_allclose(
            results[f"{name} {key}"], results[f"none-false {key}"], rtol=0, atol=1e-5, err_msg=key
        )
    assert results[f"{name} step/.ATTRIBUTES/VARIABLE_VALUE"] == 20
    assert results[f"{name} examples/.ATTRIBUTES/VARIABLE_VALUE"] == 160


@pytest.mark.processes
def test_two_devices_fine_tune_and_predict_as_one(project, tmp_path):
    """With dropout, batches of several lengths, and a last batch that is filled up on the second
    device."""
    results, _ = run_on_two_devices(
        project / "tests/bert_tf/training/fine_tuning_on_two_cpus.py", tmp_path
    )
    marker = "none classes "
    expected = {
        key.removeprefix(marker): value for key, value in results.items() if key.startswith(marker)
    }
    assert expected["loss"].shape == (6,) and np.ptp(expected["loss"]) > 0.01
    assert expected["logits"].shape == (21, 3)
    assert len(expected) == 23 + 2 + 3
    # With XLA on the two devices, without on the one: AdamW makes much of the rounding of small
    # gradients, 1.4e-4 on one processor. A step is 1e-2 at most.
    for key, value in expected.items():
        np.testing.assert_allclose(
            results[f"mirrored classes {key}"], value, rtol=0, atol=5e-4, err_msg=key
        )
    # Multiple choice without XLA, where the devices have different numbers of sequences.
    questions = [key for key in results if key.startswith("none choices ")]
    assert len(questions) == 23 + 2 + 1 and np.ptp(results["none choices loss"]) > 0.01
    for key in questions:
        # The bias adds to all choices alike: its gradient is nothing but rounding.
        np.testing.assert_allclose(
            results[key.replace("none", "mirrored", 1)],
            results[key],
            rtol=0,
            # Processors with AVX2 alone differ by 3e-5 in single weights.
            atol=1e-3 if key.endswith("output_bias") else 1e-4,
            err_msg=key,
        )
    # Sentence vectors: the negatives of both devices, on the two in micro-batches.
    pairs = [key for key in results if key.startswith("none pairs ")]
    assert len(pairs) == 23 + 1 and np.ptp(results["none pairs loss"]) > 0.01
    for key in pairs:
        found = results[key.replace("none", "mirrored", 1)]
        np.testing.assert_allclose(found, results[key], rtol=0, atol=2e-5, err_msg=key)
    # The same with an LSTM and, on the two devices, XLA.
    pairs = [key for key in results if key.startswith("none lstm pairs ")]
    assert len(pairs) == 23 + 6 + 1
    for key in pairs:
        found = results[key.replace("none", "mirrored", 1)]
        np.testing.assert_allclose(found, results[key], rtol=0, atol=5e-4, err_msg=key)


@pytest.mark.processes
def test_eight_devices_resume_as_one(project, tmp_path):
    """A run that was begun on one device: packed rows that are masked while they are read,
    micro-batches, dropout."""
    results, printed = run_on_two_devices(
        project / "tests/bert_tf/training/resumed_on_eight_cpus.py", tmp_path
    )
    assert "8 x CPU (MirroredStrategy), float32" in printed
    expected, found = (json.loads(results[f"{name} reports"].item()) for name in ("one", "eight"))
    assert [line["step"] for line in found] == [1, 2, 3, 4, 5, 6]
    for line, expected_line in zip(found, expected, strict=True):
        assert line["loss"] == pytest.approx(expected_line["loss"], rel=1e-5)
    assert results["eight step/.ATTRIBUTES/VARIABLE_VALUE"] == 6
    keys = [key for key in results if key.startswith("one ") and key != "one reports"]
    assert len(keys) > 3 * 30
    for key in keys:
        np.testing.assert_allclose(
            results[key.replace("one", "eight", 1)], results[key], rtol=0, atol=1e-5, err_msg=key
        )


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [
        ("auto", "float32"),
        ("float32", "float32"),
        ("tf32", "float32"),
        ("bfloat16", "mixed_bfloat16"),
        ("float16", "mixed_float16"),
    ],
)
def test_precision_and_compilation_on_a_cpu(precision, dtype):
    devices = set_up("none", precision, "auto")
    assert (devices.dtype, devices.kind, devices.is_chief, devices.num_workers) == (
        dtype,
        "CPU",
        True,
        1,
    )
    assert [set_up("none", precision, jit).jit_compile for jit in ("auto", "true", "false")] == [
        False,
        True,
        False,
    ]
    assert devices.description == "1 x CPU (no distribution)"
    # TensorFlow's own default is that float32 is TF32.
    assert (
        tf.config.experimental.tensor_float_32_execution_enabled()
        is devices.tf32
        is (precision == "tf32")
    )


def test_a_remote_tpu_needs_remote_paths():
    with pytest.raises(UserError, match="this one is local: /data/records"):
        set_up(
            "tpu",
            tpu=TpuAddress("grpc://10.0.0.1:8470"),
            paths=("gs://bucket/out", None, "/data/records"),
        )


def test_a_tpu_that_does_not_answer_is_reported_at_once():
    # Bound, but nobody listens.
    with socket.socket() as silent:
        silent.bind(("localhost", 0))
        name = f"grpc://localhost:{silent.getsockname()[1]}"
        with pytest.raises(UserError, match="the TPU can't be reached: .*refused") as error:
            set_up("tpu", tpu=TpuAddress(name), paths=("gs://bucket/out",))
    assert f"--tpu_name={name}" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", "mixed_bfloat16", 989),
        ("NVIDIA H100 PCIe", "mixed_bfloat16", 756),
        ("NVIDIA A100-SXM4-40GB", "mixed_bfloat16", 312),
        ("NVIDIA A100-SXM4-40GB", "tf32", 156),
        ("NVIDIA A100-SXM4-40GB", "float32", 19.5),
        ("Tesla V100-SXM2-16GB", "tf32", None),
        ("NVIDIA A10", "mixed_float16", 125),
        ("NVIDIA L4", "mixed_bfloat16", 121),
        ("NVIDIA L40S", "mixed_float16", 362),
        ("Tesla V100-SXM2-16GB", "mixed_float16", 125),
        ("Tesla V100-SXM2-16GB", "mixed_bfloat16", None),
        ("Tesla T4", "mixed_float16", 65),
        ("NVIDIA GeForce RTX 4090", "mixed_bfloat16", 165),
        ("NVIDIA A1000", "float32", None),
        ("", "float32", None),
    ],
)
def test_published_peaks_of_gpus(name, dtype, tflops, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["the first"])
    monkeypatch.setattr(
        tf.config.experimental, "get_device_details", lambda device: {"device_name": name}
    )
    policy, tf32 = ("float32", True) if dtype == "tf32" else (dtype, False)
    devices = dataclasses.replace(default_devices(dtype=policy), kind="GPU", tf32=tf32)
    assert peak_rate(devices) == (tflops and tflops * 1e12)


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("v2-8", 180),
        ("v3-8", 492),
        ("v4-8", 1100),
        ("v5litepod-4", 788),
        ("v9-8", None),
        ("", None),
    ],
)
def test_published_peaks_of_tpus(name, tflops, monkeypatch):
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", name)
    assert peak_rate(dataclasses.replace(default_devices(), kind="TPU")) == (
        tflops and tflops * 1e12
    )


@pytest.mark.parametrize(
    ("dtype", "multiplied"), [("float32", "float32"), ("mixed_bfloat16", "bfloat16")]
)
def test_the_peak_of_a_cpu_is_measured_once_in_the_dtype_of_the_run(dtype, multiplied, monkeypatch):
    measured = []
    speed._cpu_rate.cache_clear()
    monkeypatch.setattr(
        speed, "matmul_rate", lambda seconds, dtype: measured.append((seconds, dtype)) or 2e12
    )
    devices = default_devices(dtype=dtype)
    assert utilization(5e11, devices) == {"tflops_per_second": 0.5, "peak_share": 0.25}
    # Measured while something else ran: no peak.
    assert utilization(3e12, devices) == {"tflops_per_second": 3.0}
    assert peak_rate(dataclasses.replace(devices, num_workers=2)) == 4e12
    assert len(measured) == 1 and measured[0][0] < 0.3 and measured[0][1] == multiplied
    speed._cpu_rate.cache_clear()


def test_only_the_rate_where_the_peak_is_not_known(monkeypatch):
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)
    assert utilization(5e11, dataclasses.replace(default_devices(), kind="TPU")) == {
        "tflops_per_second": 0.5
    }


def test_the_time_of_a_training(monkeypatch):
    """Half of what a CPU was measured to multiply; of other devices the least; nothing where
    nothing is known."""
    monkeypatch.setattr(
        speed, "peak_rate", lambda devices: {"CPU": 2e12, "GPU": 5e14, "TPU": None}[devices.kind]
    )
    cpu = default_devices()
    assert describe_time(7.2e15, cpu).startswith(
        "about 2.0 h (estimated from a measured matmul speed of 2000 GFLOP/s"
    )
    assert describe_time(3.6e18, dataclasses.replace(cpu, kind="GPU")) == (
        "at least 2.0 h, at the devices' peak of 500 TFLOP/s"
    )
    assert describe_time(3.6e18, dataclasses.replace(cpu, kind="TPU")) is None


@pytest.mark.parametrize(
    ("sequences", "flops_per_sequence", "layers", "shapes", "peak", "pays"),
    [
        # BERT-Base on an H100: MRPC and SST-2 in three epochs, SQuAD in two; then pre-training of
        # 100 and 10,000 steps.
        (3 * 3668, 27e9, 12, 4, 989e12, False),
        (3 * 67349, 6.6e9, 12, 4, 989e12, False),
        (2 * 88000, 90e9, 12, 4, 989e12, True),
        (100 * 256, 70e9, 12, 1, 989e12, False),
        (10000 * 256, 70e9, 12, 1, 989e12, True),
        # A slower device has more to gain.
        (3 * 67349, 6.6e9, 12, 4, 65e12, True),
        # Nothing to train.
        (0, 27e9, 12, 4, 65e12, False),
    ],
)
def test_when_compilation_pays(
    sequences, flops_per_sequence, layers, shapes, peak, pays, monkeypatch
):
    monkeypatch.setattr(speed, "peak_rate", lambda devices: peak)
    flops = sequences * flops_per_sequence
    assert compiled_for(default_devices(), flops, shapes, layers).jit_compile is pays


def test_the_reason_for_compilation_is_said(monkeypatch):
    monkeypatch.setattr(speed, "_cpu_rate", lambda dtype: 1e12)
    chosen = [
        compiled_for(default_devices(), flops, num_shapes=4, num_layers=12)
        for flops in (1e12, 1e14)
    ]
    assert chosen[0].xla == "XLA off (saves about 12 s of all steps, compiling takes about 2 min)"
    assert chosen[1].xla.startswith("XLA on (saves about ")


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_graph_function_knows_what_compiles_it(jit_compile):
    """In loops, recomputed parts, gradients and on a device of a strategy, too."""
    found = []

    def note(x):
        found.append(is_jit_compiled())
        return x

    @tf.custom_gradient
    def note_gradient(x):
        return note(x), note

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda y: y[0] < 3, lambda y: [note(y) + 1], [x])[0]
            y = tf.recompute_grad(note_gradient)(y)
        return tape.gradient(y, x)

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    compiled = graph_function(step, jit_compile)
    tf.function(lambda: strategy.run(compiled, [tf.zeros([1])]))()
    assert len(found) >= 4
    assert set(found) == {jit_compile}
