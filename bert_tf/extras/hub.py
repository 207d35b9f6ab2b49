"""One directory for all clients of Hugging Face's files: `--format=hub`.

- config.json, model.safetensors: transformers, KerasHub, text-embeddings-inference, candle
- onnx/model.onnx: transformers.js, optimum, fastembed, sentence-transformers' backend="onnx"
- onnx/model_quantized.onnx with --quantize=int8, onnx/model_fp16.onnx with float16
- tokenizer.json, tokenizer_config.json, special_tokens_map.json, vocab.txt
- modules.json, 1_Pooling/config.json, sentence_bert_config.json,
  config_sentence_transformers.json: sentence-transformers, for models for vectors
- README.md: a model card

Input: a task with its model. Output: all of that at once. The weights are read back and compared
bit for bit, and the outputs of each ONNX model are compared with the model's.
"""

import dataclasses
import os

from bert_common import files
from bert_tf.extras.onnx_format import load_model, write_model
from bert_tf.extras.token_id_formats import (
    TokenIdFormat,
    exported_config,
    exported_weights,
    write_files,
)
from bert_tf.inference import conversion
from bert_tf.inference.export import LoadedExport, Request, compare
from bert_tf.runs.model_card import CARD_FILE
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.convert import check_same, write_checkpoint
from modeling.checkpoints.load import Checkpoint, read_checkpoint

# --quantize → the file that transformers.js looks for.
_ONNX_FILES = {
    "none": "onnx/model.onnx",
    "int8": "onnx/model_quantized.onnx",
    "float16": "onnx/model_fp16.onnx",
}


class HubFormat(TokenIdFormat):
    """`--format=hub`."""

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        super().prepare(checkpoint, name, task)
        self._checkpoint = checkpoint

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        weights = exported_weights(task)
        config = exported_config(task)
        library = "huggingface"
        vectors = None
        if task.vectors:
            library = "sentence_transformers"
            vectors = dataclasses.replace(task.vectors, max_seq_length=task.max_seq_length)
        write_checkpoint(
            library,
            directory,
            weights,
            config,
            task.tokenizer.vocabulary.path,
            task.tokenizer.do_lower_case,
            vectors=vectors,
        )
        check_same(read_checkpoint(directory), weights)
        shapes = {name: value.shape for name, value in weights.items()}
        # These replace the tokenizer of the checkpoint, which is for any task and length.
        write_files(task, directory, weights)
        os.mkdir(os.path.join(directory, "onnx"))
        exact = os.path.join(directory, _ONNX_FILES["none"])
        write_model(task, weights, exact, "none")
        if self.options.quantize != "none":
            quantized = os.path.join(directory, _ONNX_FILES[self.options.quantize])
            write_model(task, weights, quantized, self.options.quantize)
            # The caller compares only the model that `load` returns, which is the quantized one.
            compare(load_model(exact), requests)
        # The card describes the exported weights, with the scores of the run they are from.
        source = dataclasses.replace(self._checkpoint.source, tensors=shapes)
        name = os.path.basename(os.path.normpath(self.options.export_dir))
        with files.atomic_write(os.path.join(directory, CARD_FILE)) as file:
            file.write(conversion.card(source, config, name, library))

    def load(self, directory: str) -> LoadedExport:
        return load_model(os.path.join(directory, _ONNX_FILES[self.options.quantize]))
