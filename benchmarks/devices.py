"""What the programs of a benchmark compute on: all of them the CPU, or all of them one GPU."""

import dataclasses
from collections.abc import MutableMapping

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


def set_up_device(device: str, driver: gpus.Driver | None, environment: MutableMapping[str, str]) -> None:
  """What a program finds when it imports its libraries: no GPU, or one that it shares with the others.

  Raises:
    UserError: there is no GPU.
  """
  if device == "cpu":
    # To TensorFlow and to PyTorch.
    environment["CUDA_VISIBLE_DEVICES"] = "-1"
    return
  check_device(device, driver)
  gpus.prepare(driver, environment)
  # float32 is float32 for all of them: PyTorch's is by default.
  environment |= {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "NVIDIA_TF32_OVERRIDE": "0"}


def check_device(device: str, driver: gpus.Driver | None) -> None:
  """Raises `UserError` where there is no GPU and one is asked for."""
  if device == "gpu" and (driver is None or not driver.gpus):
    raise UserError("--device=gpu: there is no GPU with a driver, see python device_report.py; --device=cpu needs none")
