"""Table 2 of the paper: SQuAD v1.1, single models and an ensemble.

  python experiments/table2.py --scale=laptop --output_dir=results/table2 \\
      --corpus='corpus/*.txt' --squad_dir=squad

Each member of the ensemble has its own pre-training: seven in the paper, three on a laptop. The
rows with TriviaQA as a first stage are two commands, see docs/squad.md.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table2",
    title="Table 2: SQuAD v1.1",
    rows=(
        Row("BERT-Base", Model(), (80.8, 88.5)),
        Row("BERT-Large", Model("large"), (84.1, 90.9)),
        Row("BERT-Large, ensemble", Model("large"), (85.8, 91.8), is_ensemble=True),
    ),
    columns=("squad_em", "squad"),
    about="The gain of a larger model and of an ensemble. There is one ensemble, so that it has no "
    "deviation.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
