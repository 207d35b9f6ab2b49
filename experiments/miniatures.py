"""The 24 miniatures (arXiv 1908.08962): pre-trained, and fine-tuned with the recipe of their release.

  python experiments/miniatures.py --scale=laptop --output_dir=results/miniatures --corpus='corpus/*.txt' \\
      --glue_dir=glue
  python experiments/miniatures.py --scale=paper --print_plan

Four epochs, the best of five batch sizes and four learning rates. On a laptop three of them with a smaller grid.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.options import GPU, LAPTOP, PAPER, TOY
from experiments.runner.run import main
from experiments.runner.scales import MINIATURES

# Layers and hidden units → published scores of GLUE's test sets; only these four were published.
_PUBLISHED = {
    (2, 128): (0.0, 83.2, 81.1, 73.6, 62.2, 70.2, 70.3, 81.5, 57.2, 62.3),
    (4, 256): (0.0, 85.9, 81.1, 73.3, 66.4, 74.8, 74.3, 84.1, 57.9, 62.3),
    (4, 512): (27.8, 89.7, 83.4, 77.0, 68.1, 77.6, 77.0, 86.4, 61.8, 62.3),
    (8, 512): (38.0, 89.6, 86.6, 78.4, 69.6, 80.0, 79.1, 87.7, 62.2, 62.3),
}
_ON_A_LAPTOP = ((2, 128), (2, 256), (4, 128))

EXPERIMENT = Experiment(
    name="miniatures", title="The miniatures: GLUE",
    rows=tuple(
        Row(f"{layers} layers, {hidden} hidden units", Model(f"{layers}-{hidden}"),
            _PUBLISHED.get((layers, hidden), ()), recipe=MINIATURES,
            scales=(PAPER, GPU, LAPTOP, TOY) if (layers, hidden) in _ON_A_LAPTOP else (PAPER,))
        for layers in (2, 4, 6, 8, 10, 12) for hidden in (128, 256, 512, 768)),
    columns=("cola", "sst-2", "mrpc_f1", "sts-b", "qqp", "mnli", "mnli_mm", "qnli", "rte", "wnli"),
    mean_of_columns=True,
    about="Sizes from BERT-Tiny (2 layers, 128 hidden units) to 12 layers and 768 hidden units. The published numbers "
          "are of the test sets, ours of the development sets.")

if __name__ == "__main__":
  main(EXPERIMENT)
