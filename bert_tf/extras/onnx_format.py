"""An ONNX model of token ids, for programs without TensorFlow; `token_id_formats.py` has what they
need beside it.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with
`model.onnx`, see `onnx_graph.bert_model`; with `--layout` that of a server:

    none         model.onnx
    triton       config.pbtxt, 1/model.onnx: a model of Triton's repository, by the name of the
    directory openvino     1/model.onnx: `--model_path` of OpenVINO Model Server
    opensearch   NAME.zip, with model.onnx and tokenizer.json; register.json, the request that
    registers it

None of these servers was run: tests hold the files against what they document.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras.onnx_graph import bert_model
from bert_tf.extras.token_id_formats import (
    INPUTS,
    SIGNATURE,
    TokenIdFormat,
    exported_weights,
    write_files,
)
from bert_tf.inference.export import LoadedExport, Request, describe_tensor
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.huggingface import CONFIG_FILE
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.tokenizer_file import TOKENIZER_FILE

ONNX_FILE = "model.onnx"
# Bytes of weights above which they are in a file of their own: a message of protobuf has at most 2
# GB.
_LARGEST_MODEL = 2**31 - 2**24
# Layout → where the model is while it is written, and in the end unless it is in a zip.
_MODEL_FILES = {
    "none": "model.onnx",
    "triton": "1/model.onnx",
    "openvino": "1/model.onnx",
    "opensearch": "model.onnx",
}
# Of one request, or of those that Triton puts together.
_MOST_ROWS = 64
_TRITON_TYPES = {onnx.TensorProto.INT64: "TYPE_INT64", onnx.TensorProto.FLOAT: "TYPE_FP32"}


def load_model(model: str | bytes) -> LoadedExport:
    """What a program sees that has onnxruntime, of a file or of its content."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names, results = (
        {
            one.name: describe_tensor(one.type.removeprefix("tensor(").removesuffix(")"), one.shape)
            for one in values
        }
        for values in (session.get_inputs(), session.get_outputs())
    )
    return LoadedExport(
        {SIGNATURE: (names, results)},
        lambda signature, inputs: dict(
            zip(
                results,
                session.run([*results], {name: inputs[name] for name in names}),
                strict=True,
            )
        ),
    )


class OnnxFormat(TokenIdFormat):
    """`--format=onnx`."""

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        super().prepare(checkpoint, name, task)
        self._name = os.path.basename(os.path.normpath(self.options.export_dir))
        if (
            self.options.layout == "opensearch"
            and not task.vectors
            and task.head != "question_answering"
        ):
            raise UserError(
                "--layout=opensearch takes models for vectors and for question answering: leave it out"
            )

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        weights = exported_weights(task)
        path = os.path.join(directory, _MODEL_FILES[self.options.layout])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # OpenSearch does without the segments of questions and contexts.
        inputs = (
            tuple(INPUTS)[:2]
            if self.options.layout == "opensearch" and not task.vectors
            else tuple(INPUTS)
        )
        write_model(task, weights, path, self.options.quantize, inputs)
        write_files(task, directory, {name: value.shape for name, value in weights.items()})
        if self.options.layout == "opensearch":
            # Model and tokenizer in a zip, and the request that registers it.
            zip_path, config = (
                os.path.join(directory, f"{self._name}.zip"),
                os.path.join(directory, CONFIG_FILE),
            )
            with zipfile.ZipFile(zip_path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in (_MODEL_FILES["opensearch"], TOKENIZER_FILE):
                    archive.write(os.path.join(directory, name), name)
            with open(zip_path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            function, framework, more = "QUESTION_ANSWERING", "huggingface_transformers", {}
            if task.vectors:
                function, framework = "TEXT_EMBEDDING", "sentence_transformers"
                more = {
                    "embedding_dimension": task.model.config.hidden_size,
                    "pooling_mode": task.vectors.pooling.upper(),
                    "normalize_result": task.vectors.normalize,
                }
            json_files.write(
                os.path.join(directory, "register.json"),
                {
                    "name": self._name,
                    "version": "1.0.0",
                    "function_name": function,
                    "model_format": "ONNX",
                    "model_content_size_in_bytes": os.path.getsize(zip_path),
                    "model_content_hash_value": digest,
                    "model_config": {
                        "model_type": "bert",
                        "framework_type": framework,
                        **more,
                        "all_config": json.dumps(json_files.read(config)),
                    },
                    "url": f"https://SERVER/{self._name}.zip",
                },
            )
            for name in os.listdir(directory):
                if name not in (os.path.basename(zip_path), "register.json"):
                    os.unlink(os.path.join(directory, name))
        elif self.options.layout == "triton":
            # The weights of a large model are in another file.
            graph = onnx.load(path, load_external_data=False).graph
            parts = [
                f'name: "{self._name}"',
                'backend: "onnxruntime"',
                f"max_batch_size: {_MOST_ROWS}",
                "dynamic_batching { }",
            ]
            for kind, values in (("input", graph.input), ("output", graph.output)):
                for one in values:
                    tensor = one.type.tensor_type
                    sizes = ", ".join(str(axis.dim_value or -1) for axis in tensor.shape.dim[1:])
                    parts.append(
                        f'{kind} {{ name: "{one.name}" data_type: {_TRITON_TYPES[tensor.elem_type]} dims: [ {sizes} ] }}'
                    )
            with open(os.path.join(directory, "config.pbtxt"), "w", encoding="utf-8") as file:
                file.write("\n".join([*parts, ""]))

    def load(self, directory: str) -> LoadedExport:
        if self.options.layout != "opensearch":
            return load_model(os.path.join(directory, _MODEL_FILES[self.options.layout]))
        with zipfile.ZipFile(os.path.join(directory, f"{self._name}.zip")) as archive:
            return load_model(archive.read(_MODEL_FILES["opensearch"]))


def write_model(
    task: TaskInference,
    weights: Mapping[str, np.ndarray],
    path: str,
    quantize: str,
    inputs: tuple[str, ...] = tuple(INPUTS),
) -> None:
    """Writes the model of a task; the weights of a large one as `model.onnx.data` beside it.

    In "int8" matrices and tables are int8, of matrices with a scale for each column; the factors of
    products that are no weights are rounded to int8 for each call, by the range that they have.
    """
    # In texts whose "[SEP]" is that token it is no sign of a second text.
    is_sign = not task.special_tokens and task.model.config.type_vocab_size > 1
    model = bert_model(
        weights,
        task.model.config,
        task.head,
        np.float16 if quantize == "float16" else np.float32,
        task.vectors,
        task.vocabulary.sep_id if is_sign else None,
        inputs,
    )
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if quantize != "int8":
        onnx.save_model(
            model, path, save_as_external_data=size > _LARGEST_MODEL, location=f"{ONNX_FILE}.data"
        )
        onnx.checker.check_model(path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Or it warns of shapes that it misses, which it does not need here.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        model,
        path,
        per_channel=True,
        weight_type=QuantType.QInt8,
        use_external_data_format=size > 4 * _LARGEST_MODEL,
    )
