"""Table 6 of the paper: model sizes, with the perplexity of the held-out masked tokens.

  python experiments/table6.py --scale=laptop --output_dir=results/table6 \\
      --corpus='corpus/*.txt' --glue_dir=glue

Models on a laptop have about a third of the paper's layers and a sixth of its hidden units. With 59
MB of novels expect 70 minutes of jobs a seed, half as long on two cores, perplexities of 175 to
290, and little above the majority class in all tasks but SST-2 (51 to 68).
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table6",
    title="Table 6: the size of the model",
    rows=(
        Row("3, 768, 12", Model("3-768-12"), (5.84, 77.9, 79.8, 88.4)),
        Row("6, 768, 3", Model("6-768-3"), (5.24, 80.6, 82.2, 90.7)),
        Row("6, 768, 12", Model("6-768-12"), (4.68, 81.9, 84.8, 91.3)),
        Row("12, 768, 12", Model("12-768-12"), (3.99, 84.4, 86.7, 92.9)),
        Row("12, 1024, 16", Model("12-1024-16"), (3.54, 85.7, 86.9, 93.3)),
        Row("24, 1024, 16", Model("24-1024-16"), (3.23, 86.6, 87.8, 93.7)),
    ),
    columns=("perplexity", "mnli", "mrpc", "sst-2", "next_sentence"),
    about="Rows are named by layers, hidden units and heads of the paper's models; the commands "
    "show the sizes used here. Compare perplexities only for the same text and vocabulary. "
    "Of next sentences the paper says that its final model is right about 97 to 98 %.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
