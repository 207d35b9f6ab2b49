"""Token classification, such as named entities; fine-tuned and feature-based.

    options.py            options of `run_ner.py`
    data.py               files → windows
    task.py               the task as the driver runs it, with scores and files of results
    feature_based.py      the task on activations of a frozen encoder, kept in a cache, and what the command runs
    word_graph.py         tokens → words → entities in a graph
    inference.py          predictions and exports
"""
