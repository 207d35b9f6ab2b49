"""Weights in files, ours and other people's.

  load.py                         opening a checkpoint of any format, loading it into a model, the account
  source.py  names.py  shapes.py  what all formats have in common: the original's names and shapes
  surroundings.py                 configuration, vocabulary and casing beside the weights
  bundle.py  object_graph.py      TensorFlow's files: native.py, original.py, model_garden.py (+ _layout)
  safetensors_files.py            safetensors: huggingface.py (+ _names, _config)
  write.py                        all formats the other way
"""
