"""A package for each task: its options, data, training, results, predictions and exports.

`inference.py` has what predictions of all tasks share. Tasks do not import each other.
"""
