"""Weights in files, ours and other people's.

  weights.py             the table of the weights and the table of the heads: names, places, shapes in every format
  load.py                read_checkpoint, open_checkpoint, load_weights: any format in
  write.py  convert.py   write_checkpoint, convert: any format out
  native.py  original.py  huggingface.py (+ huggingface_config.py)  model_garden.py     a format each, read and written
  tensorflow_files.py  safetensors_files.py  companion_files.py     the files themselves
"""
