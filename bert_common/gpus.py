"""NVIDIA GPUs before TensorFlow starts: driver, options of XLA, cache of compiled programs.

TensorFlow and XLA read TF_XLA_FLAGS and XLA_FLAGS once, when they start.
"""

import dataclasses
import functools
import glob
import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, MutableMapping

from bert_common import files, version

# This file exists if NVIDIA's kernel module is loaded.
_DRIVER_FILE = "/proc/driver/nvidia/version"
# Tuning Triton's matrix products takes most of the time before the first step (BERT-Base on an
# H100: 275 s, without it 45 s), and the products of cuBLAS are as fast.
_XLA_OPTIONS = {"--xla_gpu_enable_triton_gemm": "false"}
# XLA refuses operations that would not give the same bits again.
_DETERMINISTIC = {"--xla_gpu_deterministic_ops": "true"}
_PROGRAM_CACHE = "--tf_xla_persistent_cache_directory"
# Programs for CPUs are not cached: they run on the very same processor only, and compile quickly.
_CACHED_DEVICES = "--tf_xla_persistent_cache_device_types"
# The default of --compilation_cache_dir, as its help shows it.
DEFAULT_CACHE = "bert-tf/compiled in $XDG_CACHE_HOME or ~/.cache"
# Where systems have CUDA's programs.
_CUDA_DIRECTORIES = ("/usr/local/cuda/bin", "/opt/cuda/bin")
# The oldest programs are removed beyond these bytes; BERT-Base's have some 10 MB each.
_MAX_CACHE_BYTES = 4 << 30


@dataclasses.dataclass(frozen=True)
class Driver:
    """NVIDIA's driver.

    Attributes:
      version: e.g. "580.159.04"; empty if nvidia-smi does not answer.
      gpus: (name, bytes of memory) of all GPUs of the machine, whatever CUDA_VISIBLE_DEVICES is.
    """

    version: str = ""
    gpus: tuple[tuple[str, int], ...] = ()


