"""NVIDIA GPUs before TensorFlow starts: what the driver reports, the options of XLA, the cache of
compiled programs.

TensorFlow and XLA read TF_XLA_FLAGS and XLA_FLAGS once, when they start.
"""

import dataclasses
import functools
import glob
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, MutableMapping

from bert_common import files, version

# There where NVIDIA's kernel module is loaded.
_DRIVER_FILE = "/proc/driver/nvidia/version"
# Tuning Triton's matrix products takes most of the time before the first step (BERT-Base on an
# H100: 275 s, without it 45 s), and cuBLAS's, which are taken instead, are as fast.
_XLA_OPTIONS = {"--xla_gpu_enable_triton_gemm": "false"}
# XLA's own that refuses what would not give the same bits again.
_DETERMINISTIC = {"--xla_gpu_deterministic_ops": "true"}
# Code for a CPU is right for this processor only, and quickly compiled.
_PROGRAM_CACHE, _CACHED_DEVICES = (
    "--tf_xla_persistent_cache_directory",
    "--tf_xla_persistent_cache_device_types",
)
# For help.
DEFAULT_CACHE = "bert-tf/compiled in $XDG_CACHE_HOME or ~/.cache"
# Bytes; Base's programs are some 10 MB each, and the oldest are removed.
_MOST_CACHED = 4 << 30


@dataclasses.dataclass(frozen=True)
class Driver:
    """NVIDIA's driver, e.g. "580.159.04", and (name, bytes of memory) of all GPUs of the machine,
    whatever CUDA_VISIBLE_DEVICES is; both are empty where nvidia-smi does not answer."""

    version: str = ""
    gpus: tuple[tuple[str, int], ...] = ()


@functools.cache
def read_driver() -> Driver | None:
    """The machine's driver; None where there is none."""
    query = [
        "nvidia-smi",
        "--query-gpu=driver_version,memory.total,name",
        "--format=csv,noheader,nounits",
    ]
    try:
        lines = subprocess.run(
            query, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        rows = [line.split(", ", 2) for line in lines]
        return Driver(
            rows[0][0], tuple((name, int(mebibytes) << 20) for _, mebibytes, name in rows)
        )
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return Driver() if os.path.exists(_DRIVER_FILE) else None


def unused_gpus(driver: Driver | None, num_found: int) -> str | None:
    """A warning where the machine has GPUs and TensorFlow finds none, unless they are hidden from
    it."""
    if num_found or driver is None or not driver.gpus or "CUDA_VISIBLE_DEVICES" in os.environ:
        return None
    return (
        f"warning: {driver.gpus[0][0]} is not used, the CPU is: CUDA's libraries are missing (make env GPU=1, or pip "
        f"install -r requirements-gpu.txt), or the driver, {driver.version}, is older than 525.60; "
        "TF_CPP_MIN_LOG_LEVEL=0 shows TensorFlow's reasons"
    )


def prepare(
    driver: Driver | None,
    environment: MutableMapping[str, str],
    cache_directory: str | None = "",
    deterministic: bool = False,
) -> str | None:
    """Sets what TensorFlow and XLA are to read when they start; nothing without a GPU. What the
    user has set stays.

    Args:
      cache_directory: where compiled programs are kept for later processes; None for
        `DEFAULT_CACHE`, empty for nowhere.
      deterministic: the same bits every time.

    Returns:
      why there is no cache although one was asked for, in one line.
    """
    if driver is None:
        return None
    _add(environment, "XLA_FLAGS", _XLA_OPTIONS | (_DETERMINISTIC if deterministic else {}))
    if cache_directory is None:
        cache_directory = os.path.join(files.cache_directory(environment), "compiled")
    if not cache_directory:
        return None
    directory = os.path.join(
        os.path.abspath(os.path.expanduser(cache_directory)),
        cache_key(driver, environment.get("XLA_FLAGS", "")),
    )
    problem, tuning = None, os.path.join(directory, "tuning")
    try:
        os.makedirs(tuning, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        problem = f"can't be used ({error.strerror})"
    if re.search(r"\s", directory):
        problem = "can't be used (it has a space in its name)"
    if problem:
        return (
            f"warning: --compilation_cache_dir={cache_directory} {problem}: the run continues without, and compiles "
            "everything again"
        )
    # The oldest programs, of all versions and devices, make room.
    found = glob.glob(
        os.path.join(glob.escape(os.path.dirname(directory)), "tensorflow-*", "xla_compile_cache*")
    )
    kept = 0
    for path in sorted(found, key=os.path.getmtime, reverse=True):
        size = os.path.getsize(path)
        kept += size
        # An empty one was cut off by a crash of the machine; TensorFlow would end at it.
        if kept > _MOST_CACHED or not size:
            os.remove(path)
    if _PROGRAM_CACHE not in environment.get("TF_XLA_FLAGS", ""):
        _add(environment, "TF_XLA_FLAGS", {_PROGRAM_CACHE: directory, _CACHED_DEVICES: "GPU"})
    _add(environment, "XLA_FLAGS", {"--xla_gpu_per_fusion_autotune_cache_dir": tuning})
    return None


def is_out_of_memory(message: str) -> bool:
    """Whether TensorFlow's error is about a device's memory; a full disk is the same kind of error
    to it."""
    return bool(
        re.search(r"\bOOM\b|out.of.memory|fail(ed|ure) to allocate", message, re.IGNORECASE)
    )


def cache_problem(message: str) -> str | None:
    """A line for the user where TensorFlow's error is about a file of the cache."""
    found = re.search(r"(\S*)/xla_compile_cache\S*", message)
    return found and (
        f"a compiled program can't be kept in {found[1]} ({message.partition('[[')[0].strip()[:200]}): "
        "make room there, choose another --compilation_cache_dir, or none (an empty one)"
    )


def cache_key(driver: Driver, xla_flags: str) -> str:
    """Name of the directory of programs that fit version, GPUs, driver and XLA's options, which
    TensorFlow's own key, the program with its shapes and the kind of device, leaves out."""
    names = "+".join(sorted({name for name, _ in driver.gpus})) or "GPU"
    options = hashlib.sha256(" ".join(sorted(xla_flags.split())).encode()).hexdigest()[:8]
    readable = (
        f"tensorflow-{version('tensorflow') or 'other'}_{names}_{driver.version or 'unknown'}"
    )
    return f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', readable)}_{options}"


def _add(environment: MutableMapping[str, str], variable: str, options: Mapping[str, str]) -> None:
    """Adds options to a variable, unless it has them already, or is the name of a file with
    options."""
    given = environment.get(variable, "")
    names = [word.partition("=")[0] for word in given.split()]
    added = [f"{name}={value}" for name, value in options.items() if name not in names]
    # What does not begin with "-" is a file's name, for TensorFlow and XLA alike.
    if added and given.lstrip()[:1] in ("", "-"):
        environment[variable] = " ".join([*([given] if given else []), *added])
