"""Directories of servers around an ONNX model: `--layout` with `--format=onnx`.

    none         model.onnx
    triton       config.pbtxt, 1/model.onnx: a model of Triton's repository, by the name of the directory
    openvino     1/model.onnx: `--model_path` of OpenVINO Model Server
    opensearch   NAME.zip, with model.onnx and tokenizer.json; register.json, the request that registers it

None of these servers was run: tests hold the files against what they document.
"""

import hashlib
import json
import os
import zipfile

import onnx

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras.token_id_formats import INPUTS
from bert_tf.inference.options import ExportOptions
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.huggingface import CONFIG_FILE
from modeling.checkpoints.tokenizer_file import TOKENIZER_FILE

# Layout → where the model is while it is written, and in the end unless it is in a zip.
MODEL_FILES = {"none": "model.onnx", "triton": "1/model.onnx", "openvino": "1/model.onnx", "opensearch": "model.onnx"}
# Of one request, or of those that Triton puts together.
_MOST_ROWS = 64
_TRITON_TYPES = {onnx.TensorProto.INT64: "TYPE_INT64", onnx.TensorProto.FLOAT: "TYPE_FP32"}


def check(options: ExportOptions, task: TaskInference) -> None:
  """Raises `UserError` for a task that the server has no place for."""
  if options.layout == "opensearch" and not task.vectors and task.head != "question_answering":
    raise UserError("--layout=opensearch takes models for vectors and for question answering: leave it out")


def inputs(layout: str, task: TaskInference) -> tuple[str, ...]:
  """The inputs that a server sends: OpenSearch does without the segments of questions and contexts."""
  return tuple(INPUTS)[:2] if layout == "opensearch" and not task.vectors else tuple(INPUTS)


def finish(options: ExportOptions, task: TaskInference, directory: str) -> None:
  """Adds what the server needs to a directory with the model and its tokenizer."""
  name = _name(options)
  if options.layout == "triton":
    # The weights of a large model are in another file.
    graph = onnx.load(os.path.join(directory, MODEL_FILES["triton"]), load_external_data=False).graph
    parts = [f'name: "{name}"', 'backend: "onnxruntime"', f"max_batch_size: {_MOST_ROWS}", "dynamic_batching { }"]
    for kind, values in (("input", graph.input), ("output", graph.output)):
      for one in values:
        tensor = one.type.tensor_type
        sizes = ", ".join(str(axis.dim_value or -1) for axis in tensor.shape.dim[1:])
        parts.append(f'{kind} {{ name: "{one.name}" data_type: {_TRITON_TYPES[tensor.elem_type]} dims: [ {sizes} ] }}')
    with open(os.path.join(directory, "config.pbtxt"), "w", encoding="utf-8") as file:
      file.write("\n".join([*parts, ""]))
  if options.layout == "opensearch":
    path, config = os.path.join(directory, f"{name}.zip"), os.path.join(directory, CONFIG_FILE)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
      for file in (MODEL_FILES["opensearch"], TOKENIZER_FILE):
        archive.write(os.path.join(directory, file), file)
    with open(path, "rb") as file:
      digest = hashlib.file_digest(file, "sha256").hexdigest()
    vectors = task.vectors
    function, framework, more = "QUESTION_ANSWERING", "huggingface_transformers", {}
    if vectors:
      function, framework = "TEXT_EMBEDDING", "sentence_transformers"
      more = {"embedding_dimension": task.model.config.hidden_size, "pooling_mode": vectors.pooling.upper(),
              "normalize_result": vectors.normalize}
    for file in os.listdir(directory):
      if file not in (f"{name}.zip", CONFIG_FILE):
        os.unlink(os.path.join(directory, file))
    json_files.write(os.path.join(directory, "register.json"), {
        "name": name, "version": "1.0.0", "function_name": function, "model_format": "ONNX",
        "model_content_size_in_bytes": os.path.getsize(path), "model_content_hash_value": digest,
        "model_config": {"model_type": "bert", "framework_type": framework, **more,
                         "all_config": json.dumps(json_files.read(config))},
        "url": f"https://SERVER/{name}.zip"})
    os.unlink(config)


def model(options: ExportOptions, directory: str) -> str | bytes:
  """The model of a directory that is complete: its path, or its content where it is in a zip."""
  if options.layout != "opensearch":
    return os.path.join(directory, MODEL_FILES[options.layout])
  with zipfile.ZipFile(os.path.join(directory, f"{_name(options)}.zip")) as archive:
    return archive.read(MODEL_FILES["opensearch"])


def _name(options: ExportOptions) -> str:
  return os.path.basename(os.path.normpath(options.export_dir))
