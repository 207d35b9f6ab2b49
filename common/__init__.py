"""What every package may use: options and command lines, user errors, files on any file system, progress.

Nothing here imports TensorFlow, so the text tools start in a fraction of a second.
"""