@functools.cache
def read_driver() -> Driver | None:
    """Returns the machine's driver; None if it has none."""
    query = [
        "nvidia-smi",
        "--query-gpu=driver_version,memory.total,name",
        "--format=csv,noheader,nounits",
    ]
    try:
        # TensorFlow can't be asked: it must not start before the variables are set.
        lines = subprocess.run(
            query, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        driver = ""
        gpus = []
        for line in lines:
            # The name comes last in the query because only it may contain a comma.
            driver, mebibytes, name = line.split(", ", 2)
            gpus.append((name, int(mebibytes) << 20))
        return Driver(driver, tuple(gpus))
    except (OSError, subprocess.SubprocessError, ValueError):
        # Containers may have the driver but no nvidia-smi.
        return Driver() if os.path.exists(_DRIVER_FILE) else None


def unused_gpus(driver: Driver | None, num_found: int) -> str | None:
    """Returns a warning if TensorFlow finds none of the machine's GPUs, unless they are hidden."""
    # A user who hides GPUs by the variable wants no warning about it.
    if num_found or driver is None or not driver.gpus or "CUDA_VISIBLE_DEVICES" in os.environ:
        return None
    return (
        f"warning: {driver.gpus[0][0]} is not used, the CPU is: CUDA's libraries are missing (make "
        "env GPU=1, or pip install -r requirements-gpu.txt), or the driver, "
        f"{driver.version}, is older than 525.60; TF_CPP_MIN_LOG_LEVEL=0 shows TensorFlow's reasons"
    )


def describe_ptxas(environment: Mapping[str, str]) -> str:
    """Returns path and version of the assembler that XLA runs on a GPU's programs.

    XLA takes the first that works of CUDA's directories and PATH, in this order (its functions
    `FindCudaExecutable` and `CandidateCudaRoots`): that of --xla_gpu_cuda_data_dir, CUDA's packages
    beside TensorFlow's, the usual ones of a system.
    """
    option = re.search(r"--xla_gpu_cuda_data_dir=(\S+)", environment.get("XLA_FLAGS", ""))
    directories = [os.path.join(option[1] if option else "./cuda_sdk_lib", "bin")]
    spec = importlib.util.find_spec("tensorflow")
    if spec is not None and spec.origin is not None:
        packages = os.path.dirname(os.path.dirname(spec.origin))
        directories.append(os.path.join(packages, "nvidia/cuda_nvcc/bin"))
    directories += _CUDA_DIRECTORIES
    directories += environment.get("PATH", "").split(os.pathsep)
    for directory in directories:
        path = os.path.abspath(os.path.join(directory, "ptxas"))
        if not os.path.isfile(path):
            continue
        try:
            text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        release = re.search(r"V(\d+\.\d+\.\d+)", text.stdout)
        if release:
            return f"ptxas {release[1]}, {path}"
    return "no ptxas was found: the driver compiles XLA's programs"


def prepare(
    driver: Driver | None,
    environment: MutableMapping[str, str],
    cache_directory: str | None = "",
    deterministic: bool = False,
) -> str | None:
    """Sets the variables that TensorFlow and XLA read when they start.

    Nothing is set without a GPU, and values that the user has set stay.

    Args:
      cache_directory: directory that keeps compiled programs for later processes; None for
        `DEFAULT_CACHE`, empty for no cache.
      deterministic: compute the same bits every time.

    Returns:
      a warning, in one line, if the cache can't be used; else None.
    """
    if driver is None:
        return None
    _add(environment, "XLA_FLAGS", _XLA_OPTIONS)
    if deterministic:
        _add(environment, "XLA_FLAGS", _DETERMINISTIC)
    if cache_directory is None:
        cache_directory = os.path.join(files.cache_directory(environment), "compiled")
    if not cache_directory:
        return None
    directory = os.path.join(
        os.path.abspath(os.path.expanduser(cache_directory)),
        cache_key(driver, environment.get("XLA_FLAGS", "")),
    )
    tuning = os.path.join(directory, "tuning")
    problem = None
    try:
        os.makedirs(tuning, exist_ok=True)
        # An existing directory may be read-only, which `makedirs` does not report.
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        problem = f"can't be used ({error.strerror})"
    # XLA splits the variable at white space.
    if re.search(r"\s", directory):
        problem = "can't be used (it has a space in its name)"
    if problem:
        return (
            f"warning: --compilation_cache_dir={cache_directory} {problem}: the run continues "
            "without a cache, and compiles everything again"
        )
    _remove_old_programs(os.path.dirname(directory))
    # A cache that the user has chosen keeps its own device types, too.
    if _PROGRAM_CACHE not in environment.get("TF_XLA_FLAGS", ""):
        _add(environment, "TF_XLA_FLAGS", {_PROGRAM_CACHE: directory, _CACHED_DEVICES: "GPU"})
    _add(environment, "XLA_FLAGS", {"--xla_gpu_per_fusion_autotune_cache_dir": tuning})
    return None


def _remove_old_programs(cache_directory: str) -> None:
    """Removes the oldest programs beyond `_MAX_CACHE_BYTES`, of all versions and devices."""
    pattern = os.path.join(glob.escape(cache_directory), "tensorflow-*", "xla_compile_cache*")
    total = 0
    for path in sorted(glob.glob(pattern), key=os.path.getmtime, reverse=True):
        size = os.path.getsize(path)
        total += size
        # A crash of the machine leaves empty files, at which TensorFlow would end.
        if total > _MAX_CACHE_BYTES or not size:
            os.remove(path)


def is_out_of_memory(message: str) -> bool:
    """Whether an error of TensorFlow is about a device's memory.

    The type of the error does not tell: it is the same for a full disk.
    """
    pattern = r"\bOOM\b|out.of.memory|fail(ed|ure) to allocate"
    return re.search(pattern, message, re.IGNORECASE) is not None


def cache_problem(message: str) -> str | None:
    """Returns a line for the user if an error of TensorFlow is about a file of the cache."""
    match = re.search(r"(\S*)/xla_compile_cache\S*", message)
    if match is None:
        return None
    reason = message.partition("[[")[0].strip()[:200]
    return (
        f"a compiled program can't be kept in {match[1]} ({reason}): make room there, choose "
        "another --compilation_cache_dir, or none (an empty one)"
    )


def cache_key(driver: Driver, xla_flags: str) -> str:
    """Returns the name of the directory for programs of a version, GPUs, driver and XLA's options.

    TensorFlow's own key has the program with its shapes and the kind of device only.
    """
    gpus = sorted({name for name, _ in driver.gpus})
    names = "+".join(gpus) if gpus else "GPU"
    options = hashlib.sha256(" ".join(sorted(xla_flags.split())).encode()).hexdigest()[:8]
    readable = (
        f"tensorflow-{version('tensorflow') or 'other'}_{names}_{driver.version or 'unknown'}"
    )
    return f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', readable)}_{options}"


def _add(environment: MutableMapping[str, str], variable: str, options: Mapping[str, str]) -> None:
    """Adds options to a variable that has none of the same name."""
    current = environment.get(variable, "")
    # TensorFlow and XLA take a value that does not begin with "-" for a file with options.
    if current.lstrip()[:1] not in ("", "-"):
        return
    # The last one of two equal options would win, and it must be the user's.
    names = [word.partition("=")[0] for word in current.split()]
    for name, value in options.items():
        if name not in names:
            current = f"{current} {name}={value}".lstrip()
    if current:
        environment[variable] = current
