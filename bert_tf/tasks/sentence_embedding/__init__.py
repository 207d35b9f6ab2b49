"""Vectors of sentences: training on pairs, and retrieval."""
