"""SQuAD predicted on one device and on two logical CPUs: a process of its own, as TensorFlow makes its devices once.

  python tests/bert_tf/tasks/question_answering/squad_on_two_cpus.py DIRECTORY

Leaves the run directories DIRECTORY/none and DIRECTORY/mirrored. Called by `tests/test_run_squad.py`.
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent.parent.parent))

import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)

from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.task import run
from bert_tf.tasks.run import set_up_devices
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.weights import weight_values
from modeling.fine_tuning import BertForQuestionAnswering
from tests.bert_tf.tasks.question_answering.toy_squad import LENGTHS, MODEL, toy_questions, write_files, write_json


def main(folder: pathlib.Path) -> None:
  write_files(folder)
  # 13 questions, and windows that fill no whole number of batches.
  questions = toy_questions(7, 6)
  questions["data"][0]["paragraphs"][0]["qas"].pop()
  dev_file = write_json(folder / "dev.json", questions)
  (folder / "model").mkdir()
  write_checkpoint("native", str(folder / "model"), weight_values(BertForQuestionAnswering(MODEL, seed=3)), MODEL,
                   str(folder / "vocab.txt"), True)
  for strategy in ("none", "mirrored"):
    options = SquadOptions(
        predict_file=dev_file, init_checkpoint=f"{folder}/model", output_dir=f"{folder}/{strategy}", **LENGTHS,
        predict_batch_size=8, do_predict=True, distribution_strategy=strategy)
    print(set_up_devices(options).description)
    run(options)


if __name__ == "__main__":
  main(pathlib.Path(sys.argv[1]))
