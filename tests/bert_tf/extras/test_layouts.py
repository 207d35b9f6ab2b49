"""`--layout`: the files that servers document, held against the model in them."""

import hashlib
import json
import os
import re
import zipfile

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer as ClientTokenizer

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from tests.bert_tf.extras.common import TEXTS, export_to
from tests.bert_tf.extras.test_onnx_format import CLASSES, tiny
from tests.tiny import CONFIG


def test_triton(tmp_path):
  """https://github.com/triton-inference-server/server/blob/main/docs/user_guide/model_configuration.md"""
  path = tiny(tmp_path / "in", "classification", task=CLASSES)
  export_to(tmp_path / "reviews", path, "onnx", layout="triton")
  session = onnxruntime.InferenceSession(str(tmp_path / "reviews/1/model.onnx"))
  config = (tmp_path / "reviews/config.pbtxt").read_text()
  assert 'name: "reviews"' in config and 'backend: "onnxruntime"' in config
  types = {"TYPE_INT64": "tensor(int64)", "TYPE_FP32": "tensor(float)"}
  for kind, values in (("input", session.get_inputs()), ("output", session.get_outputs())):
    found = re.findall(rf'{kind} {{ name: "(\w+)" data_type: (\w+) dims: \[ (.*) \] }}', config)
    # The first axis is that of the batch, which `max_batch_size` stands for.
    assert [(name, types[dtype], dims.split(", ")) for name, dtype, dims in found] == [
        (one.name, one.type, ["-1" if isinstance(size, str) else str(size) for size in one.shape[1:]])
        for one in values]


def test_openvino_model_server(tmp_path):
  """https://docs.openvino.ai/2026/model-server/ovms_docs_models_repository.html: NAME/VERSION/model.onnx"""
  export_to(tmp_path / "reviews", tiny(tmp_path / "in", "classification", task=CLASSES), "onnx", layout="openvino")
  assert os.listdir(tmp_path / "reviews/1") == ["model.onnx"] and not (tmp_path / "reviews/config.pbtxt").exists()


@pytest.mark.parametrize("head, function", [(None, "TEXT_EMBEDDING"), ("question_answering", "QUESTION_ANSWERING")])
def test_opensearch(tmp_path, head, function):
  """What its translators send and read, with the tokenizer of the zip."""
  path = tiny(tmp_path / "in", *([head] if head else []))
  export_to(tmp_path / "vectors", path, "onnx", layout="opensearch")
  assert sorted(os.listdir(tmp_path / "vectors")) == ["register.json", "vectors.zip"]
  request = json_files.read(str(tmp_path / "vectors/register.json"))
  content = (tmp_path / "vectors/vectors.zip").read_bytes()
  assert request["model_content_hash_value"] == hashlib.sha256(content).hexdigest()
  assert (request["function_name"], request["model_config"]["model_type"]) == (function, "bert")
  assert json.loads(request["model_config"]["all_config"])["hidden_size"] == CONFIG.hidden_size
  with zipfile.ZipFile(tmp_path / "vectors/vectors.zip") as archive:
    assert sorted(archive.namelist()) == ["model.onnx", "tokenizer.json"]
    session = onnxruntime.InferenceSession(archive.read("model.onnx"))
    client = ClientTokenizer.from_str(archive.read("tokenizer.json").decode())
  predictor = Predictor.from_checkpoint(path, None if head else "features")
  if head:
    assert [one.name for one in session.get_inputs()] == ["input_ids", "attention_mask"]
    one = client.encode("who is the list?", "the array is returned. a list is sorted")
    start, end = session.run(None, {"input_ids": [one.ids], "attention_mask": [one.attention_mask]})
    answer = predictor([{"question": "who is the list?", "context": "the array is returned. a list is sorted"}])[0]
    inside = [number for number, kind in enumerate(one.sequence_ids) if kind == 1]
    score, first, last = max((start[0, i] + end[0, j], i, j) for i in inside for j in inside if i <= j)
    assert client.decode(one.ids[first:last + 1]).replace(" ", "") == answer["answer"].replace(" ", "")
  else:
    config = request["model_config"]
    assert (config["pooling_mode"], config["embedding_dimension"], config["normalize_result"]) == ("MEAN", 12, False)
    for text, answer in zip(TEXTS, predictor(TEXTS), strict=True):
      one = client.encode(text)
      tokens = session.run(None, {"input_ids": [one.ids], "attention_mask": [one.attention_mask],
                                  "token_type_ids": [one.type_ids]})[0]
      np.testing.assert_allclose(tokens[0].mean(0), answer["vector"], atol=1e-5)


def test_what_a_server_has_no_place_for_is_refused(tmp_path):
  path = tiny(tmp_path / "in", "classification", task=CLASSES)
  with pytest.raises(UserError, match="--layout=opensearch takes models for vectors and for question answering"):
    export_to(tmp_path / "out", path, "onnx", layout="opensearch")
  assert not os.path.exists(tmp_path / "out")
