"""Vectors of sentences: training on pairs, and retrieval.

    options.py    options of `run_sentence_embedding.py`
    data.py       files → examples of several texts
    task.py       the task as the driver runs it, with scores and files of results
    inference.py  vectors of texts, and exports
"""
