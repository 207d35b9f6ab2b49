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

from common import cli
from common.errors import UserError

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
flags.DEFINE_integer("save_checkpoints_steps", 1000, "Steps between checkpoints.")
flags.DEFINE_integer("keep_checkpoint_max", 5, "How many checkpoints are kept; 0 for all.")
flags.DEFINE_integer("iterations_per_loop", 1000, "Steps inside one tf.function, between reports. Where it is not "
                     "given, as many as take a few seconds, at most 1000.")
flags.DEFINE_integer("eval_steps", 0, "Steps between evaluations while training; 0 for none.")
flags.DEFINE_integer("max_eval_steps", 100, "Batches of an evaluation. Where it is not given and --eval_file is, "
                     "evaluation is one pass over all of it.")
flags.DEFINE_integer("seed", 12345, "Drives initial weights, order of the data and dropout.")
flags.DEFINE_bool("next_sentence_prediction", True, "Train the next-sentence task too; false for records made without.")
flags.DEFINE_bool("optimizer_bias_correction", False, "Adam with bias correction, which the original does not have.")
flags.DEFINE_integer("gradient_accumulation_steps", 1, "Micro-batches that --train_batch_size is cut into, to save "
                     "memory; the result is the same.")
flags.DEFINE_enum("distribution_strategy", "auto", ["auto", "none", "mirrored", "multi_worker_mirrored", "tpu"],
                  "Devices to train on.")
flags.DEFINE_enum("precision", "auto", ["auto", "float32", "bfloat16", "float16"],
                  "Of the matrix products. auto: bfloat16 on TPUs and new GPUs, float16 on older ones, else float32.")
flags.DEFINE_enum("jit_compile", "auto", ["auto", "true", "false"], "Compile the whole step with XLA. auto: on "
                  "GPUs; on CPUs oneDNN is faster.")
flags.DEFINE_list("profile_steps", None, "FIRST,LAST: steps to record with the TensorFlow profiler.")
flags.DEFINE_bool("use_tpu", False, "As --distribution_strategy=tpu.")
flags.DEFINE_string("tpu_name", None, "Name or grpc:// address of the TPU; 'local' on a TPU VM.")
flags.DEFINE_string("tpu_zone", None, "Zone of the TPU.")
flags.DEFINE_string("gcp_project", None, "Project of the TPU.")
flags.DEFINE_string("master", None, "grpc:// address of the TPU, as --tpu_name.")
flags.DEFINE_integer("num_tpu_cores", 8, "Accepted for old command lines: the number of cores is read from the TPU.")


def main(argv) -> int:
  cli.refuse_arguments(argv)
  cli.require_flags(input_file=FLAGS.input_file, output_dir=FLAGS.output_dir)
  # Imported late, so that --help and wrong flags answer at once.
  from tasks import pretraining
  from training.distribution import TpuOptions

  given = {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present}
  if FLAGS.use_tpu and FLAGS.distribution_strategy not in ("auto", "tpu"):
    raise UserError(f"--use_tpu contradicts --distribution_strategy={FLAGS.distribution_strategy}")
  tpu_name = FLAGS.tpu_name or FLAGS.master
  options = pretraining.PretrainingOptions(
      input_file=FLAGS.input_file, output_dir=FLAGS.output_dir, bert_config_file=FLAGS.bert_config_file,
      init_checkpoint=FLAGS.init_checkpoint, eval_file=FLAGS.eval_file, vocab_file=FLAGS.vocab_file,
      do_lower_case=FLAGS.do_lower_case, max_seq_length=FLAGS.max_seq_length,
      max_predictions_per_seq=FLAGS.max_predictions_per_seq, do_train=FLAGS.do_train, do_eval=FLAGS.do_eval,
      train_batch_size=FLAGS.train_batch_size, eval_batch_size=FLAGS.eval_batch_size,
      learning_rate=FLAGS.learning_rate, num_train_steps=FLAGS.num_train_steps,
      num_warmup_steps=FLAGS.num_warmup_steps, save_checkpoints_steps=FLAGS.save_checkpoints_steps,
      keep_checkpoint_max=FLAGS.keep_checkpoint_max,
      iterations_per_loop=FLAGS.iterations_per_loop if "iterations_per_loop" in given else None,
      eval_steps=FLAGS.eval_steps,
      max_eval_steps=None if FLAGS.eval_file and "max_eval_steps" not in given else FLAGS.max_eval_steps,
      seed=FLAGS.seed, next_sentence_prediction=FLAGS.next_sentence_prediction,
      optimizer_bias_correction=FLAGS.optimizer_bias_correction,
      gradient_accumulation_steps=FLAGS.gradient_accumulation_steps,
      distribution_strategy="tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy, precision=FLAGS.precision,
      jit_compile=FLAGS.jit_compile, profile_steps=_profile_steps(FLAGS.profile_steps),
      tpu=TpuOptions(name=tpu_name, zone=FLAGS.tpu_zone, project=FLAGS.gcp_project))
  return pretraining.run(options, cli.effective_flags(__file__))


def _profile_steps(values: list[str] | None) -> tuple[int, int] | None:
  if not values:
    return None
  try:
    first, last = map(int, values)
  except ValueError:
    raise UserError(f"--profile_steps={','.join(values)}: two steps are wanted, e.g. --profile_steps=20,30") from None
  if not 0 < first < last:
    raise UserError(f"--profile_steps={first},{last}: the first step must be positive and less than the last")
  return first, last


if __name__ == "__main__":
  cli.run(main)
