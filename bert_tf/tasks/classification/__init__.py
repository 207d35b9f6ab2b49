"""Classification of texts and pairs, and regression: GLUE, XNLI and custom files.

    options.py    options of `run_classifier.py`
    data.py       files of each data set → examples; texts → sequences, or windows of long texts
    task.py       the task as the driver runs it, with files of results and pictures
    inference.py  predictions and exports
"""
