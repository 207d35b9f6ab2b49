"""Predictions, exports, features and filled masks: what is the same for all tasks, and the table of the tasks."""

import bert_tf.common  # noqa: F401  (tells TensorFlow to be quiet)
