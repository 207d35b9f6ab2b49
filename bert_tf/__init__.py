"""Everything that the scripts are made of, see docs/architecture.md. The library is `modeling` and
`data_gen`, on `bert_common`.

    commands.py       the scripts as commands of an installation
    charts.py         table of the metrics: group in TensorBoard, description, unit
    plotting.py       plots of runs and models
    tables.py         tables for the console and in Markdown, the means in them, figures
    training/         input pipelines, step, loop, devices, run directory
    evaluation/       scores and the files of official graders
    report/           the report of a run as a page
    runs/             the driver of all runs
    tasks/            a package for each task
    inference/        predictions, exports, features, filled masks
    vocabulary/       learning WordPiece vocabularies
    extras/           what no run needs, behind a wall
"""

import bert_common  # noqa: F401  (refuses another Python before modules in the syntax of today are read)

__version__ = "1.0.0"
