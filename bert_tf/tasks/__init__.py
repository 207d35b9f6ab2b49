"""Tasks, a package each: options, data, training, results, predictions and exports.

`inference.py` and `options.py` contain the parts that several tasks share. Tasks do not import each
other.
"""
