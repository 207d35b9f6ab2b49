"""Converts checkpoints between this project, the original BERT, Hugging Face and the Model Garden, heads included.

  python convert_checkpoint.py --input=uncased_L-12_H-768_A-12 --output_format=huggingface --output=bert-base
  python convert_checkpoint.py --input=out/ckpt-1000 --output_format=original --output=for_tf1
  python convert_checkpoint.py --input=hf_directory --output_format=native --output=bert

The input is a directory, a prefix or a .safetensors file; its format is found by looking at it. The output is read back
and compared bit for bit before it appears. Not carried: the optimizer's state and the step.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, files

FLAGS = flags.FLAGS

flags.DEFINE_string("input", None, "The checkpoint.")
flags.DEFINE_enum("output_format", None, ["original", "huggingface", "model_garden", "native"], "Format of the output.")
flags.DEFINE_string("output", None, "Directory of the output; it must not exist.")
flags.DEFINE_string("bert_config_file", None, "The network's shape, bert_config.json; usually found beside the input.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; usually found beside the input.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary; usually found beside the input.")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(input=FLAGS.input, output_format=FLAGS.output_format, output=FLAGS.output)
  files.refuse_existing(FLAGS.output, "output")
  # Imported late, so that --help and wrong flags answer at once.
  from modeling.checkpoints.convert import convert

  print(convert(FLAGS.input, FLAGS.output_format, FLAGS.output, FLAGS.bert_config_file, FLAGS.vocab_file,
                FLAGS.do_lower_case).describe())


if __name__ == "__main__":
  cli.run(main)
