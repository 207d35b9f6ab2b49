"""Pre-trains on one device, and resumes there and on eight logical CPUs: a process of its own.

  python tests/bert_tf/training/resumed_on_eight_cpus.py RESULTS.npz

With packed rows that are masked while they are read, micro-batches and dropout. Called by
`test_devices.py`.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import tensorflow as tf

from bert_tf.tasks.pretraining import task as pretraining
from bert_tf.training.run_directory import read_metrics
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from tests.bert_tf.tasks.pretraining.conftest import make_options
from tests.bert_tf.tasks.pretraining.test_phases import write_packed
from tests.bert_tf.training.common import ONE_LAYER, VOCAB


def main(result_path: str) -> None:
    cpus = [tf.config.LogicalDeviceConfiguration()] * 8
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
    folder = pathlib.Path(tempfile.mkdtemp())
    write_packed(folder / "train-0", masks=False)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))
    words = [*SPECIAL_TOKENS, *(f"word{number}" for number in range(VOCAB - 5))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    begun = make_options(
        folder,
        folder / "one",
        eval_file=None,
        vocab_file=f"{folder}/vocab.txt",
        train_batch_size=16,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        num_train_steps=3,
        iterations_per_loop=1,
        distribution_strategy="none",
        precision="float32",
    )
    assert pretraining.run(begun) == 0
    shutil.copytree(folder / "one", folder / "eight")
    results = {}
    for name, strategy in (("one", "none"), ("eight", "mirrored")):
        directory = str(folder / name)
        resumed = begun.replace(
            output_dir=directory, num_train_steps=6, distribution_strategy=strategy
        )
        assert pretraining.run(resumed) == 0
        results[f"{name} reports"] = json.dumps(read_metrics(directory))
        reader = tf.train.load_checkpoint(directory)
        for key in reader.get_variable_to_shape_map():
            if "OBJECT_GRAPH" not in key:
                results[f"{name} {key}"] = reader.get_tensor(key)
    np.savez(result_path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
