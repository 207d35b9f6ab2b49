"""Pre-training: masked LM and next sentence, or next token.

    options.py          options of `run_pretraining.py`
    data.py             records, checked
    vocabulary.py       the vocabulary of records and weights
    input_groups.py     into how many groups the record files are dealt
    phases.py           lengths and batch sizes in turn
    dynamic_masking.py  masks made while training
    task.py             the task as the driver runs it
    baselines.py        accuracies without a model
    report.py           plan and sample predictions
"""
