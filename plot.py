"""Draws curves of runs, scores of a selection, and attention: what can be drawn is found in what is
named.

  python plot.py demo_output/run                                # curves → demo_output/run/plots
  python plot.py run_a run_b --what=curves --output_dir=plots   # several runs in one picture
  python plot.py out --what=selection                           # scores of a selection by learning
  rate python plot.py demo_output/run --what=attention --sentence='Returns the shape of the array.'

docs/monitoring.md shows all of them.
"""

from bert_common import cli
from bert_tf.plotting import PlotOptions

if __name__ == "__main__":
    cli.run(PlotOptions, "bert_tf.plotting:run", positional="sources")
