"""Ways of writing a trained model for others, and what checks them all.

    formats.py        what a format is, and the table of them
    saved_model.py    strings → outputs, for TensorFlow
    tfhub.py          a preprocessor and an encoder with TF-Hub's names
    warmup.py         requests that TensorFlow Serving answers itself when it loads an export
    loaders.py        exports as their runtimes see them
    loading_back.py   the process that loads an export and is asked what the model was asked
"""
