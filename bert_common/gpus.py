"""NVIDIA GPUs before TensorFlow starts: what the driver reports, the options of XLA, the cache of compiled programs.

TensorFlow and XLA read TF_XLA_FLAGS and XLA_FLAGS once, when they start.
"""

import contextlib
import ctypes
import dataclasses
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, MutableMapping

from bert_common import files

# There where NVIDIA's kernel module is loaded.
_DRIVER_FILE = "/proc/driver/nvidia/version"
# Tuning Triton's matrix products takes most of the time before the first step (BERT-Base on an H100: 275 s, without it
# 45 s), and cuBLAS's, which are taken instead, are as fast.
_XLA_OPTIONS = {"--xla_gpu_enable_triton_gemm": "false"}
# XLA's own that refuses what would not give the same bits again.
_DETERMINISTIC = {"--xla_gpu_deterministic_ops": "true"}
_PROGRAM_CACHE, _TUNING_CACHE = "--tf_xla_persistent_cache_directory", "--xla_gpu_per_fusion_autotune_cache_dir"
# Code for a CPU is right for this processor only, and quickly compiled.
_CACHED_DEVICES = {"--tf_xla_persistent_cache_device_types": "GPU"}
# Of `default_cache_directory`, for help.
DEFAULT_CACHE = "bert-tf/compiled in $XDG_CACHE_HOME or ~/.cache"
# TensorFlow ends where it can't write a program. Base's are some 10 MB each.
_LEAST_FREE = 1 << 30
# The oldest programs are removed beyond so much.
_MOST_CACHED = 4 << 30
_NAME_LENGTH = 96
# What TensorFlow 2.20 opens when it starts, and the programs and files that XLA needs, by the package that has them.
_LIBRARIES = {
    "libcudart.so.12": "nvidia-cuda-runtime-cu12", "libcublas.so.12": "nvidia-cublas-cu12",
    "libcublasLt.so.12": "nvidia-cublas-cu12", "libcudnn.so.9": "nvidia-cudnn-cu12",
    "libcufft.so.11": "nvidia-cufft-cu12", "libcusolver.so.11": "nvidia-cusolver-cu12",
    "libcusparse.so.12": "nvidia-cusparse-cu12", "libnvJitLink.so.12": "nvidia-nvjitlink-cu12",
    "ptxas": "nvidia-cuda-nvcc-cu12"}
# CUDA 12 runs on drivers for any CUDA 12. The wheel has machine code for 6.0 and above; on Blackwell it does not work
# (tensorflow/tensorflow, issue 101746).
_LEAST_CUDA, _LEAST_CAPABILITY, _FIRST_UNKNOWN_CAPABILITY = (12, 0), (6, 0), (10, 0)


@dataclasses.dataclass(frozen=True)
class Gpu:
  """A GPU as the driver reports it; `memory` in bytes."""

  name: str
  capability: tuple[int, int]
  memory: int


@dataclasses.dataclass(frozen=True)
class Driver:
  """NVIDIA's driver.

  Attributes:
    version: e.g. "580.159.04"; empty where its management library (NVML) is missing.
    cuda: newest CUDA version that it runs, (0, 0) where not known.
    gpus: all of the machine, whatever CUDA_VISIBLE_DEVICES is.
  """

  version: str = ""
  cuda: tuple[int, int] = (0, 0)
  gpus: tuple[Gpu, ...] = ()


