"""Figure 5 of the paper: MNLI after fine-tuning from checkpoints on the way of pre-training.

  python experiments/figure5.py --scale=laptop --output_dir=results/figure5 --corpus='corpus/*.txt'
  --glue_dir=glue

Two curves: the masked LM with next sentence, and left to right without. The pre-trainings are those
of table 5.
"""

from experiments.runner.experiment import BY_STEPS, LAPTOP, PAPER, TOY, Experiment, Model, Row
from experiments.runner.run import main

# Thousands of steps of a million; read off one rendering of the figure.
_POINTS = (30, 50, 100, 200, 400, 600, 800, 1000)
_MASKED_LM = (78.6, 79.6, 80.5, 82.2, 83.2, 84.0, 84.3, 84.4)
_LEFT_TO_RIGHT = (79.4, 79.8, 80.3, 81.0, 81.7, 81.9, 82.1, 82.2)
_SMALL_SCALES_POINTS = (100, 200, 400, 1000)


def _rows(curve: str, model: Model, values: tuple[float, ...]) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{curve}, {point / 10:g} % of the steps",
            model,
            (value,),
            at=point / 1000,
            curve=curve,
            scales=(PAPER, LAPTOP, TOY) if point in _SMALL_SCALES_POINTS else (PAPER,),
        )
        for point, value in zip(_POINTS, values, strict=True)
    )


EXPERIMENT = Experiment(
    name="figure5",
    title="Figure 5: MNLI by the steps of pre-training",
    rows=(
        *_rows("masked LM", Model(), _MASKED_LM),
        *_rows("left to right", Model(next_sentence=False, left_to_right=True), _LEFT_TO_RIGHT),
    ),
    columns=("mnli",),
    x=BY_STEPS,
    about="Whether the masked LM, which learns from 15 % of the tokens, needs more steps than left to right. In the "
    "paper the curves cross between 50,000 and 100,000 of a million steps. Its values are read off the figure, "
    "to about 0.2.",
    orders_rows=False,
    expect={
        LAPTOP: "59 MB of novels: half an hour of jobs a seed, 6 minutes where table 5 is there. MNLI 36 to 41."
    },
)

if __name__ == "__main__":
    main(EXPERIMENT)
