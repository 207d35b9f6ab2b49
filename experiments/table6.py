"""Table 6 of the paper: sizes of the model, with the perplexity of the held-out masked tokens.

  python experiments/table6.py --scale=laptop --output_dir=results/table6 --corpus='corpus/*.txt'
  --glue_dir=glue

On a laptop the layers are about a third and the hidden units a sixth of the paper's.
"""

from experiments.runner.experiment import LAPTOP, Experiment, Model, Row
from experiments.runner.run import main

# Layers, hidden units, heads: of the paper.
_ROWS = {
    "3-768-12": (5.84, 77.9, 79.8, 88.4),
    "6-768-3": (5.24, 80.6, 82.2, 90.7),
    "6-768-12": (4.68, 81.9, 84.8, 91.3),
    "12-768-12": (3.99, 84.4, 86.7, 92.9),
    "12-1024-16": (3.54, 85.7, 86.9, 93.3),
    "24-1024-16": (3.23, 86.6, 87.8, 93.7),
}

EXPERIMENT = Experiment(
    name="table6",
    title="Table 6: the size of the model",
    rows=tuple(Row(size.replace("-", ", "), Model(size), values) for size, values in _ROWS.items()),
    columns=("perplexity", "mnli", "mrpc", "sst-2"),
    about="Rows are named by layers, hidden units and heads of the paper's models; which models stand for them is in "
    "the commands. Perplexities are comparable within a text and a vocabulary only.",
    expect={
        LAPTOP: "59 MB of novels: 70 minutes of jobs a seed, half as long on two cores. Perplexity 175 to 290; "
        "all tasks but SST-2 (51 to 68) little above the majority class."
    },
)

if __name__ == "__main__":
    main(EXPERIMENT)
