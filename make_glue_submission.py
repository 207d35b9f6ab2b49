"""Zips the predictions of all GLUE tasks for https://gluebenchmark.com.

  python make_glue_submission.py --input_dir=out/cola,out/mnli,out/mrpc --output_file=glue.zip
  python make_glue_submission.py --input_dir=out --output_file=glue.zip --fill_missing

Takes every <Task>.tsv that `run_classifier.py --do_predict` left in or below the directories, checks it as the server
would (header, number and order of the rows, labels), and prints what goes in. WNLI, where it was not run, is the
majority class of its training set, as in the paper.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, files
from evaluation.glue_submission import describe_submission, make_submission

FLAGS = flags.FLAGS

flags.DEFINE_list("input_dir", None, "Directories to look in, with everything below them; a task may be found once.")
flags.DEFINE_string("output_file", None, "The zip file; replaced if it exists.")
flags.DEFINE_bool("fill_missing", False, "Whether tasks that were not run get a constant prediction, the majority "
                  "class of the training set: the server takes only complete submissions. Their scores mean nothing.")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(input_dir=FLAGS.input_dir or None, output_file=FLAGS.output_file)
  files.make_output_directory(os.path.dirname(os.path.abspath(FLAGS.output_file)), "output_file")
  entries = make_submission(FLAGS.input_dir, FLAGS.output_file, FLAGS.fill_missing)
  print(describe_submission(entries))
  missing = [entry.name for entry in entries if not entry.predictions]
  if missing:
    print(f"missing: {', '.join(missing)}; the server takes only complete submissions (--fill_missing)")
  print(f"wrote {FLAGS.output_file}")


if __name__ == "__main__":
  cli.run(main)
