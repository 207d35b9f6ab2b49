"""Weights in files: ours (`native`), the original's (`original`), and the names that tie them together (`names`)."""
