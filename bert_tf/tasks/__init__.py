"""One module a task: its options, what is checked before anything is built, the run, the files it writes.

A run script turns its flags into a task's options and calls its `run`. Every task has the same skeleton: check → data →
model → train / evaluate / predict.
"""
