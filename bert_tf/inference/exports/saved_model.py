"""A SavedModel that takes strings: the tokenizer is in the graph.

Input: a task, whose class has the graphs. Output: a directory with

  serving_default   a signature: strings → outputs
  token_ids         a signature: input_ids, input_mask, segment_ids → outputs
  serve             a function: {name: strings} → outputs, for `keras.layers.TFSMLayer`

Every output has the batch as its first dimension, as TensorFlow Serving expects it.
"""

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.exports.formats import ExportFormat, Request
from bert_tf.inference.exports.loaders import Arrays
from bert_tf.tasks.inference import TaskInference

# Texts that the export and the model are compared on.
CHECKED = 8


class Format(ExportFormat):
  """`--format=saved_model`."""

  served_signatures = ("serving_default", "token_ids")

  def write(self, task: TaskInference, directory: str) -> None:
    strings = {name: tf.TensorSpec(task.text_shapes.get(name, [None]), tf.string, name) for name in task.text_inputs}
    ids = {name: tf.TensorSpec(task.token_ids_shape, tf.int32, name)
           for name in ("input_ids", "input_mask", "segment_ids")}

    def serve_texts(**texts):
      return task.serve_texts(*(texts[name] for name in task.text_inputs))

    def serve(texts):
      return signatures["serving_default"](**texts)

    signatures = {"serving_default": concrete(serve_texts, strings),
                  "token_ids": concrete(lambda **features: task.serve_token_ids(features), ids)}
    # A plain root: a Keras model would bring along its functions, and variables that these signatures don't need.
    root = tf.Module()
    variables = {variable.ref(): variable for function in signatures.values() for variable in function.variables}
    root.weights = list(variables.values())
    # Calls the function of the signature, so that its graph is in the file only once.
    root.serve = tf.function(serve, input_signature=[strings], autograph=False)
    tf.saved_model.save(root, directory, signatures=signatures)

  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    rows, inputs = checked_inputs(task, texts)
    features = task.reference_features(inputs)
    from_ids = as_arrays(task.serve_token_ids({name: tf.constant(value) for name, value in features.items()}))
    # Where strings give what token ids give, the exact ones count.
    from_strings = {name: from_ids.get(name, value)
                    for name, value in as_arrays(task.serve_texts(*map(tf.constant, rows.values()))).items()}
    strings = {name: tf.constant(values).numpy() for name, values in rows.items()}
    return [Request("token_ids", features, from_ids), Request("serving_default", strings, from_strings),
            Request("serve", strings, from_strings)]


def checked_inputs(task: TaskInference, texts: list[str]) -> tuple[dict[str, list], list]:
  """Inputs that the task takes, as strings for `serve_texts` and as `task.check` returns them.

  The first text of each input is followed by those that come after it.
  """
  rows, inputs = [], []
  for number in range(len(texts)):
    row = task.sample_input(texts[number:] + texts[:number])
    try:
      inputs.append(task.check(row))
    except UserError:
      # E.g. a text without a mask for a task that fills masks.
      continue
    rows.append(row)
    if len(rows) == CHECKED:
      break
  return dict(zip(task.text_inputs, map(list, zip(*rows, strict=True)), strict=True)), inputs


def as_arrays(outputs: dict) -> Arrays:
  """Tensors as NumPy has them."""
  return {name: value.numpy() for name, value in outputs.items()}


def concrete(function, specifications: dict):
  """A function of named tensors, traced once, for a signature."""
  return tf.function(function, autograph=False).get_concrete_function(**specifications)
