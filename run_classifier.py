"""Fine-tunes BERT on sentence and sentence-pair tasks: all of GLUE, and files of your own.

  # one of GLUE's tasks; TensorBoard: tensorboard --logdir=out
  python run_classifier.py --task_name=mrpc --data_dir=glue --init_checkpoint=bert_base --output_dir=out \\
      --do_train --do_eval --do_predict --learning_rate=2e-5

  # the paper's selection: every combination, the best on the development set predicts
  python run_classifier.py --task_name=rte --data_dir=glue --init_checkpoint=bert_base --output_dir=out --do_train \\
      --do_eval --do_predict --learning_rate=5e-5,3e-5,2e-5 --train_batch_size=16,32 --num_train_epochs=2,3,4

  # your own labels, in TSV, CSV or JSON lines
  python run_classifier.py --task_name=custom --train_file=train.csv --dev_file=dev.csv --text_a_column=review \\
      --label_column=stars --init_checkpoint=bert_base --output_dir=out --do_train --do_eval

The same command again resumes. Flags and defaults are those of the original script; what is new is additional.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, fine_tuning_flags
from common.errors import UserError
from data_gen.labelled import glue

FLAGS = flags.FLAGS

flags.DEFINE_string("task_name", None, "One of GLUE's tasks: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, or "
                    "ax to predict its diagnostic set; or custom, for files of your own.")
flags.DEFINE_string("data_dir", None, "Where GLUE's folders are, or the task's own folder.")
flags.DEFINE_string("train_file", None, "Of --task_name=custom: .tsv, .csv or .jsonl.")
flags.DEFINE_string("dev_file", None, "Of --task_name=custom: what is evaluated on, while training and at the end.")
flags.DEFINE_string("test_file", None, "Of --task_name=custom: what is predicted.")
flags.DEFINE_enum("file_format", "auto", ["auto", "tsv", "csv", "jsonl"], "Of the files of --task_name=custom. auto: "
                  "by their extensions.")
flags.DEFINE_string("text_a_column", None, "Of --task_name=custom: the column or key of the text; a number, from 0, "
                    "where there is no header.")
flags.DEFINE_string("text_b_column", None, "Of --task_name=custom: the column of the second text of a pair.")
flags.DEFINE_string("label_column", None, "Of --task_name=custom: the column of the label.")
flags.DEFINE_bool("regression", False, "Of --task_name=custom: the labels are numbers, to be predicted as such.")
flags.DEFINE_bool("do_eval", False, "Evaluate on the development set at the end.")
flags.DEFINE_integer("eval_batch_size", 8, "Accepted for old command lines: results do not depend on it, see "
                     "--predict_batch_size.")
flags.DEFINE_integer("max_seq_length", 128, "Longer sequences are truncated to so many tokens.")
flags.DEFINE_list("learning_rate", ["5e-5"], "Peak learning rate, or several separated by commas.")
flags.DEFINE_list("train_batch_size", ["32"], "Examples of a step, on all devices together, or several numbers.")
flags.DEFINE_list("num_train_epochs", ["3.0"], "Passes over the training data, or several numbers.")
flags.DEFINE_list("seed", ["12345"], "Drives the head's weights, order of the data and dropout; or several numbers.")
flags.adopt_module_key_flags(fine_tuning_flags)


def main(argv) -> int:
  cli.refuse_arguments(argv)
  cli.require_flags(task_name=FLAGS.task_name, output_dir=FLAGS.output_dir)
  sweep = {"learning_rate": _numbers("learning_rate", float), "train_batch_size": _numbers("train_batch_size", int),
           "num_train_epochs": _numbers("num_train_epochs", float), "seed": _numbers("seed", int)}
  if FLAGS.task_name.lower() != "custom":
    glue.find_task(FLAGS.task_name)
  # Imported late, so that --help and wrong flags answer at once.
  from tasks.classification import task as classification

  same = ("task_name", "data_dir", "train_file", "dev_file", "test_file", "file_format", "text_a_column",
          "text_b_column", "label_column", "regression", "do_eval", "max_seq_length")
  options = classification.ClassificationOptions(
      **fine_tuning_flags.options(), **{name: getattr(FLAGS, name) for name in same}, sweep=sweep)
  return classification.run(options, cli.effective_flags())


def _numbers(name: str, kind: type) -> tuple:
  try:
    values = tuple(kind(value) for value in getattr(FLAGS, name))
  except ValueError:
    values = ()
  if not values:
    raise UserError(f"--{name}={','.join(getattr(FLAGS, name))}: a number is wanted, or several separated by commas")
  if len(set(values)) < len(values):
    raise UserError(f"--{name}={','.join(getattr(FLAGS, name))}: a value is there twice")
  return values


if __name__ == "__main__":
  cli.run(main)
