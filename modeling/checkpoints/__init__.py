"""Weights in files: TensorFlow, HDF5 and safetensors, of this project and of others.

    weights.py             table of the weights and table of the heads: names and shapes in every format
    weight_shapes.py       shapes that a configuration asks for, compared with those of a checkpoint
    load.py                `read_checkpoint`, `open_checkpoint` (a `Checkpoint`), `load_weights`: any format in
    write.py               `write_checkpoint`: any format out
    convert.py             one format to another, checked; `convert_checkpoint.py`
    companion_files.py     `StoredWeights`, and configuration, vocabulary and task beside them
    vocabulary_check.py    whether a vocabulary belongs to the weights
    named_weights.py       released weights by name: downloads and caches
    native.py              checkpoints of our own runs
    lora.py                LoRA matrices in them
    original.py            checkpoints of the original
    model_garden.py        checkpoints of the TensorFlow Model Garden
    huggingface.py         directories of Hugging Face's transformers
    huggingface_config.py  their `config.json`
    sentence_transformers.py  directories of sentence-transformers: which vectors of the encoder count
    tokenizer_file.py      `tokenizer.json` of Hugging Face's tokenizers
    tensor_file.py         what is checked of the tensors in any file
    tensorflow_files.py    `.index` and `.data` files
    safetensors_files.py   `.safetensors` files
    h5_files.py            `.h5` files, and those of transformers' TensorFlow classes
"""
