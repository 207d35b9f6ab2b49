"""Plots of runs, records, predictions and models, drawn with matplotlib, for `plot.py`, and comparisons of runs,
for `compare.py`. Only `experiments/` imports it.

    options.py       options of the scripts
    plot.py          finds what can be drawn and draws it
    picture.py       style and files of a plot
    runs.py          curves of runs
    records.py       lengths and masks of records
    predictions.py   F1 by threshold; reliability
    models.py        attention and embeddings
    compare.py       what several runs differ in, as text, Markdown and a picture
    compared.py      what is compared of a run, and groups of runs that differ in the seed only
    disagreement.py  the examples that two runs disagree on
"""
