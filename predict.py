"""Predicts for lines of text: a line in, a line of JSON out, with a network that is loaded once.

  python predict.py --init_checkpoint=out --input_file=lines.txt --output_file=predictions.jsonl
  echo 'The [MASK] is returned.' | python predict.py --init_checkpoint=bert --task=fill_mask

A line is a text, two texts with a tab between them, or a JSON object. Standard input is answered as it comes. docs/
predict.md shows the inputs and outputs of each task.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, files
from common.errors import UserError

FLAGS = flags.FLAGS

flags.DEFINE_string("init_checkpoint", None, "The checkpoint, of any format.")
flags.DEFINE_enum("task", None, ["classifier", "squad", "fill_mask", "features"], "What the network is used for; "
                  "needed only where it has heads for several.")
flags.DEFINE_string("input_file", "-", "A line an input; - is standard input.")
flags.DEFINE_string("output_file", "-", "JSON lines; a file appears when it is complete. - is standard output.")
flags.DEFINE_string("bert_config_file", None, "The network's shape; usually found beside --init_checkpoint.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; usually found beside --init_checkpoint.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary; usually found beside --init_checkpoint.")
flags.DEFINE_integer("max_seq_length", None, "Longer inputs are truncated. Not given: that of the fine-tuning, else "
                     "512 (squad: 384), or as many as the network has positions.")
flags.DEFINE_integer("batch_size", 32, "Most inputs of a batch.")
flags.DEFINE_integer("top_k", 5, "Candidates for each mask; answers in nbest.")
flags.DEFINE_integer("layer", -1, "Of features: number of the layer, from 0; -1 is the last one.")
flags.DEFINE_enum("pooling", "mean", ["cls", "mean"], "Of features: the vector of [CLS], or the mean over all tokens.")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(init_checkpoint=FLAGS.init_checkpoint)
  if FLAGS.input_file != "-":
    files.check_readable(FLAGS.input_file, "input_file")
  if os.path.isdir(FLAGS.output_file):
    raise UserError(f"--output_file: {FLAGS.output_file} is a directory, a file is wanted")
  # Imported late, so that --help and wrong flags answer at once.
  from inference.predictor import Predictor, serve

  predictor = Predictor.from_checkpoint(
      FLAGS.init_checkpoint, FLAGS.task, bert_config_file=FLAGS.bert_config_file, vocab_file=FLAGS.vocab_file,
      do_lower_case=FLAGS.do_lower_case, max_seq_length=FLAGS.max_seq_length, batch_size=FLAGS.batch_size,
      top_k=FLAGS.top_k, layer=FLAGS.layer, pooling=FLAGS.pooling)
  _say(predictor.network.account.describe())
  _say(f"ready: {predictor.task}")
  source = sys.stdin.buffer if FLAGS.input_file == "-" else open(FLAGS.input_file, "rb")
  with source:
    if FLAGS.output_file == "-":
      done = serve(predictor, source, _write)
    else:
      with files.atomic_write(FLAGS.output_file, "wb") as file:
        done = serve(predictor, source, file.write)
  if predictor.network.truncated:
    _say(f"{predictor.network.truncated:,} of {done.lines:,} inputs were longer than the network takes and were "
         "truncated")
  if done.errors:
    raise UserError(f"{done.errors:,} of {done.lines:,} lines could not be used; the first is {done.first_error}")


def _write(lines: bytes) -> None:
  sys.stdout.buffer.write(lines)
  sys.stdout.buffer.flush()


def _say(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
  cli.run(main)
