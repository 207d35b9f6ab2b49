"""Plots of runs, records, predictions and models, drawn with matplotlib, for `plot.py`.

    options.py       options of the scripts
    plot.py          finds what can be drawn and draws it
    picture.py       style and files of a plot
    runs.py          curves of runs
    records.py       lengths and masks of records
    models.py        attention and embeddings
"""
