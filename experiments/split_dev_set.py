"""Splits a development set of GLUE, for those who have no training set of the task.

  python experiments/split_dev_set.py --task_name=mnli --data_dir=glue --output_dir=glue_split

Writes glue_split/MNLI/train.tsv and glue_split/MNLI/dev_matched.tsv. Scores are not those of the official split.
"""

from bert_common import cli
from data_gen.labelled.dev_split import SplitOptions

if __name__ == "__main__":
  cli.run(SplitOptions, "data_gen.labelled.dev_split:split")
