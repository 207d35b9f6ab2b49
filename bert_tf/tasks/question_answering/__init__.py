"""Extractive question answering: SQuAD v1.1 and v2.0.

    options.py    options of `run_squad.py`; of these, what `task.json` keeps
    data.py       files → windows; the runs of an ensemble
    task.py       the task as the driver runs it; logits → answers, scores, files
    inference.py  predictions and exports; windows and answers in a graph
"""
