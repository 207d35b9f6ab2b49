"""Input pipelines, the loop, the optimizer, devices, run directories and reports: nothing about any
one task.

The loop steps through `strategy.run` itself, which is written for Keras' TensorFlow backend.
"""

import modeling  # noqa: F401  (chooses the Keras backend where the user has not)
