"""Strings to ids: the tokenizer in Python, and as a layer in a graph.

preprocessor.py     `BertPreprocessor`: the layer for Keras models
graph_tokenizer.py  the tokenizer as TensorFlow operations, and rows with [CLS] and [SEP]
"""

from data_gen.tokenization.tokenizer import Tokenizer as Tokenizer
