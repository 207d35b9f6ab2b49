"""A GGUF file of an encoder, for llama.cpp and what stands on it: Ollama, LM Studio,
node-llama-cpp. `--format=gguf`.

Input: a task that gives vectors. Output: `model.gguf` of the architecture "bert", with any
WordPiece vocabulary, the pooling, and weights in f32, f16 or q8_0. llama.cpp computes GELU in its
tanh form, and has no pooler and no heads.
"""

import copy
import os

import gguf
import numpy as np

from bert_common.errors import UserError
from bert_tf.extras.token_id_formats import (
    INPUTS,
    SIGNATURE,
    TokenIdFormat,
    exported_weights,
    outputs,
)
from bert_tf.inference.export import LoadedExport, Request, as_arrays
from bert_tf.tasks.inference import TaskInference
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import ENCODER_PREFIX, POOLER, all_weights, original_names

GGUF_FILE = "model.gguf"
_VECTOR = "sentence_embedding"
_POOLINGS = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS}
# --quantize → type of matrices, and what the file is called by it.
_TYPES = {
    "none": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "float16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "int8": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
# Numbers of a row that Q8_0 gives one scale.
_BLOCK = 32


class GgufFormat(TokenIdFormat):
    """`--format=gguf`."""

    dtype = np.int32

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        super().prepare(checkpoint, name, task)
        config, vectors = task.model.config, task.vectors
        problem = (
            f"--task={name} has no place in it, only features and sentence_embedding"
            if not vectors
            else "a left-to-right model has no place in it"
            if config.causal
            else f"--pooling={vectors.pooling} has no place in it, only {' and '.join(_POOLINGS)}"
            if vectors.pooling not in _POOLINGS
            else f"llama.cpp computes BERT with GELU, not {config.hidden_act}"
            if "gelu" not in config.hidden_act
            else ""
        )
        if problem:
            raise UserError(f"--format=gguf: {problem}")
        if config.hidden_act == "gelu_erf":
            task.notes.append(
                "llama.cpp takes the tanh form of GELU, the model the exact one: vectors differ by about 1e-3"
            )
        self._task = task

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        return [
            Request(one.signature, one.inputs, {_VECTOR: one.expected[_VECTOR]})
            for one in super().requests(task, texts)
        ]

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        config, vocabulary, stored = task.model.config, task.vocabulary, stored_tensors(task)
        matrix_type, file_type = _TYPES[self.options.quantize]
        writer = gguf.GGUFWriter(os.path.join(directory, GGUF_FILE), "bert")
        writer.add_name(os.path.basename(os.path.normpath(self.options.export_dir)))
        writer.add_file_type(file_type)
        writer.add_context_length(config.max_position_embeddings)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_head_count(config.num_attention_heads)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        writer.add_causal_attention(False)
        writer.add_pooling_type(_POOLINGS[task.vectors.pooling])
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
        # A table of embeddings may be longer than the vocabulary.
        tokens = [
            *vocabulary.tokens,
            *(f"[unused-{id}]" for id in range(len(vocabulary), config.vocab_size)),
        ]
        # There a word begins with a sign, and what goes on has none.
        writer.add_token_list(
            [
                token
                if token in SPECIAL_TOKENS
                else token[2:]
                if token.startswith("##")
                else f"\u2581{token}"
                for token in tokens
            ]
        )
        writer.add_token_types(
            [
                gguf.TokenType.CONTROL if token in SPECIAL_TOKENS else gguf.TokenType.NORMAL
                for token in tokens
            ]
        )
        writer.add_token_type_count(config.type_vocab_size)
        for name, id in (
            ("bos", vocabulary.cls_id),
            ("seperator", vocabulary.sep_id),
            ("padding", vocabulary.pad_id),
            ("unknown", vocabulary.unk_id),
            ("mask", vocabulary.mask_id),
            ("cls", vocabulary.cls_id),
        ):
            writer.add_uint32(f"tokenizer.ggml.{name}_token_id", id)
        for name in ("lowercase", "strip_accents"):
            writer.add_bool(f"tokenizer.ggml.normalizer.{name}", task.tokenizer.do_lower_case)
        for name, value in exported_weights(task).items():
            if name in stored:
                tensor, is_transposed = stored[name]
                value = np.ascontiguousarray(value.T if is_transposed else value, np.float32)
                fits = value.ndim > 1 and (
                    self.options.quantize != "int8" or value.shape[-1] % _BLOCK == 0
                )
                kind = (
                    matrix_type
                    if fits and "token_types" not in tensor
                    else gguf.GGMLQuantizationType.F32
                )
                writer.add_tensor(tensor, gguf.quants.quantize(value, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def load(self, directory: str) -> LoadedExport:
        """The file's tensors in a model of ours: what llama.cpp makes of them is up to it."""
        tensors = {
            one.name: gguf.quants.dequantize(one.data, one.tensor_type).reshape(one.shape[::-1])
            for one in gguf.GGUFReader(os.path.join(directory, GGUF_FILE)).tensors
        }
        task = copy.copy(self._task)
        task.model = type(task.model).from_config(task.model.get_config())
        stored = stored_tensors(task)
        for name, variable in original_names(task.model).items():
            if name in stored:
                tensor, is_transposed = stored[name]
                variable.assign(tensors[tensor].T if is_transposed else tensors[tensor])
        return LoadedExport(
            {
                SIGNATURE: (
                    {"text": "string"},
                    {_VECTOR: f"float [{task.model.config.hidden_size}]"},
                )
            },
            lambda signature, inputs: as_arrays(
                outputs(task, {INPUTS[name]: value for name, value in inputs.items()})
            ),
        )


def stored_tensors(task: TaskInference) -> dict[str, tuple[str, bool]]:
    """Original name → name in the file, and whether it is transposed there, of the weights that the
    file has."""
    layers = task.model.config.num_hidden_layers
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    return {
        row.original: (
            known.get_name(row.huggingface.removeprefix("bert."), (".weight", ".bias")),
            row.huggingface_transposed,
        )
        for row in all_weights(layers).values()
        if row.original.startswith(ENCODER_PREFIX) and row not in POOLER
    }
