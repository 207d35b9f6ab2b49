"""The report of a run: one file of HTML that shows what was learned.

    numbers.py      files of a run directory → `Numbers`, all that the report shows
    intervals.py    scores with intervals and trivial baselines
    pictures.py     numbers → drawings in SVG
    rasters.py      numbers → pictures of pixels, for TensorBoard
    page.py         `Numbers` → HTML
    own_results.py  whether results in a directory belong to its run
    callback.py     writes the report of a run at its end
    tensorboard.py  metrics, options, and the same tables and pictures for TensorBoard

Every number is found in `metrics.jsonl` or a file of predictions of the run. Nothing here needs
matplotlib, and only `tensorboard.py` imports TensorFlow.
"""
