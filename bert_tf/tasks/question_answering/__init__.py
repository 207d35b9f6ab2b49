"""Extractive question answering: SQuAD v1.1 and v2.0.

    options.py       options of `run_squad.py`
    settings.py      windows and choice of answers, kept in `task.json`
    data.py          files → windows
    task.py          the task as the driver runs it
    results.py       logits → answers, scores, files
    ensemble.py      several runs that answer together
    window_graph.py  windows and answers in a graph
    inference.py     predictions and exports
"""
