"""Pre-trained distillation (arXiv 1908.08962): small models with and without a teacher.

  python experiments/distillation.py --scale=laptop --output_dir=results/distillation \\
      --corpus='corpus/*.txt' --glue_dir=glue
  python experiments/distillation.py --output_dir=results/distillation --glue_dir=glue \\
      --checkpoints=teacher:minilm,2-128:samples/tiny_books,4-256:mini,4-512:small

The paper's recipe is masked-LM pre-training of the student, distillation on transfer text and
fine-tuning on labels. Its baselines leave out the first step, the second one or both. The paper
publishes its scores as curves, so that the table has none of them.
"""

from experiments.runner.experiment import Experiment, Model, Row
from experiments.runner.run import main
from experiments.runner.scales import STUDENT, TEACHER

# The paper's teacher is BERT-Large; on a laptop it is what trains in a night.
_TEACHER = Model("teacher")
_STUDENTS = {"Tiny": "2-128", "Mini": "4-256", "Small": "4-512"}


def _rows() -> tuple[Row, ...]:
    """Returns the teacher, and four ways to train each student."""
    rows = [Row("Teacher", _TEACHER, recipe=TEACHER)]
    for name, size in _STUDENTS.items():
        student = Model(size)
        rows.append(Row(f"{name}: random start", student, pretrained=False, recipe=STUDENT))
        rows.append(
            Row(
                f"{name}: distillation",
                student,
                pretrained=False,
                teacher=_TEACHER,
                recipe=STUDENT,
            )
        )
        rows.append(Row(f"{name}: pre-training", student, recipe=STUDENT))
        rows.append(
            Row(
                f"{name}: pre-trained distillation",
                student,
                teacher=_TEACHER,
                recipe=STUDENT,
            )
        )
    return tuple(rows)


EXPERIMENT = Experiment(
    name="distillation",
    title="Pre-trained distillation",
    rows=_rows(),
    columns=("sst-2", "mnli", "rte"),
    about="All rows end with fine-tuning on the labels; on a laptop these are the first 1,000. "
    "Transfer text is the task's whole training file without its labels; the paper's transfer "
    "sets are millions of further texts.",
)

if __name__ == "__main__":
    main(EXPERIMENT)
