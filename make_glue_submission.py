"""Zips the predictions for all GLUE tasks for https://gluebenchmark.com.

  python make_glue_submission.py --input_dir=out/cola,out/mnli,out/mrpc --output_file=glue.zip
  python make_glue_submission.py --input_dir=out --output_file=glue.zip --fill_missing

Takes every <Task>.tsv that `run_classifier.py --do_predict` wrote in or below the directories,
checks it as the server would (header, number and order of the rows, labels) and prints the
contents. If WNLI was not run, it is the majority class of its training set, as in the paper.
"""

from bert_common import cli
from bert_tf.evaluation.glue_submission import SubmissionOptions

if __name__ == "__main__":
    cli.run(SubmissionOptions, "bert_tf.evaluation.glue_submission:run")