def read_driver(library: str = "libnvidia-ml.so.1") -> Driver | None:
  """The machine's driver by way of NVML, which starts no program on a GPU; None where there is none."""
  try:
    nvml = ctypes.CDLL(library)
    if nvml.nvmlInit_v2():
      raise OSError
  except OSError:
    return Driver() if os.path.exists(_DRIVER_FILE) else None
  try:
    version, cuda, count = ctypes.create_string_buffer(_NAME_LENGTH), ctypes.c_int(), ctypes.c_uint()
    nvml.nvmlSystemGetDriverVersion(version, _NAME_LENGTH)
    nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(cuda))
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    # 12040 is 12.4.
    return Driver(version.value.decode(), (cuda.value // 1000, cuda.value % 1000 // 10),
                  tuple(_read_gpu(nvml, index) for index in range(count.value)))
  finally:
    nvml.nvmlShutdown()


def _read_gpu(nvml: ctypes.CDLL, index: int) -> Gpu:
  device, name, memory = ctypes.c_void_p(), ctypes.create_string_buffer(_NAME_LENGTH), (ctypes.c_ulonglong * 3)()
  major, minor = ctypes.c_int(), ctypes.c_int()
  nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
  nvml.nvmlDeviceGetName(device, name, _NAME_LENGTH)
  nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
  # Total, free, used.
  nvml.nvmlDeviceGetMemoryInfo(device, memory)
  return Gpu(name.value.decode(), (major.value, minor.value), memory[0])


def missing_libraries(packages: str) -> dict[str, str]:
  """What of CUDA TensorFlow would not find → the package that has it.

  Args:
    packages: directory of installed packages, "…/site-packages", which TensorFlow searches before the system's.
  """
  return {name: package for name, package in _LIBRARIES.items()
          if not glob.glob(os.path.join(glob.escape(packages), "nvidia", "*", "*", name)) and not _loads(name)}


def _loads(library: str) -> bool:
  if "." not in library:
    return shutil.which(library) is not None
  with contextlib.suppress(OSError):
    return bool(ctypes.CDLL(library))
  return False


def problems(driver: Driver | None, missing: Mapping[str, str], num_found: int, visible: str | None) -> list[str]:
  """Why TensorFlow does not use the machine's GPUs, or not as it should, and what to do, a line each.

  Args:
    missing: see `missing_libraries`.
    num_found: GPUs that TensorFlow finds.
    visible: CUDA_VISIBLE_DEVICES; None where it is not set.
  """
  if driver is None:
    return ["no NVIDIA driver: the CPU is used. Where there is a GPU, install its driver (nvidia-smi must work)"]
  found = []
  if not driver.version:
    found.append("the driver's library NVML is missing: reinstall the driver; in a container, start it with --gpus all")
  elif driver.cuda < _LEAST_CUDA:
    found.append(f"driver {driver.version} is too old, it runs CUDA {_dotted(driver.cuda)}: install 525.60 or newer")
  for gpu in driver.gpus:
    if not _LEAST_CAPABILITY <= gpu.capability < _FIRST_UNKNOWN_CAPABILITY:
      age = "old" if gpu.capability < _LEAST_CAPABILITY else "new"
      found.append(f"{gpu.name} is too {age} for TensorFlow 2.20: its compute capability is {_dotted(gpu.capability)}, "
                   f"{_dotted(_LEAST_CAPABILITY)} to 9.x are possible")
  if missing:
    names = ", ".join(f"{name} ({package})" for name, package in missing.items())
    found.append(f"missing: {names}: make env GPU=1, or pip install -r requirements-gpu.txt")
  if not found and num_found < len(driver.gpus):
    reason = f"CUDA_VISIBLE_DEVICES is {visible!r}" if visible is not None else (
        "TF_CPP_MIN_LOG_LEVEL=0 shows TensorFlow's reasons")
    found.append(f"TensorFlow uses {num_found} of {len(driver.gpus)} GPUs: {reason}")
  return found


def _dotted(version: tuple[int, int]) -> str:
  return f"{version[0]}.{version[1]}"


def prepare(driver: Driver | None, environment: MutableMapping[str, str], cache_directory: str = "",
            deterministic: bool = False) -> str | None:
  """Sets what TensorFlow and XLA are to read when they start; nothing without a GPU. What the user has set stays.

  Args:
    cache_directory: where compiled programs are kept for later processes; empty for nowhere.
    deterministic: the same bits every time.

  Returns:
    why there is no cache although one was asked for, in one line.
  """
  if driver is None:
    return None
  _add(environment, "XLA_FLAGS", _XLA_OPTIONS | (_DETERMINISTIC if deterministic else {}))
  if not cache_directory:
    return None
  directory = os.path.join(os.path.abspath(os.path.expanduser(cache_directory)),
                           cache_key(driver, environment.get("XLA_FLAGS", ""), _tensorflow_version()))
  problem = _make_usable(directory)
  if problem:
    return (f"warning: --compilation_cache_dir={cache_directory} {problem}: the run continues without, and compiles "
            "everything again")
  _remove_oldest(os.path.dirname(directory), _MOST_CACHED)
  if _PROGRAM_CACHE not in environment.get("TF_XLA_FLAGS", ""):
    _add(environment, "TF_XLA_FLAGS", {_PROGRAM_CACHE: directory, **_CACHED_DEVICES})
  _add(environment, "XLA_FLAGS", {_TUNING_CACHE: os.path.join(directory, "tuning")})
  return None


def is_out_of_memory(message: str) -> bool:
  """Whether TensorFlow's error is about a device's memory; a full disk is the same kind of error to it."""
  return bool(re.search(r"\bOOM\b|out.of.memory|fail(ed|ure) to allocate", message, re.IGNORECASE))


def cache_problem(message: str) -> str | None:
  """A line for the user where TensorFlow's error is about a file of the cache."""
  found = re.search(r"(\S*)/xla_compile_cache\S*", message)
  return found and (f"a compiled program can't be kept in {found[1]} ({message.partition('[[')[0].strip()[:200]}): "
                    "make room there, choose another --compilation_cache_dir, or none (an empty one)")


def default_cache_directory(environment: Mapping[str, str]) -> str:
  return os.path.join(files.cache_directory(environment), "compiled")


def cache_key(driver: Driver, xla_flags: str, tensorflow_version: str) -> str:
  """Name of the directory of programs that fit version, GPUs, driver and XLA's options.

  TensorFlow's own key is the program (with its shapes) and whether it is for a CPU or a GPU.
  """
  # Imported where they are needed: scripts answer to --help in the time that these take.
  import hashlib

  names = "+".join(sorted({gpu.name for gpu in driver.gpus})) or "GPU"
  options = hashlib.sha256(" ".join(sorted(xla_flags.split())).encode()).hexdigest()[:8]
  readable = f"tensorflow-{tensorflow_version}_{names}_{driver.version or 'unknown'}"
  return f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', readable)}_{options}"


def _tensorflow_version() -> str:
  return next((found for package in ("tensorflow", "tensorflow-cpu", "tf-nightly")
               if (found := _version(package))), "unknown")


def _version(package: str) -> str | None:
  """The version of an installed package."""
  import importlib.metadata

  try:
    return importlib.metadata.version(package)
  except importlib.metadata.PackageNotFoundError:
    return None


def _add(environment: MutableMapping[str, str], variable: str, options: Mapping[str, str]) -> None:
  """Adds options to a variable, unless it has them already, or is the name of a file with options."""
  given = environment.get(variable, "")
  names = [word.partition("=")[0] for word in given.split()]
  added = [f"{name}={value}" for name, value in options.items() if name not in names]
  # What does not begin with "-" is a file's name, for TensorFlow and XLA alike.
  if added and given.lstrip()[:1] in ("", "-"):
    environment[variable] = " ".join([*([given] if given else []), *added])


def _make_usable(directory: str) -> str | None:
  """Makes the directory with one for XLA's tuning in it; what is wrong with it, where TensorFlow could not use it."""
  try:
    os.makedirs(os.path.join(directory, "tuning"), exist_ok=True)
    tempfile.TemporaryFile(dir=directory).close()
    free = shutil.disk_usage(directory).free
  except OSError as error:
    return f"can't be used ({error.strerror})"
  if re.search(r"\s", directory):
    return "can't be used (it has a space in its name)"
  return f"is on a disk with only {free >> 20} MiB left" if free < _LEAST_FREE else None


def _remove_oldest(parent: str, most_bytes: int) -> None:
  """Removes the oldest programs of all versions and devices beyond so many bytes."""
  found = glob.glob(os.path.join(glob.escape(parent), "tensorflow-*", "xla_compile_cache*"))
  kept = 0
  for path in sorted(found, key=os.path.getmtime, reverse=True):
    size = os.path.getsize(path)
    kept += size
    # An empty one was cut off by a crash of the machine; TensorFlow would end at it.
    if kept > most_bytes or not size:
      with contextlib.suppress(OSError):
        os.remove(path)
