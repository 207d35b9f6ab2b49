"""Weights in files: TensorFlow, HDF5 and safetensors, of this project and of others.

weights.py             table of the weights and table of the heads: names and shapes in every format
load.py                `read_checkpoint`, `open_checkpoint` (a `Checkpoint`), `load_weights`: any
format in convert.py             `write_checkpoint`: any format out; one to another, checked:
`convert_checkpoint.py` companion_files.py     `StoredWeights`, checked tensors, and beside them
configuration, vocabulary, task and pooling named_weights.py       released weights by name:
downloads and caches model_garden.py        checkpoints of the TensorFlow Model Garden
huggingface.py         directories of Hugging Face's transformers: `config.json`, `.safetensors`,
`.h5`; HDF5 files tokenizer_file.py      `tokenizer.json` of Hugging Face's tokenizers
tensorflow_files.py    `.index` and `.data` files; those of our runs, with LoRA's matrices, and the
original's
"""
