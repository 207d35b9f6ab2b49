"""How fast devices compute what a training asks for: shares of their peaks, the time ahead, whether
XLA pays.

Input: devices (`bert_tf/training/devices.py`) and the operations of a training, whose arithmetic `modeling/costs.py`
counts. Output: figures of reports and plans.
"""

import dataclasses
import functools
import os
import time

import tensorflow as tf

from bert_tf.training.devices import Devices
from bert_tf.training.metrics import duration

# Dense peaks that NVIDIA publishes, in TFLOP/s, by what begins the device's name: float16, bfloat16
# and TF32 (None where the tensor cores have none), and float32, which they do not have.
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
# Of a chip, in bfloat16, which float32 is multiplied in, too, and the cores that the name of a TPU
# counts, e.g. "v3-8".
_TPUS = {"v2": (45.0, 2), "v3": (123.0, 2), "v4": (275.0, 2), "v5litepod": (197.0, 1)}
# Share of the matrix-multiply rate that a training step reaches, for the first estimate of the
# time.
_ESTIMATED_UTILISATION = 0.5
# Of one H100, November 2026, BERT-Base with 128 tokens in bfloat16: shares of the peak that
# training steps reach with XLA (3,407 sequences/s) and without (848).
_SHARE_COMPILED, _SHARE_NOT_COMPILED = 0.24, 0.06
# Seconds until the first step: 16 to 20 with 2 layers, 45 with 12; of every further shape of
# batches 10 to 20.
_SECONDS_TO_COMPILE, _SECONDS_PER_LAYER, _SECONDS_PER_SHAPE = 14.0, 2.6, 15.0
# Of a GPU that is not in the table.
_UNKNOWN_PEAK = 100e12
_DTYPES = ("mixed_float16", "mixed_bfloat16", "tf32", "float32")


def utilisation(flops_per_second: float, devices: Devices) -> dict[str, float]:
    """ "tflops_per_second" and, where the devices' peak is known, "peak_share" of it."""
    peak = peak_rate(devices)
    # A CPU's rate that was measured beside other programs may be exceeded: it was none then.
    known = peak is not None and flops_per_second <= peak
    return {
        "tflops_per_second": flops_per_second / 1e12,
        **({"peak_share": flops_per_second / peak} if known else {}),
    }


def describe_time(flops: float, devices: Devices) -> str | None:
    """How long a training may take, for the user: of CPUs a guess, of others the least; None where
    nothing is known."""
    peak = peak_rate(devices)
    if devices.kind == "CPU":
        return (
            f"about {duration(flops / (peak * _ESTIMATED_UTILISATION))} (a guess from {peak / 1e9:.0f} GFLOP/s of "
            "matrix multiplication; the progress line soon knows better)"
        )
    return (
        peak
        and f"at least {duration(flops / peak)}, at the devices' peak of {peak / 1e12:,.0f} TFLOP/s"
    )


def peak_rate(devices: Devices) -> float | None:
    """Floating-point operations per second of all devices together, None where it is not known; of
    CPUs measured once."""
    if devices.kind == "CPU":
        # The replicas of a process share its cores.
        return devices.num_workers * _cpu_rate(
            dtype="bfloat16" if devices.dtype == "mixed_bfloat16" else "float32"
        )
    if devices.kind == "TPU":
        # Of all its chips, e.g. "v3-8" or "v5litepod-4".
        version, _, number = os.environ.get("TPU_ACCELERATOR_TYPE", "").partition("-")
        if version not in _TPUS or not number.isdecimal():
            return None
        peak, cores = _TPUS[version]
        return peak * 1e12 * int(number) / cores
    gpu = tf.config.list_physical_devices("GPU")[0]
    name = tf.config.experimental.get_device_details(gpu).get("device_name", "")
    peaks = next(
        (
            peaks
            for beginning, peaks in _GPUS.items()
            if f"{name} ".startswith((f"{beginning} ", f"{beginning}-"))
        ),
        (None,) * len(_DTYPES),
    )
    peak = peaks[_DTYPES.index(devices.precision)]
    return peak and peak * 1e12 * devices.strategy.num_replicas_in_sync


def compiled_for(devices: Devices, flops: float, num_shapes: int, num_layers: int) -> Devices:
    """The same devices, with XLA where it saves more time than its compilation takes.

    The whole run counts, also of one that resumes: how it is rounded must not change.
    """
    at_peak = flops / (peak_rate(devices) or _UNKNOWN_PEAK)
    saved = at_peak * (1 / _SHARE_NOT_COMPILED - 1 / _SHARE_COMPILED)
    spent = (
        _SECONDS_TO_COMPILE
        + num_layers * _SECONDS_PER_LAYER
        + (num_shapes - 1) * _SECONDS_PER_SHAPE
    )
    return dataclasses.replace(
        devices,
        jit_compile=saved > spent,
        why_compiled=(
            f"saves about {duration(saved)} of all steps, compiling takes about {duration(spent)}"
        ),
    )


def matmul_rate(size: int = 1024, seconds: float = 0.3, dtype: str = "float32") -> float:
    """Floating-point operations per second of a product of two square matrices, the best of
    several."""
    multiply = tf.function(tf.matmul)
    a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
    multiply(a, a)
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end or not best:
        began = time.perf_counter()
        # Reading one number waits for the product.
        multiply(a, a)[0, 0].numpy()
        best = max(best, 2.0 * size**3 / (time.perf_counter() - began))
    return best


_cpu_rate = functools.cache(lambda dtype: matmul_rate(seconds=0.15, dtype=dtype))
