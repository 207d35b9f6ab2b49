"""Adapters of PEFT: ours in its hands, and its in ours, where it is installed (requirements-peers.txt)."""

import json
import os

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from bert_common import cli
from bert_common.errors import UserError
from bert_tf.inference.conversion import run
from modeling.checkpoints.convert import ConvertOptions, convert
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.lora import LoraWeights, lora_matrices
from modeling.checkpoints.named_weights import check_checkpoint_there
from modeling.checkpoints.native import checkpoint_of, weight_variables
from modeling.checkpoints.write import write_checkpoint
from modeling.classification import BertForClassification
from modeling.multiple_choice import BertForMultipleChoice
from modeling.question_answering import BertForQuestionAnswering
from modeling.token_classification import BertForTokenClassification
from tests.modeling.checkpoints.common import random_weights
from tests.modeling.common import SMALL, random_features

FEATURES = random_features(SMALL, 4, 10, predictions=3)
MODELS = {"classification": (BertForClassification, transformers.AutoModelForSequenceClassification),
          "token_classification": (BertForTokenClassification, transformers.AutoModelForTokenClassification),
          "question_answering": (BertForQuestionAnswering, transformers.AutoModelForQuestionAnswering),
          "multiple_choice": (BertForMultipleChoice, transformers.AutoModelForMultipleChoice)}
LABELS = {"classification": 3, "token_classification": 5}
TASKS = {"classification": "SEQ_CLS", "token_classification": "TOKEN_CLS", "question_answering": "QUESTION_ANS"}


def make_base(tmp_path, pooler=True):
  write_checkpoint("huggingface", str(tmp_path / "base"), random_weights("masked_lm", pooler=pooler), SMALL)
  return str(tmp_path / "base")


def trained(head, base, directory, layers="all", alpha=3.0):
  """(our model with LoRA, whose updates are not 0, its run directory)."""
  model_class = MODELS[head][0]
  with pytest.warns(UserWarning, match="newly initialised"):
    model = model_class.from_checkpoint(base, **({"classes": LABELS[head]} if head in LABELS else {}), seed=5)
  model.encoder.enable_lora(2, lora_alpha=alpha, layers=layers)
  rng = np.random.default_rng(1)
  for variable in [*lora_matrices(model).values(), *model.heads[head].weights]:
    variable.assign(rng.normal(0, 0.2, variable.shape))
  lora = LoraWeights(model)
  lora.merge()
  os.makedirs(directory)
  checkpoint_of({**weight_variables(model), **lora.variables}).write(str(directory / "ckpt-3"))
  model.config.to_file(str(directory / "bert_config.json"))
  (directory / "flags.json").write_text(json.dumps({"flags": {"init_checkpoint": base, "lora_alpha": alpha}}))
  return model


def written(tmp_path):
  run(cli.parse(ConvertOptions, ["convert_checkpoint.py", f"--input={tmp_path / 'run'}", "--output_format=peft",
                                 f"--output={tmp_path / 'adapter'}"]))
  return str(tmp_path / "adapter")


def numbers(outputs):
  """Logits of one of our models or of theirs."""
  if hasattr(outputs, "start_logits"):
    outputs = outputs.start_logits, outputs.end_logits
  outputs = getattr(outputs, "logits", outputs)
  return [np.asarray(one) for one in (outputs if isinstance(outputs, (tuple, list)) else [outputs])]


def inputs(head):
  features = {"input_ids": FEATURES["input_ids"], "attention_mask": FEATURES["input_mask"],
              "token_type_ids": FEATURES["segment_ids"]}
  if head == "multiple_choice":
    features = {name: value.reshape(2, 2, -1) for name, value in features.items()}
  return features


def assert_agree(ours, theirs, head):
  with torch.no_grad():
    # The wrapper for questions does not pass the segments on.
    found = numbers(theirs.get_base_model().eval()(**{
        name: torch.tensor(value, dtype=torch.long) for name, value in inputs(head).items()}))
  for one, other in zip(numbers(ours(inputs(head))), found, strict=True):
    np.testing.assert_allclose(one, other, atol=2e-5)


@pytest.mark.parametrize("head, layers, pooler", [
    ("classification", "all", True), ("classification", ("query", "value"), False),
    ("token_classification", ("output_dense",), True), ("question_answering", ("attention_output",), True),
    ("multiple_choice", "all", True)], ids=str)
