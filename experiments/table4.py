"""Table 4 of the paper: SWAG.

  python experiments/table4.py --scale=laptop --output_dir=results/table4 \\
      --corpus='corpus/*.txt' --swag_dir=swag

The directory has SWAG's train.csv and val.csv.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table4",
    title="Table 4: SWAG",
    rows=(
        Row("ESIM+GloVe", None, (51.9, 52.7)),
        Row("ESIM+ELMo", None, (59.1, 59.2)),
        Row("OpenAI GPT", None, (None, 78.0)),
        Row("BERT-Base", Model(), (81.6,)),
        Row("BERT-Large", Model("large"), (86.6, 86.3)),
        Row("human, expert", None, (None, 85.0)),
        Row("human, five annotations", None, (None, 88.0)),
    ),
    columns=("swag", "test_accuracy"),
    about="The choice among four endings; chance is 25. The labels of the test set are not "
    "published.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
