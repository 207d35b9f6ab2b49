"""Input pipelines, the loop, the optimizer, devices, run directories and reports: nothing about any one task.

The loop steps through `strategy.run` itself (`bert_tf/training/loop.py`), which is written for Keras' TensorFlow
backend.
"""

import keras

import modeling  # noqa: F401  (chooses the Keras backend where the user has not)
from bert_tf.common.errors import UserError

if keras.backend.backend() != "tensorflow":
  raise UserError(f"training needs Keras' TensorFlow backend, found {keras.backend.backend()!r}: "
                  "unset KERAS_BACKEND or set KERAS_BACKEND=tensorflow")
