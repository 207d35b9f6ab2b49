"""Scores and graders' files, in numpy, scipy and scikit-learn. Nothing here imports a model or TensorFlow."""
