"""Predictions, exports, features and filled masks: the parts that all tasks share, and the table of
the tasks.

- options.py: options of the scripts, the tables of tasks and of formats of exports; the task of a
  checkpoint
- predictor.py: `Predictor`; `predict.py`
- export.py: a checkpoint → a directory for others, checked; the interface of a format;
  `export_model.py`
- saved_model.py: strings → outputs, for TensorFlow: the format of the core
- features.py: hidden states as features, and their files; `extract_features.py`
- conversion.py: a checkpoint in another format, with a model card; `convert_checkpoint.py`
- fill_mask.py: candidates for masks; `fill_mask.py`
"""

import bert_common  # noqa: F401  (quiets TensorFlow)
