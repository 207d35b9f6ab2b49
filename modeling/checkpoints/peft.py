"""Adapters of PEFT: the matrices of LoRA and the head, without the model that they were trained for.

  adapter_config.json         rank, scale and layers
  adapter_model.safetensors   base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight [r, inputs],
                              lora_B [outputs, r], and whole weights, such as base_model.model.classifier.weight

Read merged into a base that is named with it, `BASE+ADAPTER`: nothing in an adapter chooses what is opened.
"""

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import FLAGS_FILE, StoredWeights
from modeling.checkpoints.named_weights import ADAPTER_CONFIG
from modeling.checkpoints.native import read_native
from modeling.checkpoints.safetensors_files import SafetensorsFile, write_file
from modeling.checkpoints.tensorflow_files import SUFFIX, Bundle
from modeling.checkpoints.weight_shapes import heads_of, show_shape, some
from modeling.checkpoints.weights import (
  BILSTM,
  ENCODER_PREFIX,
  HEADS,
  LORA_PREFIX,
  POOLER,
  Weight,
  all_weights,
  encoder_weights,
)

_WEIGHTS_FILE = "adapter_model.safetensors"
_PREFIX, _BODY = "base_model.model.", "bert."
_A, _B = "lora_kernel_a", "lora_kernel_b"
_MATRIX = re.compile(r"(?P<module>.+)\.lora_(?P<which>[AB])\.weight")
# Layers of PEFT's own, in which the parts of a model's layer are.
_OWN_LAYERS, _ORIGINAL = re.compile(r"\.(base_layer|modules_to_save)\."), ".original_module."
# Head → what PEFT calls its task; of others it has no name.
_TASKS = {"classification": "SEQ_CLS", "token_classification": "TOKEN_CLS", "question_answering": "QUESTION_ANS"}
# Key of the configuration → the values that leave LoRA what it is in the paper.
_PLAIN: Mapping[str, tuple] = {
    "peft_type": ("LORA",), **dict.fromkeys(("use_dora", "use_rslora", "fan_in_fan_out"), (False, None)),
    **dict.fromkeys(("alpha_pattern", "rank_pattern"), ({}, None)),
    "init_lora_weights": (True, False, "gaussian", None)}
# What is the same of all our adapters.
_CONFIG = {"peft_type": "LORA", "lora_dropout": 0.0, "bias": "none", "fan_in_fan_out": False, "inference_mode": True,
           "init_lora_weights": True}


def refuse_adapter_alone(path: str) -> None:
  """Raises `UserError` where `path` is the directory of an adapter: its base must be named."""
  if files.is_directory(path) and files.exists(os.path.join(path, ADAPTER_CONFIG)):
    base = json_files.read_object(os.path.join(path, ADAPTER_CONFIG)).get("base_model_name_or_path")
    raise UserError(f"{path} is an adapter of PEFT for {base or 'a model'}: give the checkpoint of that model before "
                    f"it, BASE+{path}")


def with_adapter(base: StoredWeights, directory: str) -> StoredWeights:
  """The weights of a base with an adapter merged into them.

  Raises:
    UserError: a file is missing or damaged, it is another kind of adapter, or it does not fit the base.
  """
  config_file, path = os.path.join(directory, ADAPTER_CONFIG), os.path.join(directory, _WEIGHTS_FILE)
  for one in (config_file, path):
    if not files.exists(one):
      raise UserError(f"{one} is missing: an adapter of PEFT has {ADAPTER_CONFIG} and {_WEIGHTS_FILE}")
  config = json_files.read_object(config_file)
  scale = _scale(config, config_file)
  file = SafetensorsFile(path)
  matrices, whole = _placed(file, base, config.get("task_type"))
  for name, (a, b) in matrices.items():
    shape, inputs, outputs = base.tensors[name], file.shapes[a], file.shapes[b]
    if len(inputs) != 2 or len(outputs) != 2 or (inputs[1], outputs[0]) != shape or inputs[0] != outputs[1]:
      raise UserError(f"{path}: {a} is {show_shape(inputs)} and {b} {show_shape(outputs)}, which do not fit "
                      f"{show_shape(shape)} of {base.description}")
  tensors = {name: file.shapes[key][::-1] if row.huggingface_transposed else file.shapes[key]
             for name, (row, key) in whole.items()}

  def read(name: str) -> np.ndarray:
    if name in whole:
      row, key = whole[name]
      return np.ascontiguousarray(file.read(key).T) if row.huggingface_transposed else file.read(key)
    values = base.read(name)
    if name not in matrices:
      return values
    a, b = matrices[name]
    return np.asarray(values + scale * (file.read(b) @ file.read(a)).T, np.float32)

  # A head of the base that the adapter has another one for is not there any more.
  replaced = {row.original for head in heads_of(tensors) for row in HEADS[head].weights}
  kept = {name: shape for name, shape in base.tensors.items() if name not in replaced}
  return dataclasses.replace(base, description=f"{base.description} with the adapter {path}", read=read,
                             tensors=kept | tensors)


def _scale(config: Mapping[str, object], path: str) -> float:
  for key, values in _PLAIN.items():
    if config.get(key) not in values:
      raise UserError(f"{path}: {key} is {config.get(key)!r}: only LoRA as in its paper is read, where it is "
                      f"{values[0]!r}")
  rank, alpha = config.get("r"), config.get("lora_alpha")
  if not isinstance(rank, int) or not isinstance(alpha, (int, float)) or rank < 1:
    raise UserError(f"{path}: r and lora_alpha must be numbers")
  return alpha / rank


