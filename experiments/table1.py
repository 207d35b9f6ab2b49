"""Table 1 of the paper: GLUE, the learning rate chosen on each development set.

  python experiments/table1.py --scale=laptop --output_dir=results/table1 \\
      --corpus='corpus/*.txt' --glue_dir=glue

The paper's numbers come from the test server, which has the labels; ours are of the development
sets.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: GLUE",
    rows=(
        Row("BERT-Base", Model(), (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4)),
        Row("BERT-Large", Model("large"), (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1)),
    ),
    columns=("mnli", "mnli_mm", "qqp", "qnli", "sst-2", "cola", "sts-b", "mrpc_f1", "rte", "wnli"),
    about="Two model sizes, fine-tuned for each task of GLUE. The paper's numbers are of the test "
    "sets, ours of the development sets; the paper leaves WNLI out.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
