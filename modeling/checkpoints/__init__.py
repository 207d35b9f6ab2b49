"""Weights in files: TensorFlow, HDF5 and safetensors, of this project and of others.

- `weights.py`: tables of the weights, of the heads and of the configuration's keys, in every
  format. A Hugging Face weight finds its place by a row here, `huggingface.py` and `load.py`.
- `reader.py`: `CheckpointReader` and `TensorFile`: checked tensors, in the original's shapes.
- `load.py`: `read_checkpoint`, `open_checkpoint` (a `Checkpoint`), `load_weights`: any format in.
- `convert.py`: `write_checkpoint`: any format out; one to another, checked:
  `convert_checkpoint.py`.
- `companion_files.py`: files beside weights: configuration, vocabulary and task.
- `sentence_vectors.py`, `simple_transformers.py`: files that sentence-transformers and
  simpletransformers write beside them.
- `named_weights.py`: released weights by name: downloads and caches.
- `tensorflow_files.py`: `.index` and `.data` files of our runs, with LoRA's matrices, and of the
  original.
- `optimizer_state.py`: the step and the slots of AdamW and LAMB, by TensorFlow 1's names and ours.
- `saved_model.py`: weights in SavedModels; `variable_names.py`: the names of other programs'
  variables, by which they and `.h5` files of such programs are read.
- `model_garden.py`: checkpoints of the TensorFlow Model Garden.
- `huggingface.py`: directories of Hugging Face's transformers: `config.json`, `.safetensors` and
  `.h5`; HDF5 files.
- `tokenizer_file.py`: `tokenizer.json` of Hugging Face's tokenizers.
"""