def _placed(file: SafetensorsFile, base: StoredWeights, task: object
            ) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[Weight, str]]]:
  """Original names → keys of the two matrices; → row and key of what is whole."""
  rows = _rows(file, base, task)
  found: dict[str, dict[str, str]] = {}
  whole, others = {}, []
  # Of what is trained whole, some versions save the base's along.
  for key in (key for key in file.shapes if _ORIGINAL not in key):
    plain = _OWN_LAYERS.sub(".", key.removeprefix(_PREFIX))
    match = _MATRIX.fullmatch(plain)
    row = rows.get(f"{match['module']}.weight" if match else plain) or rows.get(
        f"{_BODY}{match['module']}.weight" if match else _BODY + plain)
    if row is None or (match and row.original not in base.tensors):
      others.append(key)
    elif match:
      found.setdefault(row.original, {})[match["which"]] = key
    else:
      whole[row.original] = (row, key)
  others += [key for pair in found.values() if len(pair) == 1 for key in pair.values()]
  if others:
    raise UserError(f"{file.path}: {some(others)} can't be placed in {base.description}")
  return {name: (pair["A"], pair["B"]) for name, pair in found.items()}, whole


def _rows(file: SafetensorsFile, base: StoredWeights, task: object) -> dict[str, Weight]:
  """Name there → row: of several heads of one name that of the task, without any by the number of classes."""
  layers = base.config.num_hidden_layers if base.config else 0
  named = next((head for head, name in _TASKS.items() if name == task), None)
  if named is None:
    one_class = file.shapes.get(f"{_PREFIX}classifier.weight", (0,))[0] == 1
    named = "multiple_choice" if one_class else "classification"
  heads = [head for name, head in HEADS.items() if head.huggingface_layer != "classifier" or name == named]
  rows = [*encoder_weights(range(layers)), *(row for head in heads for row in head.weights)]
  return {row.huggingface: row for row in rows}


def write_adapter(prefix: str, directory: str, base: str | None, with_pooler: bool) -> dict[str, np.ndarray]:
  """Writes the adapter of a run with LoRA.

  Args:
    prefix: of a checkpoint of the run.
    directory: an empty one.
    base: the name of the model that it was trained for, for PEFT's users; None where it has none.
    with_pooler: whether the pooler is in it, because the base has none.

  Returns:
    original name → the merged kernel that the adapter makes of the base's.

  Raises:
    UserError: the checkpoint holds no LoRA, can't be read, or its scale is not that of the flags beside it.
  """
  bundle = Bundle(prefix)
  stored = read_native(bundle)
  end = f"{_A}{SUFFIX}"
  paths = sorted(key.removesuffix(end) for key in bundle.shapes if key.startswith(LORA_PREFIX) and key.endswith(end))
  if stored is None or not paths:
    raise UserError(f"{prefix} holds no matrices of LoRA: the directory of a run with --lora_rank is expected")
  if any(weight.original in stored.tensors for weight in BILSTM):
    raise UserError(f"{prefix}: the head stands on a BiLSTM, which an adapter of PEFT has no place for")
  rank = bundle.shapes[paths[0] + end][1]
  alpha = _alpha(os.path.dirname(prefix), rank)
  rows = all_weights(1 + max(int(number) for path in paths for number in re.findall(r"layer_(\d+)/", path)))
  tensors: dict[str, np.ndarray] = {}
  merged = {}
  for path in paths:
    row = rows[f"{ENCODER_PREFIX}{path.removeprefix(LORA_PREFIX)}kernel"]
    kernel, a, b = (bundle.read(f"{path}{part}{SUFFIX}") for part in ("kernel", _A, _B))
    module = f"{_PREFIX}{row.huggingface.removesuffix('.weight')}"
    tensors |= {f"{module}.lora_A.weight": a.T, f"{module}.lora_B.weight": b.T}
    merged[row.original] = kernel + alpha / rank * (a @ b)
    if not np.allclose(merged[row.original], stored.read(row.original), rtol=1e-4, atol=1e-5):
      raise UserError(f"{prefix}: --lora_alpha in the {FLAGS_FILE} beside it is not that of its training")
  heads = [HEADS[head] for head in heads_of(stored.tensors)]
  config = {**_CONFIG, "base_model_name_or_path": base, "r": rank, "lora_alpha": alpha,
            "target_modules": _targets(tensors), "task_type": next((_TASKS.get(head.name) for head in heads), None),
            "modules_to_save": [*(head.huggingface_layer for head in heads), *(["pooler"] if with_pooler else [])]}
  for row in [row for head in heads for row in head.weights] + (POOLER if with_pooler else []):
    value = stored.read(row.original)
    tensors[f"{_PREFIX}{row.huggingface}"] = value.T if row.huggingface_transposed else value
  write_file(os.path.join(directory, _WEIGHTS_FILE), tensors)
  json_files.write(os.path.join(directory, ADAPTER_CONFIG), config)
  return merged


def _targets(keys: Iterable[str]) -> str:
  """A regular expression of the layers with LoRA; a list of endings could not tell output.dense from attention's."""
  modules = {re.sub(r"\d+", r"\\d+", re.escape(key.removeprefix(_PREFIX + _BODY).rpartition(".lora_")[0]))
             for key in keys}
  return rf"(.*\.)?({'|'.join(sorted(modules))})"


def _alpha(directory: str, rank: int) -> float:
  flags = json_files.read_object(os.path.join(directory, FLAGS_FILE), {"flags": dict | None}).get("flags") or {}
  alpha = flags.get("lora_alpha")
  return float(alpha) if isinstance(alpha, (int, float)) else float(rank)
