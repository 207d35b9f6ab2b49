"""Predictions, exports, features and filled masks: what is the same for all tasks, and the table of the tasks.

    options.py        options of the scripts
    task_table.py     table of the tasks; the task of a checkpoint
    predictor.py      `Predictor`; `predict.py`
    export.py         a checkpoint → a model for others; `export_model.py`
    exports/          the formats of exports
    agreement.py      the tokenizer in the graph against the exact one
    features.py       hidden states as features; `extract_features.py`
    feature_files.py  the files of features
    conversion.py     a checkpoint in another format, with a model card; `convert_checkpoint.py`
    fill_mask.py      candidates for masks; `fill_mask.py`
"""

import bert_common  # noqa: F401  (tells TensorFlow to be quiet)
