"""The driver of all runs: check → data → model → train / evaluate / predict, in a run directory.

run.py            every run from top to bottom
trainer.py        the training loop, evaluation and prediction
weights.py        the model: restored or initialized, with optimizer, checkpoints, best weights
record.py         what a start keeps in its directory
task.py           the interface of a task; fine_tuning.py has what tasks on labeled files share
sweep.py          several values of an option: many runs in one directory
provenance.py     which files and weights a run was made from; contents.py has their digests
dry_run.py        the plan of a run, printed without starting it
data_notes.py     what the labeled data of a run contains: classes, unknown words, repetitions
model_card.py     README.md of a run directory
evaluation.py     metrics and predictions at a step
options.py        options of every run; development_sets.py holds out a part of a training file
results.py        results of the runs of a sweep or an experiment
"""
