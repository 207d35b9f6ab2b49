"""Pre-training: masked LM and next sentence, or next token.

    options.py          options of `run_pretraining.py`
    data.py             records, checked and parsed
    phases.py           lengths and batch sizes in turn, and the groups of the files
    vocabulary.py       the vocabulary of records and weights
    task.py             the task as the driver runs it
    eval_report.py      accuracies without a model, and sample predictions
"""
