"""Table 3 of the paper: SQuAD v2.0, where a text may have no answer.

  python experiments/table3.py --scale=laptop --output_dir=results/table3 \\
      --corpus='corpus/*.txt' --squad_dir=squad

The threshold of "no answer" is tuned on the development set, as in the paper.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table3",
    title="Table 3: SQuAD v2.0",
    rows=(
        Row("human", None, (86.3, 89.0, 86.9, 89.5)),
        Row("MIR-MRC (F-Net)", None, (None, None, 74.8, 78.0)),
        Row("nlnet", None, (None, None, 74.2, 77.1)),
        Row("unet, ensemble", None, (None, None, 71.4, 74.9)),
        Row("SLQA+", None, (None, 71.4, None, 74.4)),
        Row("BERT-Base", Model()),
        Row("BERT-Large", Model("large"), (78.7, 81.9, 80.0, 83.1)),
    ),
    columns=("squad2_em", "squad2", "test_em", "test_f1"),
    about="The paper has a single BERT-Large; Base is here for comparison. The labels of the test "
    "set are not published.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
