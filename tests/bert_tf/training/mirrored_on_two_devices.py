"""Trains alike on one device and on two logical devices of one CPU or GPU, there with XLA and
recomputed layers.

A process of its own, as TensorFlow makes its devices once:

  python tests/bert_tf/training/mirrored_on_two_devices.py RESULTS.npz CPU

Called by `test_devices.py`.
"""

import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent.parent))

import numpy as np
import tensorflow as tf

_KIND = sys.argv[2]
_HALF = tf.config.LogicalDeviceConfiguration(memory_limit=4096 if _KIND == "GPU" else None)
tf.config.set_logical_device_configuration(tf.config.list_physical_devices(_KIND)[0], [_HALF] * 2)

from bert_tf.tasks.pretraining import task as pretraining
from bert_tf.training.run_directory import read_metrics
from tests.bert_tf.training.common import LENGTH, ONE_LAYER, PREDICTIONS, write_records


def record_reductions() -> set[str]:
    """Names of the functions in whose graphs replicas are summed, from now on, with those around
    them."""
    names: set[str] = set()
    all_reduce = tf.distribute.ReplicaContext.all_reduce

    def recorded(*arguments, **options):
        graph = tf.compat.v1.get_default_graph()
        while graph is not None:
            names.add(getattr(graph, "name", ""))
            graph = getattr(graph, "outer_graph", None)
        return all_reduce(*arguments, **options)

    tf.distribute.ReplicaContext.all_reduce = recorded
    return names


def main(result_path: str) -> None:
    reductions = record_reductions()
    folder = pathlib.Path(tempfile.mkdtemp())
    write_records(folder / "train.tfrecord", 70)
    write_records(folder / "dev.tfrecord", 11, 70)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))
    results = {}
    for strategy, jit_compile in (("none", "false"), ("mirrored", "true")):
        name = f"{strategy}-{jit_compile}"
        status = pretraining.run(
            pretraining.PretrainingOptions(
                input_file=f"{folder}/train.tfrecord",
                eval_file=f"{folder}/dev.tfrecord",
                bert_config_file=f"{folder}/bert_config.json",
                output_dir=f"{folder}/{name}",
                max_seq_length=LENGTH,
                max_predictions_per_seq=PREDICTIONS,
                do_train=True,
                do_eval=True,
                train_batch_size=8,
                eval_batch_size=4,
                learning_rate=1e-3,
                num_train_steps=20,
                num_warmup_steps=4,
                iterations_per_loop=2,
                jit_compile=jit_compile,
                distribution_strategy=strategy,
                precision="float32",
                recompute=jit_compile == "true",
            )
        )
        assert status == 0
        results[f"{name} reports"] = json.dumps(read_metrics(f"{folder}/{name}"))
        reader = tf.train.load_checkpoint(f"{folder}/{name}")
        for key in reader.get_variable_to_shape_map():
            if "OBJECT_GRAPH" not in key and "run_id" not in key:
                results[f"{name} {key}"] = reader.get_tensor(key)
    np.savez(result_path, reductions=sorted(reductions), **results)


if __name__ == "__main__":
    main(sys.argv[1])
