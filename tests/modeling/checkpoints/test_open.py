import dataclasses
import json
import shutil

import numpy as np
import pytest

from common.errors import UserError
from modeling.checkpoints.load import load_with_head, open_checkpoint, read_task
from modeling.checkpoints.weights import original_names
from modeling.classification import BertForClassification
from tests.tiny import CONFIG, TOKENS, write_tiny

TASK = {"task_name": "toy", "labels": ["no", "yes", "maybe"]}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
  """A directory with tiny checkpoints: "classifier", "bare" (encoder only), "original" without surroundings."""
  folder = tmp_path_factory.mktemp("checkpoints")
  for name in ("classifier", "bare", "original"):
    (folder / name).mkdir()
  write_tiny(folder / "classifier", "classifier", task=TASK)
  write_tiny(folder / "bare")
  write_tiny(folder / "original", output_format="original", vocabulary=False)
  for name in ("bert_config.json", "tokenizer_config.json"):
    (folder / "original" / name).unlink()
  return folder


def write_vocabulary(path, tokens=TOKENS) -> str:
  path.write_text("\n".join(tokens) + "\n")
  return str(path)


def test_all_that_belongs_to_a_checkpoint_is_found(checkpoints):
  opened = open_checkpoint(str(checkpoints / "classifier"))
  assert opened.config == CONFIG
  assert opened.task == TASK
  assert opened.vocab_file == str(checkpoints / "classifier/vocab.txt")
  assert opened.tokenizer.do_lower_case and list(opened.tokenizer.vocabulary.tokens) == TOKENS
  assert opened.source is not None
  assert open_checkpoint(str(checkpoints / "bare")).task is None
  assert open_checkpoint(str(checkpoints / "bare"), do_lower_case=True).tokenizer.do_lower_case


def test_the_casing_of_a_cased_checkpoint_is_taken_over(checkpoints, tmp_path):
  cased = shutil.copytree(checkpoints / "bare", tmp_path / "cased")
  path = cased / "tokenizer_config.json"
  path.write_text(json.dumps({**json.loads(path.read_text()), "do_lower_case": False}))
  assert not open_checkpoint(str(cased)).tokenizer.do_lower_case
  with pytest.raises(UserError, match="--do_lower_case=true contradicts the checkpoint .* of cased text"):
    open_checkpoint(str(cased), do_lower_case=True)
  with pytest.raises(UserError, match="--do_lower_case=false contradicts the checkpoint .* of lower-cased text"):
    open_checkpoint(str(checkpoints / "bare"), do_lower_case=False)


def test_files_that_are_named_complete_a_bare_checkpoint(checkpoints, tmp_path):
  checkpoint = str(next((checkpoints / "original").glob("*.index"))).removesuffix(".index")
  with pytest.raises(UserError, match="no bert_config.json beside the checkpoint: give --bert_config_file"):
    open_checkpoint(checkpoint)
  CONFIG.to_file(str(tmp_path / "config.json"))
  config_file = str(tmp_path / "config.json")
  with pytest.raises(UserError, match="no vocab.txt beside the checkpoint: give --vocab_file"):
    open_checkpoint(checkpoint, bert_config_file=config_file)
  words = write_vocabulary(tmp_path / "words.txt")
  opened = open_checkpoint(checkpoint, bert_config_file=config_file, vocab_file=words)
  assert opened.config == CONFIG
  # Nothing tells the casing: the original's default.
  assert opened.tokenizer.do_lower_case
  assert not open_checkpoint(checkpoint, bert_config_file=config_file, vocab_file=words,
                             do_lower_case=False).tokenizer.do_lower_case


def test_random_weights_need_a_configuration_and_a_vocabulary(tmp_path):
  with pytest.raises(UserError, match="give --init_checkpoint, or --bert_config_file"):
    open_checkpoint(None)
  CONFIG.to_file(str(tmp_path / "bert_config.json"))
  with pytest.raises(UserError, match="there is no vocabulary: give --vocab_file"):
    open_checkpoint(None, bert_config_file=str(tmp_path / "bert_config.json"))
  # The one beside the configuration is taken.
  write_vocabulary(tmp_path / "vocab.txt")
  opened = open_checkpoint(None, bert_config_file=str(tmp_path / "bert_config.json"))
  assert (opened.source, opened.task, opened.config) == (None, None, CONFIG)
  assert opened.vocab_file == str(tmp_path / "vocab.txt")


def test_what_does_not_fit_is_refused(checkpoints, tmp_path):
  bare = str(checkpoints / "bare")
  longer = write_vocabulary(tmp_path / "longer.txt", [*TOKENS, "more"])
  with pytest.raises(UserError, match=f"longer.txt has {len(TOKENS) + 1} entries, but vocab_size is {len(TOKENS)}"):
    open_checkpoint(bare, vocab_file=longer)
  for arguments, part in (({"vocab_file": str(tmp_path / "missing.txt")}, "missing.txt"),
                          ({"bert_config_file": str(tmp_path / "missing.json")}, "missing.json")):
    with pytest.raises(UserError, match=part) as error:
      open_checkpoint(bare, **arguments)
    assert "\n" not in str(error.value)
  with pytest.raises(UserError, match="nothing_here"):
    open_checkpoint(str(tmp_path / "nothing_here"))


def test_a_network_that_is_used_as_it_is_needs_its_head(checkpoints):
  def load(name):
    model = BertForClassification(CONFIG, 3)
    model.build_weights()
    opened = open_checkpoint(str(checkpoints / name))
    return model, load_with_head(model, opened, "classifier")

  model, account = load("classifier")
  assert not account.newly_initialised
  expected = open_checkpoint(str(checkpoints / "classifier")).source
  for name, variable in original_names(model).items():
    np.testing.assert_array_equal(variable.numpy(), expected.read(name), err_msg=name)
  with pytest.raises(UserError, match=r"no whole classification head \(output_weights is missing\): take a "):
    load("bare")


def test_task_json_that_is_damaged_is_named(checkpoints, tmp_path):
  damaged = shutil.copytree(checkpoints / "classifier", tmp_path / "damaged")
  (damaged / "task.json").write_text("{")
  with pytest.raises(UserError, match="task.json"):
    open_checkpoint(str(damaged))
  source = open_checkpoint(str(checkpoints / "classifier")).source
  assert read_task(source) == TASK
  assert read_task(None) is None and read_task(dataclasses.replace(source, directory=None)) is None
