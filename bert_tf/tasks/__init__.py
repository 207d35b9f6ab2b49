"""The driver of all runs, and a package for each task: its options, data, model, results and
predictions.

Every run has the same skeleton: check → data → model → train / evaluate / predict.
"""
