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
        Row("Before GPT", None, (80.6, 80.1, 66.1, 82.3, 93.2, 35.0, 81.0, 86.0, 61.7, 74.0)),
        Row(
            "BiLSTM+ELMo+Attn",
            None,
            (76.4, 76.1, 64.8, 79.8, 90.4, 36.0, 73.3, 84.9, 56.8, 71.0),
        ),
        Row("OpenAI GPT", None, (82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0, 75.1)),
        Row("BERT-Base", Model(), (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6)),
        Row(
            "BERT-Large",
            Model("large"),
            (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 82.1),
        ),
    ),
    columns=(
        "mnli",
        "mnli_mm",
        "qqp",
        "qnli",
        "sst-2",
        "cola",
        "sts-b",
        "mrpc_f1",
        "rte",
        "average",
        "wnli",
    ),
    about="Two model sizes, fine-tuned for each task of GLUE, and the systems before them. The "
    "paper's numbers are of the test sets, ours of the development sets; the best of several "
    "restarts, which the paper submits, follows the mean. The paper's average is without WNLI; the "
    "official score of BERT-Large, with it, is 80.5.",
    shows_best=True,
)

if __name__ == "__main__":
    main(EXPERIMENT)
