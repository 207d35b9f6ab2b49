"""Pre-trained distillation (arXiv 1908.08962): what small models gain by a teacher, with
pre-training and without.

  python experiments/distillation.py --scale=laptop --output_dir=results/distillation
  --corpus='corpus/*.txt' \\
      --glue_dir=glue
  python experiments/distillation.py --output_dir=results/distillation --glue_dir=glue \\
      --checkpoints=8-512:minilm,2-128:samples/tiny_books,4-256:mini,4-512:small

The paper's recipe is masked-LM pre-training of the student, distillation on transfer text,
fine-tuning on labels. Its baselines leave out the first, the second or both.
"""

from experiments.runner.experiment import LAPTOP, PAPER, TOY, Experiment, Model, Row
from experiments.runner.run import main
from experiments.runner.scales import STUDENT, TEACHER

_STUDENTS = {"Tiny": Model("2-128"), "Mini": Model("4-256"), "Small": Model("4-512")}
# The paper's is Large; on a laptop what is trained in a night. There labels are few, as where a
# teacher is asked for.
_TEACHERS = {Model("large"): ((PAPER,), None), Model("8-512"): ((LAPTOP, TOY), STUDENT)}

# Name of a row, whether the student is pre-trained, whether it is taught.
_WAYS = (
    ("random start", False, False),
    ("distillation", False, True),
    ("pre-training", True, False),
    ("pre-trained distillation", True, True),
)

EXPERIMENT = Experiment(
    name="distillation",
    title="Pre-trained distillation",
    rows=tuple(
        row
        for teacher, (scales, recipe) in _TEACHERS.items()
        for row in (
            Row("Teacher", teacher, recipe=TEACHER, scales=scales),
            *(
                Row(
                    f"{name}: {way}",
                    student,
                    pretrained=pretrained,
                    teacher=teacher if is_taught else None,
                    recipe=recipe,
                    scales=scales,
                )
                for name, student in _STUDENTS.items()
                for way, pretrained, is_taught in _WAYS
            ),
        )
    ),
    columns=("sst-2", "mnli", "rte"),
    about="All rows end with fine-tuning on the labels, of which a laptop's reads the first 1,000. Transfer text is "
    "the task's whole training file without its labels; the paper's transfer sets are millions of further texts. "
    "The paper publishes its scores as curves.",
    orders_rows=False,
)

if __name__ == "__main__":
    main(EXPERIMENT)
