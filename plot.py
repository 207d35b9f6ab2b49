"""Draws learning curves of runs, scores of a selection, and attention.

  python plot.py demo_output/run                                # curves in demo_output/run/plots
  python plot.py run_a run_b --what=curves --output_dir=plots   # several runs in one picture
  python plot.py out --what=selection                           # scores by learning rate
  python plot.py demo_output/run --what=attention --sentence='Returns the shape of the array.'

By default everything is drawn that the given directories have. docs/monitoring.md shows all plots.
"""

from bert_common import cli
from bert_tf.plotting import PlotOptions

if __name__ == "__main__":
    cli.run(PlotOptions, "bert_tf.plotting:run", positional="sources")
