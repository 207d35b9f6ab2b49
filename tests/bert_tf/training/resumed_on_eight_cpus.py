"""Pre-trains on one device, and resumes its middle on eight logical CPUs: a process of its own.

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
    on_one = make_options(
        folder,
        folder / "one",
        eval_file=None,
        vocab_file=f"{folder}/vocab.txt",
        train_batch_size=16,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        num_train_steps=6,
        save_checkpoints_steps=3,
        iterations_per_loop=1,
        distribution_strategy="none",
        precision="float32",
    )
    assert pretraining.run(on_one) == 0
    shutil.copytree(folder / "one", folder / "eight")
    for path in (folder / "eight").glob("ckpt-6.*"):
        path.unlink()
    on_eight = on_one.replace(output_dir=str(folder / "eight"), distribution_strategy="mirrored")
    assert pretraining.run(on_eight) == 0
    results = {}
    for name in ("one", "eight"):
        directory = str(folder / name)
        results[f"{name} reports"] = json.dumps(read_metrics(directory))
        reader = tf.train.load_checkpoint(directory)
        for key in reader.get_variable_to_shape_map():
            if "OBJECT_GRAPH" not in key:
                results[f"{name} {key}"] = reader.get_tensor(key)
    np.savez(result_path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
