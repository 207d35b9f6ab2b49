"""What is measured on what: sizes of models, the device that all programs share, memory."""

import dataclasses
import os
import re
import resource

from benchmarks import interleaved
from bert_common import gpus
from bert_common.errors import UserError
from bert_common.options import option

# Precision → policy of Keras.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
# Device → precision, unless --precision is given.
_PRECISIONS = {"cpu": "float32", "gpu": "bfloat16"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceOptions(interleaved.TurnsOptions):
  """Device."""

  device: str = option("cpu", "What all of the programs compute on.", choices=tuple(_PRECISIONS))
  precision: str | None = option(None, "Of all of them.", choices=tuple(POLICIES),
                                 default_text="float32, on a GPU bfloat16")

  @property
  def chosen_precision(self) -> str:
    return self.precision or _PRECISIONS[self.device]

  def set_up_device(self) -> None:
    """Sets what programs, which inherit the variables, find when they import their libraries.

    Raises:
      UserError: there is no GPU, and one is asked for.
    """
    if self.device == "cpu":
      # To TensorFlow and to PyTorch.
      os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
      return
    driver = gpus.read_driver()
    if driver is None or not driver.gpus:
      raise UserError("--device=gpu: there is no GPU with a driver; --device=cpu needs none")
    gpus.prepare(driver, os.environ)
    # float32 is float32 for all of them: PyTorch's is by default.
    os.environ |= {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "NVIDIA_TF32_OVERRIDE": "0"}


def find_config(size: str, vocab_size: int):
  """The `BertConfig` of --size, with so many entries of the vocabulary.

  Args:
    size: a published one, e.g. base or L4-H256; others of this form have heads of 32 units, as MiniLM.

  Raises:
    UserError: there is no such size.
  """
  from modeling import PRESETS, BertConfig

  for name in (size, f"bert-{size}"):
    if name in PRESETS:
      return dataclasses.replace(PRESETS[name], vocab_size=vocab_size)
  numbers = re.fullmatch(r"L(\d+)-H(\d+)", size)
  layers, hidden_size = map(int, numbers.groups()) if numbers else (0, 0)
  if not layers or not hidden_size or hidden_size % 32:
    raise UserError(f"--size={size} is unknown: use base, large, or L<layers>-H<hidden> with a multiple of 32")
  return BertConfig(vocab_size=vocab_size, hidden_size=hidden_size, num_hidden_layers=layers,
                    num_attention_heads=hidden_size // 32, intermediate_size=4 * hidden_size)


def held_mib(at_most: bool = False) -> float:
  """Memory that this process has resident now, or the most that it has had, in MiB; Linux."""
  if at_most:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
  with open("/proc/self/statm", encoding="utf-8") as file:
    return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def gpu_peak_mib(in_pytorch: bool) -> float:
  """The most GPU memory that this process has had in use, in MiB."""
  if in_pytorch:
    import torch

    return torch.cuda.max_memory_allocated() / 2**20
  import tensorflow as tf

  return tf.config.experimental.get_memory_info("GPU:0")["peak"] / 2**20
