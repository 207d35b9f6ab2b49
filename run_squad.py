"""Fine-tunes BERT to answer questions with a piece of a text: SQuAD v1.1, v2.0 and files of the same layout.

  # SQuAD v1.1; TensorBoard: tensorboard --logdir=out
  python run_squad.py --train_file=train-v1.1.json --predict_file=dev-v1.1.json --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_predict --learning_rate=3e-5 --num_train_epochs=2

  # v2.0, where a text may have no answer: the threshold is tuned on the predict file, kept, and used from then on
  python run_squad.py --train_file=train-v2.0.json --predict_file=dev-v2.0.json --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_predict --version_2_with_negative

  # later: other questions, one question, several runs together
  python run_squad.py --output_dir=out --do_predict --predict_file=questions.json
  python run_squad.py --output_dir=out --question="Who was she?" --context="Ada was a mathematician."
  python run_squad.py --ensemble=out1,out2,out3 --output_dir=together --do_predict --predict_file=dev-v1.1.json

The same command again resumes. Flags and defaults are those of the original script; what is new is additional.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, fine_tuning_flags

FLAGS = flags.FLAGS

flags.DEFINE_string("train_file", None, "SQuAD file to train on.")
flags.DEFINE_string("predict_file", None, "SQuAD file to predict. Where it tells the right answers it is scored, while "
                    "training, too.")
flags.DEFINE_bool("skip_bad_answers", False, "Leave out training questions whose answer is not in the context, instead "
                  "of refusing the file.")
flags.DEFINE_integer("max_seq_length", 384, "Most tokens of a window: [CLS] question [SEP] piece of the context [SEP]. "
                     "This and the next six: where one is not given, a trained model's own is used for predicting.")
flags.DEFINE_integer("doc_stride", 128, "How many tokens the window slides over a context that does not fit into one.")
flags.DEFINE_integer("max_query_length", 64, "Longer questions are truncated to so many tokens.")
flags.DEFINE_integer("n_best_size", 20, "How many answers of a question are kept, and how many starts and ends of each "
                     "window are looked at.")
flags.DEFINE_integer("max_answer_length", 30, "Most tokens of an answer.")
flags.DEFINE_bool("version_2_with_negative", False, "There may be no answer, as in SQuAD v2.0.")
flags.DEFINE_float("null_score_diff_threshold", 0.0, "There is none if its score minus that of the best answer is "
                   "above this. Where it is not given, it is tuned on a --predict_file with answers, and kept.")
flags.DEFINE_bool("verbose_logging", False, "Print for every question what was chosen, and against what.")
flags.DEFINE_list("ensemble", None, "Directories of several runs: predict with the mean of their logits.")
flags.DEFINE_string("question", None, "Answer this question about --context and print the best answers.")
flags.DEFINE_string("context", None, "The text that --question is about.")
flags.DEFINE_string("context_file", None, "A UTF-8 file with the text that --question is about.")
flags.DEFINE_float("learning_rate", 5e-5, "Peak learning rate.")
flags.DEFINE_integer("train_batch_size", 32, "Windows of a step, on all devices together.")
flags.DEFINE_float("num_train_epochs", 3.0, "Passes over the training data.")
flags.DEFINE_integer("seed", 12345, "Drives the head's weights, order of the data and dropout.")
flags.adopt_module_key_flags(fine_tuning_flags)

_SETTINGS = ("max_seq_length", "doc_stride", "max_query_length", "n_best_size", "max_answer_length",
             "version_2_with_negative", "null_score_diff_threshold")


def main(argv) -> int:
  cli.refuse_arguments(argv)
  if not (FLAGS.ensemble and FLAGS.question is not None):
    cli.require_flags(output_dir=FLAGS.output_dir)
  given = cli.given_flags()
  # Imported late, so that --help and wrong flags answer at once.
  from tasks.question_answering import task as squad

  same = ("train_file", "predict_file", "skip_bad_answers", "verbose_logging", "question", "context", "context_file",
          "learning_rate", "train_batch_size", "num_train_epochs", "seed")
  options = squad.SquadOptions(
      **{**fine_tuning_flags.options(), "output_dir": FLAGS.output_dir or ""},
      **{name: getattr(FLAGS, name) for name in same}, ensemble=tuple(FLAGS.ensemble or ()),
      given={name: getattr(FLAGS, name) for name in _SETTINGS if name in given})
  return squad.run(options, cli.effective_flags())


if __name__ == "__main__":
  cli.run(main)
