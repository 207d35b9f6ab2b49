"""Networks that take plain strings: tokenizer, packing and answers as TensorFlow graphs.

`tasks/export.py` makes SavedModels of them. What is here must trace into a graph that needs nothing of this project
when it is loaded: TensorFlow and tensorflow_text are enough.

Letters: B texts, T tokens of all texts, S tokens of the longest sequence, W windows.
"""
