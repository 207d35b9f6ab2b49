"""Table 8 of the paper: the masking ratios.

  python experiments/table8.py --scale=laptop --output_dir=results/table8 \\
      --corpus='corpus/*.txt' --glue_dir=glue --ner_dir=conll2003

Eight pre-trainings differ in how many of the tokens to predict become [MASK], stay the same or
become a random token; six are the paper's. On a laptop, with 59 MB of novels and WNUT-17, expect
110 minutes of jobs a seed, half as long on two cores, MNLI of 34 to 41 and F1 of 0 to 2.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main


def _row(mask: int, same: int, random: int, *values: float) -> Row:
    """Returns a row; the percentages are in the order of the paper's columns."""
    return Row(
        f"{mask} % [MASK], {same} % same, {random} % random",
        # The option's order is [MASK], random, same.
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
        # Asked about by readers, in no paper.
        _row(90, 10, 0),
        _row(90, 0, 10),
    ),
    columns=("mnli", "ner", "ner_features"),
    about="Features are the concatenation of the last four layers (of all layers in models with "
    "fewer). The paper's differences are a few tenths of a point, so that few repetitions rarely "
    "show anything. The last two rows have no published value.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
