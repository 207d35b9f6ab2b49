"""Writes the hidden states of chosen layers for every line of a file.

  python extract_features.py --input_file=lines.txt --output_file=features.jsonl --init_checkpoint=bert --layers=-1,-2
  python extract_features.py --input_file=lines.txt --output_file=vectors.npz --init_checkpoint=bert --layers=-1 \\
      --pooling=mean
  zcat lines.gz | python extract_features.py --input_file=- --output_file=vectors.npz --init_checkpoint=bert

A line is a text, or a pair of texts with " ||| " between them. Flags and defaults are those of the original script;
what is new is additional. docs/features.md describes both outputs.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli

FLAGS = flags.FLAGS

flags.DEFINE_string("input_file", None, "A line an example; - is standard input.")
flags.DEFINE_string("output_file", None, "JSON lines, or arrays where the name ends with .npz.")
flags.DEFINE_string("layers", "-1,-2,-3,-4", "Numbers of layers, from 0; -1 is the last one.")
flags.DEFINE_enum("pooling", "none", ["none", "cls", "mean"], "none: a vector a token. cls: that of [CLS] only. mean: "
                  "the mean over all tokens of a line.")
flags.DEFINE_string("bert_config_file", None, "The network's shape; usually found beside --init_checkpoint.")
flags.DEFINE_integer("max_seq_length", 128, "Longer lines are truncated.")
flags.DEFINE_string("init_checkpoint", None, "The checkpoint, of any format.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; usually found beside --init_checkpoint.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary; usually found beside --init_checkpoint.")
flags.DEFINE_integer("batch_size", 32, "Lines of a batch, on all devices together.")
flags.DEFINE_enum("distribution_strategy", "auto", ["auto", "none", "mirrored", "tpu"], "Devices to compute on.")
flags.DEFINE_enum("precision", "float32", ["auto", "float32", "bfloat16", "float16"], "Of the matrix products.")
flags.DEFINE_enum("jit_compile", "auto", ["auto", "true", "false"], "Compile with XLA. auto: on GPUs.")
flags.DEFINE_bool("use_tpu", False, "As --distribution_strategy=tpu.")
flags.DEFINE_string("master", None, "Name or grpc:// address of the TPU; 'local' on a TPU VM.")
flags.DEFINE_integer("num_tpu_cores", 8, "Accepted for old command lines: the number of cores is read from the TPU.")
flags.DEFINE_bool("use_one_hot_embeddings", False, "Accepted for old command lines: the result is the same.")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(input_file=FLAGS.input_file, output_file=FLAGS.output_file, init_checkpoint=FLAGS.init_checkpoint)
  # Imported late, so that --help and wrong flags answer at once.
  from inference import feature_extraction
  from training.devices import TpuOptions, set_up

  options = feature_extraction.ExtractionOptions(
      input_file=FLAGS.input_file, output_file=FLAGS.output_file, init_checkpoint=FLAGS.init_checkpoint,
      layers=feature_extraction.parse_layers(FLAGS.layers), pooling=FLAGS.pooling,
      max_seq_length=FLAGS.max_seq_length, batch_size=FLAGS.batch_size, bert_config_file=FLAGS.bert_config_file,
      vocab_file=FLAGS.vocab_file, do_lower_case=FLAGS.do_lower_case)
  devices = set_up("tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy, FLAGS.precision, FLAGS.jit_compile,
                   TpuOptions(name=FLAGS.master))
  done = feature_extraction.extract(options, devices, _say)
  if done.truncated:
    _say(f"{done.truncated:,} of {done.lines:,} lines had more than --max_seq_length={options.max_seq_length} tokens "
         "and were truncated")
  _say(f"wrote {options.output_file}: {done.lines:,} lines, {done.tokens:,} tokens")


def _say(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
  cli.run(main)
