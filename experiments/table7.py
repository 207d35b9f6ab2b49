"""Table 7 of the paper: named entities from the activations of a frozen model.

  python experiments/table7.py --scale=laptop --output_dir=results/table7 \\
      --corpus='corpus/*.txt' --ner_dir=conll2003

A two-layer BiLSTM reads the activations of some layers of a cased model. On a laptop, with 59 MB of
novels and WNUT-17, expect 20 minutes of jobs a seed and F1 of 1 to 6.
"""

from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

# The paper's model is cased, as the task needs capital letters.
_MODEL = Model("12-768-12", cased=True)
_ROWS = tuple(Row(name, _MODEL, (row.paper_f1,), layers=name) for name, row in TABLE_7.items())

EXPERIMENT = Experiment(
    name="table7",
    title="Table 7: named entities from fixed activations",
    rows=_ROWS,
    columns=("ner_features",),
    about="Six choices of the layers that a two-layer BiLSTM reads. Scores are entity F1 on the "
    "development set.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
