"""Table 2 of the paper: SQuAD v1.1, single models and ensembles, with and without TriviaQA.

  python experiments/table2.py --scale=laptop --output_dir=results/table2 \\
      --corpus='corpus/*.txt' --squad_dir=squad

Each member of an ensemble has its own pre-training: seven in the paper, three on a laptop. The rows
with TriviaQA as a first stage need triviaqa.json in --squad_dir, see docs/squad.md.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

_LARGE = Model("large")

EXPERIMENT = Experiment(
    name="table2",
    title="Table 2: SQuAD v1.1",
    rows=(
        Row("human", None, (None, None, 82.3, 91.2)),
        Row("nlnet, ensemble", None, (None, None, 86.0, 91.7)),
        Row("QANet, ensemble", None, (None, None, 84.5, 90.5)),
        Row("BiDAF+ELMo", None, (None, 85.6, None, 85.8)),
        Row("R.M. Reader, ensemble", None, (81.2, 87.9, 82.3, 88.5)),
        Row("BERT-Base", Model(), (80.8, 88.5)),
        Row("BERT-Large", _LARGE, (84.1, 90.9)),
        Row("BERT-Large, ensemble", _LARGE, (85.8, 91.8), is_ensemble=True),
        Row("BERT-Large + TriviaQA", _LARGE, (84.2, 91.1, 85.1, 91.8), triviaqa=True),
        Row(
            "BERT-Large + TriviaQA, ensemble",
            _LARGE,
            (86.2, 92.2, 87.4, 93.2),
            is_ensemble=True,
            triviaqa=True,
        ),
    ),
    columns=("squad_em", "squad", "test_em", "test_f1"),
    about="The gain of a larger model, of an ensemble and of TriviaQA as a first stage. There is "
    "one ensemble of each kind, so that it has no deviation. The labels of the test set are not "
    "published. By footnote 7 a model trained for 30 minutes on a Cloud TPU has F1 91.0 on Dev.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
