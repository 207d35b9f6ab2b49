"""All tables and figures, one after the other; what several of them need is made once.

  python experiments/all.py --scale=laptop --output_dir=results --corpus='corpus/*.txt'
  --glue_dir=glue \\
      --squad_dir=squad --swag_dir=swag --ner_dir=conll2003
  python experiments/all.py --scale=paper --print_plan

The same command again resumes. Tables whose data is not there are left out; `distillation.py`,
which takes longer than all of them, is run by itself.
"""

import importlib

from experiments.runner.run import main

EXPERIMENTS = tuple(
    importlib.import_module(f"experiments.{name}").EXPERIMENT
    for name in (
        "table5",
        "table6",
        "table7",
        "table8",
        "figure5",
        "score_per_flop",
        "table1",
        "table2",
        "table3",
        "table4",
    )
)

if __name__ == "__main__":
    main(*EXPERIMENTS)
