"""Table 7 of the paper: named entities, fine-tuned and from the activations of a frozen model.

  python experiments/table7.py --scale=laptop --output_dir=results/table7 \\
      --corpus='corpus/*.txt' --ner_dir=conll2003

Two cased models are fine-tuned; a two-layer BiLSTM reads the activations of some layers of the
smaller one. On a laptop, with 59 MB of novels and WNUT-17, expect 20 minutes of jobs a seed for the
features, F1 of 1 to 6, and half an hour for the larger model.
"""

from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main

# The paper's model is cased, as the task needs capital letters.
_MODEL = Model("12-768-12", cased=True)
_FEATURES = tuple(Row(name, _MODEL, (row.paper_f1,), layers=name) for name, row in TABLE_7.items())

EXPERIMENT = Experiment(
    name="table7",
    title="Table 7: named entities, fine-tuned and from fixed activations",
    rows=(
        Row("ELMo", None, (95.7, 92.2)),
        Row("CVT", None, (None, 92.6)),
        Row("CSE", None, (None, 93.1)),
        Row("BERT-Large, fine-tuned", Model("24-1024-16", cased=True), (96.6, 92.8)),
        Row("BERT-Base, fine-tuned", _MODEL, (96.4, 92.4)),
        *_FEATURES,
    ),
    columns=("ner_dev", "ner_test"),
    about="Entity F1 of two models and of six choices of the layers that a two-layer BiLSTM reads. "
    "The paper's test F1 is the mean of five restarts with the settings that are best on Dev.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
