"""Tasks, a package each: options, data, training, results, predictions and exports.

`inference.py` and `options.py` contain the parts that several tasks share; `class_names.py`
compares the classes of a head and of the data. Tasks do not import each other.
"""
