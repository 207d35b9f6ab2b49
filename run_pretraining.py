"""Pre-trains BERT on records of data_gen/create_pretraining_data.py.

  # one machine; TensorBoard: tensorboard --logdir=out
  python run_pretraining.py --do_train --do_eval --input_file='records/train*' --eval_file='records/dev*' \\
      --bert_config_file=bert_config.json --output_dir=out --learning_rate=1e-4 --num_train_steps=100000

  # the same command again resumes; several machines: the same command on each, with TF_CONFIG set
  # go on from other weights, at step 0
  python run_pretraining.py --do_train --init_checkpoint=bert_model.ckpt --input_file=… --output_dir=…

Flags and defaults are those of the original script; what is new is additional.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, run_flags

FLAGS = flags.FLAGS

flags.DEFINE_string("input_file", None, "Records to train on: comma-separated paths and globs.")
flags.DEFINE_string("eval_file", None, "Held-out records to evaluate on; without it evaluation reads --input_file.")
flags.DEFINE_string("bert_config_file", None, "The network's shape, bert_config.json. Found beside --init_checkpoint.")
flags.DEFINE_string("output_dir", None, "Directory of the run: checkpoints, results, TensorBoard.")
flags.DEFINE_string("init_checkpoint", None, "Weights to start from, at step 0: a run directory, one of its ckpt-N "
                    "prefixes, an original bert_model.ckpt, a Hugging Face directory or .safetensors file, or a "
                    "checkpoint of the Model Garden.")
flags.DEFINE_string("vocab_file", None, "Vocabulary of the records, copied into --output_dir. Usually found by itself.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary, kept in --output_dir. Usually found by itself.")
flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example; must be that of the records.")
flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example; must be that of the records.")
flags.DEFINE_bool("do_train", False, "Train.")
flags.DEFINE_bool("do_eval", False, "Evaluate at the end.")
flags.DEFINE_integer("train_batch_size", 32, "Examples of a step, on all devices together.")
flags.DEFINE_integer("eval_batch_size", 8, "Examples of an evaluation batch, on all devices together.")
flags.DEFINE_float("learning_rate", 5e-5, "Peak learning rate.")
flags.DEFINE_integer("num_train_steps", 100000, "Training ends at this step.")
flags.DEFINE_integer("num_warmup_steps", 10000, "Steps over which the learning rate rises.")
flags.DEFINE_integer("eval_steps", 0, "Steps between evaluations while training; 0 for none.")
flags.DEFINE_integer("max_eval_steps", 100, "Batches of an evaluation. Where it is not given and --eval_file is, "
                     "evaluation is one pass over all of it.")
flags.DEFINE_integer("seed", 12345, "Drives initial weights, order of the data and dropout.")
flags.DEFINE_bool("next_sentence_prediction", True, "Train the next-sentence task too; false for records made without.")
flags.adopt_module_key_flags(run_flags)


def main(argv) -> int:
  cli.refuse_arguments(argv)
  cli.require_flags(input_file=FLAGS.input_file, output_dir=FLAGS.output_dir)
  # Imported late, so that --help and wrong flags answer at once.
  from tasks.pretraining import task as pretraining

  same = ("input_file", "output_dir", "bert_config_file", "init_checkpoint", "eval_file", "vocab_file", "do_lower_case",
          "max_seq_length", "max_predictions_per_seq", "do_train", "do_eval", "train_batch_size", "eval_batch_size",
          "learning_rate", "num_train_steps", "num_warmup_steps", "eval_steps", "seed", "next_sentence_prediction")
  all_of_it = FLAGS.eval_file and "max_eval_steps" not in cli.given_flags()
  options = pretraining.PretrainingOptions(
      **run_flags.options(), **{name: getattr(FLAGS, name) for name in same},
      max_eval_steps=None if all_of_it else FLAGS.max_eval_steps)
  return pretraining.run(options, cli.effective_flags())


if __name__ == "__main__":
  cli.run(main)
