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
        Row("BERT-Base", Model(), (81.6,)),
        Row("BERT-Large", Model("large"), (86.6,)),
    ),
    columns=("swag",),
    about="The choice among four endings; chance is 25. The paper's numbers are of SWAG's "
    "development set.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
