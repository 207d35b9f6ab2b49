"""Pre-trained distillation (arXiv 1908.08962): what small models gain by a teacher, with pre-training and without.

  python experiments/distillation.py --scale=laptop --output_dir=results/distillation --corpus='corpus/*.txt' \\
      --glue_dir=glue
  python experiments/distillation.py --scale=paper --print_plan

The paper's recipe is masked-LM pre-training of the student, distillation on transfer text, fine-tuning on labels. Its
baselines leave out the first, the second or both.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.options import GPU, LAPTOP, PAPER, TOY
from experiments.runner.run import main

_STUDENTS = {"Tiny": Model("2-128"), "Mini": Model("4-256"), "Small": Model("4-512")}
# The paper's is Large; on a laptop what is trained in a night.
_TEACHERS = {Model("large"): (PAPER,), Model("8-512"): (LAPTOP, GPU, TOY)}

EXPERIMENT = Experiment(
    name="distillation", title="Pre-trained distillation",
    rows=tuple(row for teacher, scales in _TEACHERS.items() for row in (
        Row("Teacher", teacher, scales=scales),
        *(row for name, student in _STUDENTS.items() for row in (
            Row(f"{name}: random start", student, pretrained=False, scales=scales),
            Row(f"{name}: distillation", student, pretrained=False, teacher=teacher, scales=scales),
            Row(f"{name}: pre-training", student, scales=scales),
            Row(f"{name}: pre-trained distillation", student, teacher=teacher, scales=scales))))),
    columns=("sst-2", "mnli", "rte"),
    about="All rows end with fine-tuning on the labels. Transfer text is the task's whole training file without its "
          "labels, of which a laptop's fine-tuning reads the first 3,000 with labels; the paper's transfer sets are "
          "millions of further texts. The paper publishes its scores as curves.",
    orders_rows=False)

if __name__ == "__main__":
  main(EXPERIMENT)
