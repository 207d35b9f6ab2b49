"""The process that loads exports back: what it answers, and what happens when an export or the process is broken."""

import os
import resource
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.exports import loading_back


@pytest.fixture(scope="module")
def doubles(tmp_path_factory):
  """A SavedModel of one signature, which doubles a number."""
  module = tf.Module()
  directory = str(tmp_path_factory.mktemp("doubles"))
  twice = tf.function(lambda number: {"twice": 2 * number}, autograph=False).get_concrete_function(
      number=tf.TensorSpec([None], tf.float32, "number"))
  tf.saved_model.save(module, directory, signatures={"serving_default": twice})
  return directory


def ask(directory):
  return loading_back.ask("saved_model", directory, [("serving_default", {"number": np.float32([1, 2])})])


def test_an_export_answers(doubles):
  signatures, [answer] = ask(doubles)
  assert signatures == {"serving_default": ({"number": "float32 [?]"}, {"twice": "float32 [?]"})}
  assert answer["twice"].tolist() == [2, 4]


def test_a_damaged_export_is_said_and_the_process_goes_on(doubles, tmp_path):
  (tmp_path / "saved_model.pb").write_bytes(b"no model")
  with pytest.raises(RuntimeError, match="the export can't be used: OSError: Cannot parse file"):
    ask(str(tmp_path))
  assert ask(doubles)[1][0]["twice"].tolist() == [2, 4]


@pytest.mark.parametrize("side", ["asking", "answering"])
def test_a_full_disk_of_temporary_files_is_one_line(doubles, side):
  ask(doubles)
  process = os.getpid() if side == "asking" else loading_back._process("tensorflow").pid
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.prlimit(process, resource.RLIMIT_FSIZE, (0, limits[1]))
  try:
    with pytest.raises(UserError, match="^can't write to .*, the directory of temporary files: File too large; free"):
      ask(doubles)
  finally:
    resource.prlimit(process, resource.RLIMIT_FSIZE, limits)
  assert ask(doubles)[1][0]["twice"].tolist() == [2, 4]


def test_a_process_that_is_killed_is_said_and_started_again(doubles):
  ask(doubles)
  process = loading_back._process("tensorflow")
  os.kill(process.pid, signal.SIGKILL)
  process.wait()
  with pytest.raises(RuntimeError, match="ended with status -9"):
    ask(doubles)
  assert ask(doubles)[1][0]["twice"].tolist() == [2, 4]
