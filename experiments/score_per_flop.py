"""Score per training FLOP: GLUE against the arithmetic of pre-training, for models a laptop can
train.

  python experiments/score_per_flop.py --scale=laptop --output_dir=results/score_per_flop
  --corpus='corpus/*.txt' \\
      --glue_dir=glue

No table of the paper: sizes from Tiny to Small, each measured at several checkpoints of its
pre-training, beside published points of larger budgets.
"""

from experiments.runner.experiment import BY_FLOPS, LAPTOP, Experiment, Model, Row
from experiments.runner.run import main
from experiments.runner.scales import SHORT

# Name, size, length of the pre-training as a share of the scale's (larger models see less text),
# and at which shares of it the model is measured.
_MODELS = (
    ("Tiny", "2-128", 1.0, (0.25, 0.5, 1.0)),
    ("Mini", "4-256", 0.4, (0.25, 1.0)),
    ("Small", "4-512", 0.2, (1.0,)),
)

EXPERIMENT = Experiment(
    name="score_per_flop",
    title="Score per training FLOP",
    rows=tuple(
        Row(
            f"{name}, {share:.0%} of its pre-training",
            Model(size, length=length),
            at=share,
            curve=name,
            recipe=SHORT,
        )
        for name, size, length, shares in _MODELS
        for share in shares
    ),
    columns=("cola", "sst-2", "mrpc", "sts-b"),
    mean_of_columns=True,
    x=BY_FLOPS,
    # Table 1 of ELECTRA (Clark et al. 2020): mean of GLUE's development sets.
    published=(
        ("ELMo", 3.3e18, 71.2),
        ("GPT", 4.0e19, 78.8),
        ("BERT-Small", 1.4e18, 75.1),
        ("BERT-Base", 6.4e19, 82.2),
        ("ELECTRA-Small", 8.9e16, 74.1),
        ("ELECTRA-Small", 1.8e17, 76.0),
        ("ELECTRA-Small", 3.6e17, 77.7),
        ("ELECTRA-Small", 7.1e17, 79.0),
        ("ELECTRA-Small", 1.4e18, 79.9),
    ),
    about="The mean over the tasks against the floating-point operations of pre-training. The published points (table "
    "1 of the ELECTRA paper) are means over all tasks of GLUE with their whole training sets, and count "
    "operations a little differently: they show where larger budgets lie, and are not to be compared point by "
    "point.",
    orders_rows=False,
    expect={
        LAPTOP: "59 MB of novels: 80 minutes of jobs a seed, half as long on two cores. Means of 31 to 37."
    },
)

if __name__ == "__main__":
    main(EXPERIMENT)
