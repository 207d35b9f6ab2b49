"""Runs a script on two logical CPUs of its process: `python on_two_cpus.py SCRIPT FLAG...`.

A process of a cluster without GPUs has one device in TensorFlow; here it is told of two.
"""

import pathlib
import runpy
import sys

import tensorflow as tf
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended


def two_cpus(extended, resolver, worker_device: str) -> tuple[tuple[str, ...], str]:
    return tuple(f"{worker_device}/device:CPU:{number}" for number in range(2)), "CPU"


def main() -> None:
    cpus = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
    CollectiveAllReduceExtended._initialize_local_devices = two_cpus
    del sys.argv[0]
    sys.argv[0] = str(pathlib.Path(__file__).resolve().parents[3] / sys.argv[0])
    sys.path[0] = str(pathlib.Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
