"""Table 5 of the paper: the gain of next-sentence prediction and of bidirectionality.

  python experiments/table5.py --scale=laptop --output_dir=results/table5 \\
      --corpus='corpus/*.txt' --glue_dir=glue --squad_dir=squad
  python experiments/table5.py --scale=paper --print_plan

Three pre-trainings on the same text: as in the paper, without next sentence, and left to right
without next sentence (this one stays left to right in fine-tuning). The fourth row puts a BiLSTM on
top of the third in fine-tuning. Three differences that section 5.1 names are tested.
On a laptop, with 59 MB of novels, expect an hour and a half of jobs a seed, half as long on two
cores; QNLI has 54 to 59, SQuAD F1 11 to 17.
"""

from experiments.runner.experiment import Comparison, Experiment, Model, Row
from experiments.runner.run import main

_LEFT_TO_RIGHT = Model(next_sentence=False, left_to_right=True)

EXPERIMENT = Experiment(
    name="table5",
    title="Table 5: the pre-training tasks",
    rows=(
        Row("BERT-Base", Model(), (84.4, 88.4, 86.7, 92.7, 88.5)),
        Row("No NSP", Model(next_sentence=False), (83.9, 84.9, 86.5, 92.6, 87.9)),
        Row("LTR & No NSP", _LEFT_TO_RIGHT, (82.1, 84.3, 77.5, 92.1, 77.8)),
        # The paper does not state the size of the BiLSTM: it is as wide as the model.
        Row("+ BiLSTM", _LEFT_TO_RIGHT, (82.1, 84.1, 75.7, 91.6, 84.9), bilstm=True),
    ),
    columns=("mnli", "qnli", "mrpc", "sst-2", "squad"),
    about="The loss without next-sentence prediction and with a model that reads from left to "
    "right only, and how much of it a BiLSTM on top gives back. After little pre-training left to "
    "right may rightly lead: it learns from every token and not from 15 % of them (figure 5).",
    comparisons=(
        Comparison("BERT-Base", "No NSP", "qnli"),
        Comparison("No NSP", "LTR & No NSP", "squad"),
        Comparison("+ BiLSTM", "LTR & No NSP", "squad"),
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT)
