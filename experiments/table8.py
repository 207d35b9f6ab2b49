"""Table 8 of the paper: what is put in the place of the tokens to predict.

  python experiments/table8.py --scale=laptop --output_dir=results/table8 --corpus='corpus/*.txt'
  --glue_dir=glue \\
      --ner_dir=conll2003

Six pre-trainings; of the tokens that are predicted so many per cent become [MASK], a random token,
or stay.
"""

from experiments.runner.experiment import LAPTOP, Experiment, Model, Row
from experiments.runner.run import main


def _row(mask: int, same: int, random: int, *values: float) -> Row:
    """In the paper's order of the three shares; the option's is [MASK], random, same."""
    return Row(
        f"{mask} % [MASK], {same} % same, {random} % random",
        Model(masking=f"{mask},{random},{same}"),
        values,
    )


EXPERIMENT = Experiment(
    name="table8",
    title="Table 8: masking",
    rows=(
        _row(80, 10, 10, 84.2, 95.4, 94.9),
        _row(100, 0, 0, 84.3, 94.9, 94.0),
        _row(80, 0, 20, 84.1, 95.2, 94.6),
        _row(80, 20, 0, 84.4, 95.2, 94.7),
        _row(0, 20, 80, 83.7, 94.8, 94.6),
        _row(0, 0, 100, 83.6, 94.9, 94.6),
    ),
    columns=("mnli", "ner", "ner_features"),
    about="Features are the concatenation of the last four layers (of all, where a model has fewer). The paper's "
    "differences are of a few tenths of a point, so few repetitions rarely show anything.",
    expect={
        LAPTOP: "59 MB of novels, WNUT-17: 80 minutes of jobs a seed, half as long on two cores. MNLI 34 to 41; "
        "F1 of named entities 0 to 2."
    },
)

if __name__ == "__main__":
    main(EXPERIMENT)
