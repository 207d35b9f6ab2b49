"""Table 2 of the paper: SQuAD v1.1, single models, an ensemble, and TriviaQA as a first stage.

  python experiments/table2.py --scale=laptop --output_dir=results/table2 --corpus='corpus/*.txt' --squad_dir=squad
  python experiments/table2.py --scale=paper --print_plan

The members of the ensemble have pre-trainings of their own, seven in the paper, three on a laptop. TriviaQA needs
--triviaqa_dir; without it its rows are left out.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table2", title="Table 2: SQuAD v1.1",
    rows=(
        Row("BERT-Base", Model(), (80.8, 88.5)),
        Row("BERT-Large", Model("large"), (84.1, 90.9)),
        Row("BERT-Large, ensemble", Model("large"), (85.8, 91.8), members=7),
        Row("BERT-Large + TriviaQA", Model("large"), (84.2, 91.1), triviaqa=True),
        Row("BERT-Large, ensemble + TriviaQA", Model("large"), (86.2, 92.2), members=7,
            triviaqa=True),
    ),
    columns=("squad_em", "squad"),
    about="What a larger model, several of them together, and TriviaQA before SQuAD bring. There is one ensemble, so "
          "its order among the rows has no repetitions.")

if __name__ == "__main__":
  main(EXPERIMENT)
