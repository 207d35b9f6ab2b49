"""Strings to ids: the tokenizer in Python, and as a layer in a graph (`preprocessor.py`)."""

from data_gen.tokenization.tokenizer import Tokenizer as Tokenizer
