"""SQuAD on one device and on two logical CPUs: a process of its own, as TensorFlow makes its devices once.

  python tests/tasks/question_answering/squad_on_two_cpus.py DIRECTORY

Leaves the run directories DIRECTORY/none and DIRECTORY/mirrored. Called by `tests/test_run_squad.py`.
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent.parent))

import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)

from tasks.question_answering.options import SquadOptions
from tasks.question_answering.task import run
from tests.tasks.question_answering.toy_squad import LENGTHS, toy_questions, write_files, write_json


def main(folder: pathlib.Path) -> None:
  write_files(folder)
  # 13 questions, and windows that fill no whole number of batches.
  questions = toy_questions(7, 6)
  questions["data"][0]["paragraphs"][0]["qas"].pop()
  dev_file = write_json(folder / "dev.json", questions)
  for strategy in ("none", "mirrored"):
    run(SquadOptions(
        train_file=f"{folder}/train1.json", predict_file=dev_file, bert_config_file=f"{folder}/bert_config.json",
        output_dir=f"{folder}/{strategy}", **LENGTHS, train_batch_size=16, predict_batch_size=8,
        learning_rate=0.003, num_train_epochs=2, do_train=True, do_predict=True,
        distribution_strategy=strategy))


if __name__ == "__main__":
  main(pathlib.Path(sys.argv[1]))
