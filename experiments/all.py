"""Runs all tables and figures of the paper; jobs that several of them need run once.

  python experiments/all.py --scale=laptop --output_dir=results --corpus='corpus/*.txt' \\
      --glue_dir=glue --squad_dir=squad --swag_dir=swag --ner_dir=conll2003
  python experiments/all.py --scale=paper --print_plan

The same command again resumes. Columns without data are left out.
"""

from experiments import figure5, table1, table2, table3, table4, table5, table6, table7, table8
from experiments.runner.run import main

# The order of the jobs: tables whose pre-trainings are shared come first, those that need the large
# models last.
_MODULES = (table5, table6, table7, table8, figure5, table1, table2, table3, table4)
EXPERIMENTS = tuple(module.EXPERIMENT for module in _MODULES)

if __name__ == "__main__":
    main(*EXPERIMENTS)
