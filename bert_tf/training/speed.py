"""Speed of devices: share of their peak, time of a training, and whether compiling with XLA pays.

Input: devices (`bert_tf/training/devices.py`) and the operations of a training, whose arithmetic
`modeling/costs.py` counts. Output: figures of reports and plans.
"""

import dataclasses
import functools
import os
import time

import tensorflow as tf

from bert_tf.training.devices import Devices
from bert_tf.training.metrics import duration

# Dense peaks that NVIDIA publishes, in TFLOP/s, by the beginning of the device's name: float16,
# bfloat16 and TF32 (None if the tensor cores lack it), and float32, which is not for tensor cores.
_GPUS = {
    "NVIDIA H200": (989.0, 989.0, 495.0, 67.0),
    "NVIDIA H100 PCIe": (756.0, 756.0, 378.0, 51.0),
    "NVIDIA H100 NVL": (835.0, 835.0, 418.0, 60.0),
    "NVIDIA H100": (989.0, 989.0, 495.0, 67.0),
    "NVIDIA A100": (312.0, 312.0, 156.0, 19.5),
    "NVIDIA L40S": (362.0, 362.0, 183.0, 91.6),
    "NVIDIA L4": (121.0, 121.0, 60.0, 30.3),
    "NVIDIA A10": (125.0, 125.0, 62.5, 31.2),
    "NVIDIA GeForce RTX 4090": (165.0, 165.0, 82.6, 82.6),
    "NVIDIA GeForce RTX 3090": (71.0, 71.0, 35.6, 35.6),
    "Tesla V100": (125.0, None, None, 15.7),
    "Tesla T4": (65.0, None, None, 8.1),
}
_PRECISIONS = ("mixed_float16", "mixed_bfloat16", "tf32", "float32")
# Peak of a chip in bfloat16, in which float32 is multiplied, too, and the number of cores per chip:
# the name of a TPU counts cores, e.g. "v3-8".
_TPUS = {"v2": (45.0, 2), "v3": (123.0, 2), "v4": (275.0, 2), "v5litepod": (197.0, 1)}
# Share of the measured matmul rate that a training step reaches, for the first estimate of the
# time.
_ESTIMATED_SHARE = 0.5
# Shares of the peak that training steps of BERT-Base reach with XLA (3,407 sequences/s of 128
# tokens) and without (848), in bfloat16 on one H100, November 2026.
_SHARE_COMPILED = 0.24
_SHARE_NOT_COMPILED = 0.06
# Seconds until the first step: 16 to 20 with 2 layers and 45 with 12, plus 10 to 20 for every
# further shape of batches.
_SECONDS_TO_COMPILE = 14.0
_SECONDS_PER_LAYER = 2.6
_SECONDS_PER_SHAPE = 15.0
# Assumed peak of a GPU that is not in the table.
_UNKNOWN_PEAK = 100e12


def utilization(flops_per_second: float, devices: Devices) -> dict[str, float]:
    """Returns "tflops_per_second" and, if the devices' peak is known, "peak_share" of it."""
    metrics = {"tflops_per_second": flops_per_second / 1e12}
    peak = peak_rate(devices)
    # A CPU's rate that was measured beside other programs may be exceeded: it was no peak then.
    if peak is not None and flops_per_second <= peak:
        metrics["peak_share"] = flops_per_second / peak
    return metrics


def describe_time(flops: float, devices: Devices) -> str | None:
    """Returns how long a training may take, for the user; None if the peak is not known.

    For CPUs this is an estimate, for other devices a lower bound.
    """
    peak = peak_rate(devices)
    if peak is None:
        return None
    if devices.kind == "CPU":
        estimate = duration(flops / (peak * _ESTIMATED_SHARE))
        return (
            f"about {estimate} (estimated from a measured matmul speed of {peak / 1e9:.0f} "
            "GFLOP/s; the progress bar will be more accurate)"
        )
    return f"at least {duration(flops / peak)}, at the devices' peak of {peak / 1e12:,.0f} TFLOP/s"


def peak_rate(devices: Devices) -> float | None:
    """Returns the floating-point operations per second of all devices; None if not known.

    A CPU is measured once.
    """
    if devices.kind == "CPU":
        dtype = "bfloat16" if devices.dtype == "mixed_bfloat16" else "float32"
        # The replicas of a process share its cores.
        return devices.num_workers * _cpu_rate(dtype)
    if devices.kind == "TPU":
        return _tpu_peak(os.environ.get("TPU_ACCELERATOR_TYPE", ""))
    gpu = tf.config.list_physical_devices("GPU")[0]
    name = tf.config.experimental.get_device_details(gpu).get("device_name", "")
    peak = _gpu_peak(name, devices.precision)
    if peak is None:
        return None
    return peak * devices.strategy.num_replicas_in_sync


def _tpu_peak(name: str) -> float | None:
    """Returns the peak of all chips of a TPU, e.g. "v3-8" or "v5litepod-4"."""
    version, _, num_cores = name.partition("-")
    if version not in _TPUS or not num_cores.isdecimal():
        return None
    teraflops, cores_per_chip = _TPUS[version]
    return teraflops * 1e12 * int(num_cores) / cores_per_chip


def _gpu_peak(name: str, precision: str) -> float | None:
    for beginning, peaks in _GPUS.items():
        # "NVIDIA A10" must not match "NVIDIA A1000" or "NVIDIA A100-SXM4-40GB".
        if f"{name} ".startswith((f"{beginning} ", f"{beginning}-")):
            teraflops = peaks[_PRECISIONS.index(precision)]
            return None if teraflops is None else teraflops * 1e12
    return None


def compiled_for(devices: Devices, flops: float, num_shapes: int, num_layers: int) -> Devices:
    """Returns the same devices, with XLA if it saves more time than its compilation takes.

    The whole run counts, even if it resumes, as the rounding of a run must not change.
    """
    seconds_at_peak = flops / (peak_rate(devices) or _UNKNOWN_PEAK)
    saved = seconds_at_peak / _SHARE_NOT_COMPILED - seconds_at_peak / _SHARE_COMPILED
    spent = _SECONDS_TO_COMPILE
    spent += num_layers * _SECONDS_PER_LAYER + (num_shapes - 1) * _SECONDS_PER_SHAPE
    why = f"saves about {duration(saved)} of all steps, compiling takes about {duration(spent)}"
    return dataclasses.replace(devices, jit_compile=saved > spent, why_compiled=why)


def matmul_rate(size: int = 1024, seconds: float = 0.3, dtype: str = "float32") -> float:
    """Returns the floating-point operations per second of a product of two square matrices.

    The best of several products counts.
    """
    multiply = tf.function(tf.matmul)
    matrix = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
    multiply(matrix, matrix)
    best = 0.0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not best:
        start = time.perf_counter()
        # Reading one number waits for the product.
        multiply(matrix, matrix)[0, 0].numpy()
        best = max(best, 2.0 * size**3 / (time.perf_counter() - start))
    return best


@functools.cache
def _cpu_rate(dtype: str) -> float:
    return matmul_rate(seconds=0.15, dtype=dtype)
