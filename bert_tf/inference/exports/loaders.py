"""Exports in the hands of the runtimes that they are for. Nothing of the model, nor of this package, is imported here.

Input: a directory that a format has written. Output: what its signatures answer.
"""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

ONNX_FILE, LITERT_FILE = "model.onnx", "model.tflite"
# The only one of formats of token ids.
SIGNATURE = "serving_default"
Arrays: TypeAlias = Mapping[str, np.ndarray]
# Name → "dtype [shape]", of inputs and of outputs.
Signature: TypeAlias = tuple[dict[str, str], dict[str, str]]


class LoadedExport(Protocol):
  """An export that can be asked.

  Attributes:
    signatures: name → inputs and outputs, as the runtime sees them.
  """

  signatures: dict[str, Signature]

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    """The outputs of one request; strings are bytes objects."""


class SavedModel:
  """What a program sees that has TensorFlow only."""

  def __init__(self, directory: str):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations are in the graph)

    self._saved = tf.saved_model.load(directory)
    self.signatures = {name: describe_function(function) for name, function in sorted(self._saved.signatures.items())}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    import tensorflow as tf

    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    # TFSMLayer passes all strings on as one dict.
    outputs = self._saved.serve(tensors) if signature == "serve" else self._saved.signatures[signature](**tensors)
    return {name: value.numpy() for name, value in outputs.items()}


class TfHub:
  """A preprocessor and an encoder as `hub.load` gives them, each with the functions that are called by name."""

  def __init__(self, directory: str):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations are in the graph)

    self._preprocess, self._encoder = (tf.saved_model.load(f"{directory}/{part}") for part in ("preprocess", "encoder"))
    signatures = {"preprocess": self._preprocess.signatures["serving_default"],
                  "encoder": self._encoder.signatures["serving_default"]}
    if "mlm" in self._encoder.signatures:
      signatures["encoder.mlm"] = self._encoder.signatures["mlm"]
    self.signatures = {name: describe_function(function) for name, function in signatures.items()}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    import tensorflow as tf

    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    if signature == "preprocess":
      return {"pooled_output": self._encoder(self._preprocess(tensors["sentences"]))["pooled_output"].numpy()}
    outputs = dict((self._encoder.mlm if signature == "encoder.mlm" else self._encoder)(tensors))
    layers = outputs.pop("encoder_outputs")
    outputs |= {f"encoder_outputs_{number}": value for number, value in enumerate(layers)}
    return {name: value.numpy() for name, value in outputs.items()}


class OnnxModel:
  """What a program sees that has onnxruntime."""

  def __init__(self, directory: str):
    import onnxruntime

    self._session = onnxruntime.InferenceSession(os.path.join(directory, ONNX_FILE), providers=["CPUExecutionProvider"])
    self.signatures = {SIGNATURE: (self._describe(self._session.get_inputs()),
                                   self._describe(self._session.get_outputs()))}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    names = list(self.signatures[signature][1])
    return dict(zip(names, self._session.run(names, dict(inputs)), strict=True))

  @staticmethod
  def _describe(values: list) -> dict[str, str]:
    return {value.name: describe_tensor(value.type.removeprefix("tensor(").removesuffix(")"), value.shape)
            for value in values}


class LiteRtModel:
  """What a program sees that has LiteRT."""

  def __init__(self, directory: str):
    from ai_edge_litert.interpreter import Interpreter

    # The memory of a runner's tensors is the interpreter's.
    self._interpreter = Interpreter(model_path=os.path.join(directory, LITERT_FILE))
    self._runner = self._interpreter.get_signature_runner(SIGNATURE)
    self.signatures = {SIGNATURE: (self._describe(self._runner.get_input_details()),
                                   self._describe(self._runner.get_output_details()))}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    return {name: value.copy() for name, value in self._runner(**inputs).items()}

  @staticmethod
  def _describe(details: Mapping[str, Mapping]) -> dict[str, str]:
    return {name: describe_tensor(np.dtype(one["dtype"]).name, one["shape"]) for name, one in details.items()}


@dataclasses.dataclass(frozen=True)
class Loader:
  """How the exports of a format are loaded, and the package whose import takes the time."""

  load: Callable[[str], LoadedExport]
  package: str


LOADERS = {"saved_model": Loader(SavedModel, "tensorflow"), "tfhub": Loader(TfHub, "tensorflow"),
           "onnx": Loader(OnnxModel, "onnxruntime"), "litert": Loader(LiteRtModel, "ai_edge_litert")}


def describe_function(function: Any) -> Signature:
  """The inputs and outputs of a signature of a SavedModel."""
  def shown(tensors: Mapping) -> dict[str, str]:
    return {name: describe_tensor(tensor.dtype.name, tensor.shape) for name, tensor in sorted(tensors.items())}

  return shown(function.structured_input_signature[1]), shown(function.structured_outputs)


def describe_tensor(dtype: str, shape: Any) -> str:
  """As it stands in a `Signature`; None or a name for a size that may vary."""
  return f"{dtype} [{', '.join('?' if size is None else str(size) for size in shape)}]"