def test_ours_in_the_hands_of_peft(tmp_path, head, layers, pooler):
  base = make_base(tmp_path, pooler)
  ours = trained(head, base, tmp_path / "run", layers)
  adapter = written(tmp_path)
  config = json.loads(open(f"{adapter}/adapter_config.json").read())
  assert (config["base_model_name_or_path"], config["r"], config["lora_alpha"]) == ("base", 2, 3.0)
  labels = {"num_labels": LABELS[head]} if head in LABELS else {}
  theirs = MODELS[head][1].from_pretrained(base, attn_implementation="eager", **labels)
  model = peft.PeftModel.from_pretrained(theirs, adapter)
  updated = [name for name, _ in model.named_modules() if name.endswith(".lora_A")]
  assert len(updated) == SMALL.num_hidden_layers * (6 if layers == "all" else len(layers))
  assert_agree(ours, model, head)
  # And back: with the base, and with another one that has a head.
  if pooler or head != "classification":
    arguments = {"classes": LABELS[head]} if head in LABELS else {}
    assert_agree(MODELS[head][0].from_checkpoint(f"{base}+{adapter}", **arguments), model, head)


@pytest.mark.parametrize("head", TASKS)
def test_theirs_in_our_hands(tmp_path, head):
  base = make_base(tmp_path)
  labels = {"num_labels": LABELS[head]} if head in LABELS else {}
  torch.manual_seed(1)
  theirs = peft.get_peft_model(
      MODELS[head][1].from_pretrained(base, attn_implementation="eager", **labels),
      peft.LoraConfig(task_type=TASKS[head], r=4, lora_alpha=8, init_lora_weights=False, bias="all",
                      target_modules=["query", "output.dense"]))
  with torch.no_grad():
    for name, parameter in theirs.named_parameters():
      if name.endswith(".bias"):
        parameter.add_(0.1)
  theirs.save_pretrained(tmp_path / "adapter")
  check_checkpoint_there(f"{base}+{tmp_path / 'adapter'}")
  ours = MODELS[head][0].from_checkpoint(f"{base}+{tmp_path / 'adapter'}")
  assert_agree(ours, theirs, head)
  # Merged, in any format.
  convert(f"{base}+{tmp_path / 'adapter'}", "native", str(tmp_path / "merged"), None)
  assert_agree(MODELS[head][0].from_checkpoint(str(tmp_path / "merged")), theirs, head)


def refused(path, message):
  with pytest.raises(UserError, match=message) as error:
    read_checkpoint(str(path))
  assert "\n" not in str(error.value)


def test_what_is_refused(tmp_path):
  base = make_base(tmp_path)
  trained("classification", base, tmp_path / "run", ("query",))
  adapter = written(tmp_path)
  refused(adapter, f"is an adapter of PEFT for base: give the checkpoint of that model before it, BASE.{adapter}")
  refused(f"{base}+{tmp_path / 'nothing'}", "there is no checkpoint")
  config = json.loads(open(f"{adapter}/adapter_config.json").read())

  def with_config(**changes):
    (tmp_path / "adapter/adapter_config.json").write_text(json.dumps(config | changes))

  others = {"use_dora": True, "peft_type": "IA3", "init_lora_weights": "pissa", "rank_pattern": {"a": 1}}
  for key, value in others.items():
    with_config(**{key: value})
    refused(f"{base}+{adapter}", f"{key} is .* only LoRA as in its paper")
  with_config(r="4")
  refused(f"{base}+{adapter}", "r and lora_alpha must be numbers")
  with_config()
  (tmp_path / "other").mkdir()
  smaller = type(SMALL)(**{**SMALL.to_dict(), "hidden_size": 9})
  write_checkpoint("huggingface", str(tmp_path / "other"), random_weights(config=smaller), smaller)
  refused(f"{tmp_path / 'other'}+{adapter}", r"which do not fit \[9, 9\] of")
  shorter = type(SMALL)(**{**SMALL.to_dict(), "num_hidden_layers": 1})
  write_checkpoint("huggingface", str(tmp_path / "short"), random_weights(config=shorter), shorter)
  refused(f"{tmp_path / 'short'}+{adapter}", "can't be placed in")
  os.remove(f"{adapter}/adapter_model.safetensors")
  refused(f"{base}+{adapter}", "adapter_model.safetensors is missing")


def test_a_run_without_lora_and_another_scale(tmp_path):
  base = make_base(tmp_path)
  write_checkpoint("native", str(tmp_path / "plain"), random_weights("classification"), SMALL)
  trained("classification", base, tmp_path / "run", ("query",))
  for source, message in (("plain", "holds no matrices of LoRA"), ("base", "holds no checkpoint of a run")):
    with pytest.raises(UserError, match=message):
      run(cli.parse(ConvertOptions, ["convert_checkpoint.py", f"--input={tmp_path / source}", "--output_format=peft",
                                     f"--output={tmp_path / 'adapter'}"]))
  with pytest.raises(UserError, match="--vocab_file is not read with --output_format=peft"):
    cli.parse(ConvertOptions, ["convert_checkpoint.py", "--input=x", "--output_format=peft", "--output=y",
                               "--vocab_file=v"])
  (tmp_path / "run/flags.json").write_text(json.dumps({"flags": {"lora_alpha": 7}}))
  with pytest.raises(UserError, match="--lora_alpha in the flags.json beside it is not that of its training"):
    written(tmp_path)
  assert not (tmp_path / "adapter").exists()
