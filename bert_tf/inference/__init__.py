"""Predictions, exports, features and filled masks: what is the same for all tasks, and the table of the tasks.

    options.py        options of the scripts, and the table of the formats of exports
    task_table.py     table of the tasks; the task of a checkpoint
    predictor.py      `Predictor`; `predict.py`
    export.py         a checkpoint → a directory for others, checked; `export_model.py`
    formats.py        the interface of a format of exports
    saved_model.py    strings → outputs, for TensorFlow: the format of the core
    features.py       hidden states as features, and their files; `extract_features.py`
    conversion.py     a checkpoint in another format, with a model card; `convert_checkpoint.py`
    fill_mask.py      candidates for masks; `fill_mask.py`
"""

import bert_common  # noqa: F401  (quiets TensorFlow)
