"""What every room may use: errors a user can mend, files written whole, command lines, progress.

Nothing here imports TensorFlow, so the text tools start in a fraction of a second.
"""
