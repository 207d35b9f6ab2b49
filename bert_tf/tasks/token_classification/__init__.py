"""Token classification, such as named entities; fine-tuned and feature-based.

    options.py            options of `run_ner.py`
    data.py               files → windows
    task.py               the task as the driver runs it
    results.py            predictions, reports, worst sentences
    activations.py        activations of a frozen encoder, cached
    feature_based.py      runs on these activations
    feature_inference.py  predictions and exports of such taggers
    word_graph.py         tokens → words → entities in a graph
    inference.py          predictions and exports
"""
