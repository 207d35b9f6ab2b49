"""What every package may use: options and command lines, user errors, files on any file system, progress.

Nothing here imports TensorFlow, so the text tools start in a fraction of a second.
"""

import os

# TensorFlow reads it when it is imported, which all other packages leave until this one is there. It would log a dozen
# lines about the CPU and missing GPU drivers; what goes wrong is raised in Python anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
