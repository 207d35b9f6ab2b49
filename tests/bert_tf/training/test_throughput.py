import dataclasses

import numpy as np
import pytest

from bert_tf.training import throughput
from bert_tf.training.throughput import (
  StageWork,
  Workload,
  compiled_for,
  describe_time,
  gpu_peak,
  peak_rate,
  tpu_peak,
  utilisation,
)
from tests.bert_tf.training.common import default_devices


@pytest.mark.parametrize(("name", "dtype", "tflops"), [
    ("NVIDIA H100 80GB HBM3", "mixed_bfloat16", 989), ("NVIDIA H100 PCIe", "mixed_bfloat16", 756),
    ("NVIDIA A100-SXM4-40GB", "mixed_bfloat16", 312), ("NVIDIA A100-SXM4-40GB", "tf32", 156),
    ("NVIDIA A100-SXM4-40GB", "float32", 19.5), ("Tesla V100-SXM2-16GB", "tf32", None),
    ("NVIDIA A10", "mixed_float16", 125), ("NVIDIA L4", "mixed_bfloat16", 121), ("NVIDIA L40S", "mixed_float16", 362),
    ("Tesla V100-SXM2-16GB", "mixed_float16", 125), ("Tesla V100-SXM2-16GB", "mixed_bfloat16", None),
    ("Tesla T4", "mixed_float16", 65), ("NVIDIA GeForce RTX 4090", "mixed_bfloat16", 165),
    ("NVIDIA A1000", "float32", None), ("", "float32", None)])
def test_published_peaks_of_gpus(name, dtype, tflops):
  assert gpu_peak(name, dtype) == (tflops and tflops * 1e12)


@pytest.mark.parametrize(("name", "tflops"), [
    ("v2-8", 180), ("v3-8", 492), ("v4-8", 1100), ("v5litepod-4", 788), ("v9-8", None), ("", None)])
def test_published_peaks_of_tpus(name, tflops):
  assert tpu_peak(name) == (tflops and tflops * 1e12)


@pytest.mark.parametrize(("dtype", "multiplied"), [("float32", "float32"), ("mixed_bfloat16", "bfloat16")])
def test_the_peak_of_a_cpu_is_measured_once_in_the_dtype_of_the_run(dtype, multiplied, monkeypatch):
  measured = []
  throughput._cpu_rate.cache_clear()
  monkeypatch.setattr(throughput, "matmul_rate", lambda seconds, dtype: measured.append((seconds, dtype)) or 2e12)
  devices = default_devices(dtype=dtype)
  assert utilisation(5e11, devices) == {"tflops_per_second": 0.5, "peak_share": 0.25}
  # Measured while something else ran: no peak.
  assert utilisation(3e12, devices) == {"tflops_per_second": 3.0}
  assert peak_rate(dataclasses.replace(devices, num_workers=2)) == 4e12
  assert len(measured) == 1 and measured[0][0] < 0.3 and measured[0][1] == multiplied
  throughput._cpu_rate.cache_clear()


def test_only_the_rate_where_the_peak_is_not_known(monkeypatch):
  monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)
  assert utilisation(5e11, dataclasses.replace(default_devices(), kind="TPU")) == {"tflops_per_second": 0.5}


def test_the_time_of_a_training(monkeypatch):
  """Half of what a CPU was measured to multiply; of other devices the least; nothing where nothing is known."""
  monkeypatch.setattr(throughput, "matmul_rate", lambda: 2e12)
  monkeypatch.setattr(throughput, "peak_rate", lambda devices: 5e14 if devices.kind == "GPU" else None)
  cpu = default_devices()
  assert describe_time(7.2e15, cpu).startswith("about 2.0 h (a guess from 2000 GFLOP/s of matrix multiplication")
  assert describe_time(3.6e18, dataclasses.replace(cpu, kind="GPU")) == (
      "at least 2.0 h, at the devices' peak of 500 TFLOP/s")
  assert describe_time(3.6e18, dataclasses.replace(cpu, kind="TPU")) is None


@pytest.mark.parametrize(("sequences", "flops_per_sequence", "layers", "shapes", "peak", "pays"), [
    # BERT-Base on an H100: MRPC and SST-2 in three epochs, SQuAD in two; then pre-training of 100 and 10,000 steps.
    (3 * 3668, 27e9, 12, 4, 989e12, False), (3 * 67349, 6.6e9, 12, 4, 989e12, False),
    (2 * 88000, 90e9, 12, 4, 989e12, True), (100 * 256, 70e9, 12, 1, 989e12, False),
    (10000 * 256, 70e9, 12, 1, 989e12, True),
    # A slower device has more to gain.
    (3 * 67349, 6.6e9, 12, 4, 65e12, True),
    # Nothing to train.
    (0, 27e9, 12, 4, 65e12, False)])
def test_when_compilation_pays(sequences, flops_per_sequence, layers, shapes, peak, pays, monkeypatch):
  monkeypatch.setattr(throughput, "peak_rate", lambda devices: peak)
  workload = Workload((StageWork(0, 1, sequences, 1, flops_per_sequence, 0),), np.arange(shapes))
  devices = dataclasses.replace(default_devices(), compiles_by_work=True)
  assert compiled_for(devices, workload, layers).jit_compile is pays


def test_what_the_user_says_about_xla_stays(monkeypatch):
  monkeypatch.setattr(throughput, "_cpu_rate", lambda dtype: 1e12)
  given = default_devices(jit_compile=True)

  def chosen_for(devices, flops: float):
    return compiled_for(devices, Workload((StageWork(0, 10, 1, 1, flops / 10, 0),), np.arange(4)), 12)

  assert chosen_for(given, 1e14) == given
  chosen = [chosen_for(dataclasses.replace(given, compiles_by_work=True), flops) for flops in (1e12, 1e14)]
  assert [one.jit_compile for one in chosen] == [False, True]
  assert chosen[0].xla == "XLA off (saves about 12 s of all steps, compiling takes about 2 min)"
  assert chosen[1].xla.startswith("XLA on (saves about ")
