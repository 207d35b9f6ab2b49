"""Warm-up requests of a SavedModel: what TensorFlow Serving answers itself before a model's first client comes.

Input: requests that the export has answered. Output: `assets.extra/tf_serving_warmup_requests`, a TFRecord file of
`PredictionLog` messages. TensorFlow lacks the classes of that message, so its four levels are framed here:

    PredictionLog { predict_log: 6 { request: 1 {
      model_spec: 1 { signature_name: 3 }, inputs: 2 { key: 1, value: 2 (a TensorProto) } ... } } }

Source: tensorflow.org/tfx/serving/saved_model_warmup; tensorflow_serving/apis/prediction_log.proto, predict.proto.
"""

import os
from collections.abc import Iterable

import tensorflow as tf

from bert_tf.inference.exports.formats import Request
from bert_tf.inference.exports.loaders import Arrays
from data_gen.pretraining.tfrecord import delimited, masked_crc, record_header

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")


def write_warmup_requests(directory: str, requests: Iterable[Request]) -> None:
  """Writes each request, and its first row alone."""
  path = os.path.join(directory, WARMUP_FILE)
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, "wb") as file:
    for request in requests:
      for rows in (slice(None, 1), slice(None)):
        log = _prediction_log(request.signature, {name: value[rows] for name, value in request.inputs.items()})
        file.write(record_header(len(log)) + log + masked_crc(log))


def _prediction_log(signature: str, inputs: Arrays) -> bytes:
  request = delimited(1, delimited(3, signature.encode()))
  for name, value in inputs.items():
    tensor = tf.make_tensor_proto(value).SerializeToString()
    request += delimited(2, delimited(1, name.encode()) + delimited(2, tensor))
  return delimited(6, delimited(1, request))
