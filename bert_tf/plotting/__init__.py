"""Plots of runs and models, drawn with matplotlib, for `plot.py`.

    plot.py       options; curves of runs, scores of a selection, attention in a sentence
    picture.py    style and files of a picture
"""
