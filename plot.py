"""Draws runs, selections, records, predictions and models: what can be drawn is found in what is named.

  python plot.py demo_output/run                                # curves, records, embeddings → demo_output/run/plots
  python plot.py run_a run_b --what=curves --output_dir=plots   # several runs in one picture
  python plot.py out --what=selection                           # fine-tuning with several hyperparameters
  python plot.py records.tfrecord.stats.json                    # lengths and masks of records
  python plot.py demo_output/run --what=attention --sentence='Returns the shape of the array.'
  python plot.py demo_output/run --what=projector               # word embeddings for TensorBoard's projector

docs/monitoring.md shows all of them.
"""

from bert_common import cli
from bert_tf.plotting.options import PlotOptions

if __name__ == "__main__":
  cli.run(PlotOptions, "bert_tf.plotting.plot:run", positional="sources")
