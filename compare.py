"""Compares runs: flags, data and versions that differ, scores side by side, examples that two of them disagree on.

  python compare.py run_a run_b                            # prints tables
  python compare.py runs                                   # all runs in a directory, such as those of a selection
  python compare.py run_a run_b --output_dir=comparison    # also writes them as comparison.md

Runs that differ in the seed only are one column: mean ± standard deviation, intervals and p-values of the differences.
docs/monitoring.md shows an example.
"""

from bert_common import cli
from bert_tf.extras.compare import CompareOptions

if __name__ == "__main__":
  cli.run(CompareOptions, "bert_tf.extras.compare:run", positional="sources")
