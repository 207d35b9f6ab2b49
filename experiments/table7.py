"""Table 7 of the paper: named entities from the activations of a model that stays as it is.

  python experiments/table7.py --scale=laptop --output_dir=results/table7 --corpus='corpus/*.txt'
  --ner_dir=conll2003

A BiLSTM reads the activations of some layers; the last row fine-tunes the model instead. The model
is cased.
"""

from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.experiment import LAPTOP, Experiment, Model, Row
from experiments.runner.run import main

EXPERIMENT = Experiment(
    name="table7",
    title="Table 7: named entities from fixed activations",
    rows=tuple(
        Row(name, Model("12-768-12", cased=True), (row.paper_f1,), layers=name)
        for name, row in TABLE_7.items()
    ),
    columns=("ner_features",),
    about="Six choices of what a two-layer BiLSTM reads. Scores are entity F1 on the development set.",
    expect={LAPTOP: "59 MB of novels, WNUT-17: 20 minutes of jobs a seed. F1 1 to 6."},
)

if __name__ == "__main__":
    main(EXPERIMENT)
