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
        Row("BERT-Base", Model()),
        Row("BERT-Large", Model("large"), (78.7, 81.9)),
    ),
    columns=("squad2_em", "squad2"),
    about="The paper has a single BERT-Large; Base is here for comparison.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
