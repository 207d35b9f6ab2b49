"""What TensorFlow and XLA are told before they start, for made-up machines; the real XLA takes it."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from bert_common import gpus
from bert_common.gpus import Driver, Gpu

H100 = Gpu("NVIDIA H100 80GB HBM3", (9, 0), 80 << 30)
DRIVER = Driver("580.159.04", (13, 0), (H100, H100))
TRITON = "--xla_gpu_enable_triton_gemm=false"

# The part of NVML that is called.
_NVML = r'''
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
int nvmlInit_v2(void) { return FAILS; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "550.54.15", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(0x7f0000000000ULL + i); return 0; }
int nvmlDeviceGetName(void *d, char *v, unsigned n) {
  strncpy(v, d == (void *)0x7f0000000001ULL ? "Tesla T4" : "NVIDIA A100-SXM4-40GB", n);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) {
  *a = d == (void *)0x7f0000000001ULL ? 7 : 8;
  *b = *a == 7 ? 5 : 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void *d, memory_t *m) { m->total = 40ULL << 30; m->free = 1; m->used = 2; return 0; }
'''


def test_the_driver_is_read_through_nvml(tmp_path):
  compiler = shutil.which("cc")
  if not compiler:
    pytest.skip("needs a C compiler, for a library that answers as NVML does")
  (tmp_path / "nvml.c").write_text(_NVML)
  for fails in (0, 9):
    subprocess.run([compiler, "-shared", "-fPIC", f"-DFAILS={fails}", "-o", tmp_path / f"nvml{fails}.so",
                    tmp_path / "nvml.c"], check=True)
  assert gpus.read_driver(str(tmp_path / "nvml0.so")) == Driver("550.54.15", (12, 4), (
      Gpu("NVIDIA A100-SXM4-40GB", (8, 0), 40 << 30), Gpu("Tesla T4", (7, 5), 40 << 30)))
  # No kernel module.
  assert gpus.read_driver(str(tmp_path / "nvml9.so")) is gpus.read_driver("libthere-is-none.so.1")


@pytest.mark.parametrize(("driver", "given", "expected"), [
    (DRIVER, None, TRITON), (DRIVER, "", TRITON),
    (DRIVER, "--xla_dump_to=x", f"--xla_dump_to=x {TRITON}"),
    # The user's own choice stays.
    (DRIVER, "--xla_gpu_enable_triton_gemm=true", "--xla_gpu_enable_triton_gemm=true"),
    (DRIVER, "--xla_gpu_enable_triton_gemm", "--xla_gpu_enable_triton_gemm"),
    # Another option whose name begins alike.
    (DRIVER, "--xla_gpu_enable_triton_gemm_any=true", f"--xla_gpu_enable_triton_gemm_any=true {TRITON}"),
    # A file of options.
    (DRIVER, "/home/me/xla.flags", "/home/me/xla.flags"),
    (None, None, None), (None, "--xla_dump_to=x", "--xla_dump_to=x")])
def test_options_of_xla(driver, given, expected):
  environment = {} if given is None else {"XLA_FLAGS": given}
  assert gpus.prepare(driver, environment) is None
  assert environment.get("XLA_FLAGS") == expected and "TF_XLA_FLAGS" not in environment


def test_deterministic_programs():
  environment = {}
  gpus.prepare(DRIVER, environment, deterministic=True)
  assert environment == {"XLA_FLAGS": f"{TRITON} --xla_gpu_deterministic_ops=true"}


def test_xla_knows_the_options(tmp_path):
  """It ends the process where it does not."""
  environment = dict(os.environ)
  environment.pop("XLA_FLAGS", None)
  assert gpus.prepare(DRIVER, environment, str(tmp_path / "cache"), deterministic=True) is None
  directory = tmp_path / "cache" / gpus.cache_key(
      DRIVER, f"{TRITON} --xla_gpu_deterministic_ops=true", gpus._tensorflow_version())
  assert environment["TF_XLA_FLAGS"].startswith(f"--tf_xla_persistent_cache_directory={directory} ")
  # Programs for CPUs are not kept.
  assert environment["TF_XLA_FLAGS"].endswith("types=GPU")
  environment["TF_XLA_FLAGS"] = environment["TF_XLA_FLAGS"].replace("types=GPU", "types=CPU")
  program = "import tensorflow as tf; print(int(tf.function(lambda: tf.constant(1) + 1, jit_compile=True)()))"
  done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
  assert done.stdout == "2\n", done.stderr[-500:]
  assert [name[:17] for name in sorted(os.listdir(directory))] == ["tuning", "xla_compile_cache"]


def test_a_cache_of_the_users_own_stays(tmp_path):
  environment = {"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=/mine"}
  gpus.prepare(DRIVER, environment, str(tmp_path / "cache"))
  assert environment["TF_XLA_FLAGS"] == "--tf_xla_persistent_cache_directory=/mine"


def test_a_program_never_meets_another_version_device_driver_or_option():
  keys = [gpus.cache_key(*facts) for facts in (
      (DRIVER, TRITON, "2.20.0"), (DRIVER, TRITON, "2.21.0"), (DRIVER, "", "2.20.0"),
      (Driver("550.54.15", (12, 4), DRIVER.gpus), TRITON, "2.20.0"),
      (Driver("580.159.04", (13, 0), (Gpu("Tesla T4", (7, 5), 1),)), TRITON, "2.20.0"), (Driver(), TRITON, "2.20.0"))]
  assert len({*keys}) == 6
  assert keys[0].startswith("tensorflow-2.20.0_NVIDIA-H100-80GB-HBM3_580.159.04_")
  # The order of options changes nothing.
  assert gpus.cache_key(DRIVER, f"{TRITON} --a", "2") == gpus.cache_key(DRIVER, f"--a {TRITON}", "2")


def test_a_cache_that_can_not_be_used_is_one_line(tmp_path):
  (tmp_path / "file").touch()
  (tmp_path / "with space").mkdir()
  for path, reason in (("file", "Not a directory"), ("with space", "a space"), ("/proc/x", "No such file")):
    environment = {}
    warning = gpus.prepare(DRIVER, environment, str(tmp_path / path))
    assert f"--compilation_cache_dir={tmp_path / path}" in warning and reason in warning and "\n" not in warning
    assert environment == {"XLA_FLAGS": TRITON}


def test_a_disk_that_is_nearly_full(tmp_path, monkeypatch):
  monkeypatch.setattr(gpus, "_LEAST_FREE", 1 << 60)
  assert "MiB left: the run continues without" in gpus.prepare(DRIVER, {}, str(tmp_path / "cache"))


def test_the_oldest_programs_make_room(tmp_path):
  folder = tmp_path / "tensorflow-2.20.0_T4"
  folder.mkdir()
  for age, size in enumerate((30, 30, 0, 30, 30)):
    path = folder / f"xla_compile_cache__{age}.pb"
    path.write_bytes(b"x" * size)
    os.utime(path, (1e9 - age, 1e9 - age))
  others = [folder / "mine.txt", tmp_path / "xla_compile_cache__9.pb"]
  for path in others:
    path.write_bytes(b"x" * 100)
  gpus._remove_oldest(str(tmp_path), 70)
  assert sorted(os.listdir(folder)) == ["mine.txt", "xla_compile_cache__0.pb", "xla_compile_cache__1.pb"]
  assert all(path.exists() for path in others)


def test_the_default_directory_of_the_cache():
  assert gpus.default_cache_directory({}) == os.path.expanduser("~/.cache/bert-tf/compiled")
  assert gpus.default_cache_directory({"XDG_CACHE_HOME": "/scratch/me"}) == "/scratch/me/bert-tf/compiled"


@pytest.mark.parametrize(("message", "expected"), [
    ("OOM when allocating tensor with shape[4096,30522] and type float on /job:localhost by allocator GPU_0_bfc", True),
    ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836480 bytes.", True),
    ("Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory", True),
    ("failed to allocate memory", True), ("/out/ckpt-1.data; No space left on device", False),
    ("ROOM is no dog's ZOOM", False)])
def test_what_is_out_of_memory(message, expected):
  assert gpus.is_out_of_memory(message) is expected


def test_a_cache_that_fills_up_meanwhile_is_one_line(tmp_path):
  """A real process, in which no file grows beyond 10 kB."""
  program = ("import resource, tensorflow as tf\n"
             "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))\n"
             "tf.function(lambda x: tf.nn.gelu(x @ x), jit_compile=True)(tf.ones([64, 64]))")
  environment = {**os.environ, "TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={tmp_path}"}
  done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
  message = done.stderr.strip().splitlines()[-1]
  problem = gpus.cache_problem(message)
  assert problem.startswith(f"a compiled program can't be kept in {tmp_path} (") and "\n" not in problem
  assert gpus.cache_problem("OOM when allocating tensor") is None


@pytest.mark.parametrize(("driver", "missing", "num_found", "visible", "expected"), [
    (DRIVER, {}, 2, None, []),
    (None, {"libcudnn.so.9": "nvidia-cudnn-cu12"}, 0, None, ["no NVIDIA driver"]),
    (Driver(), {}, 0, None, ["NVML is missing"]),
    (Driver("470.82.01", (11, 4), (H100,)), {}, 0, None, ["driver 470.82.01 is too old, it runs CUDA 11.4: "]),
    (Driver("535.1", (12, 2), (Gpu("Tesla K80", (3, 7), 1),)), {}, 0, None, ["Tesla K80 is too old"]),
    (Driver("581.1", (13, 0), (Gpu("NVIDIA GeForce RTX 5090", (12, 0), 1), H100)), {}, 2, None, ["5090 is too new"]),
    (DRIVER, {"libcudnn.so.9": "nvidia-cudnn-cu12", "ptxas": "nvidia-cuda-nvcc-cu12"}, 0, None, [
        r"missing: libcudnn.so.9 \(nvidia-cudnn-cu12\), ptxas \(nvidia-cuda-nvcc-cu12\): make env GPU=1"]),
    (DRIVER, {}, 1, "0", ["TensorFlow uses 1 of 2 GPUs: CUDA_VISIBLE_DEVICES is '0'"]),
    (DRIVER, {}, 0, None, ["TensorFlow uses 0 of 2 GPUs: TF_CPP_MIN_LOG_LEVEL=0"])])
def test_problems_of_gpus_are_a_line_each(driver, missing, num_found, visible, expected):
  found = gpus.problems(driver, missing, num_found, visible)
  assert len(found) == len(expected) and not any("\n" in line for line in found)
  for line, pattern in zip(found, expected, strict=True):
    assert re.search(pattern, line)


def test_libraries_are_looked_for_among_the_packages_and_in_the_system(tmp_path, monkeypatch):
  monkeypatch.setattr(gpus, "_LIBRARIES", {
      "libcudnn.so.9": "nvidia-cudnn-cu12", "ptxas": "nvidia-cuda-nvcc-cu12", "libc.so.6": "-", "sh": "-",
      "libnone.so.12": "nvidia-none", "no-such-program": "nvidia-nvcc"})
  for path in ("cudnn/lib/libcudnn.so.9", "cuda_nvcc/bin/ptxas"):
    (tmp_path / "nvidia" / path).parent.mkdir(parents=True)
    (tmp_path / "nvidia" / path).touch()
  assert gpus.missing_libraries(str(tmp_path)) == {"libnone.so.12": "nvidia-none", "no-such-program": "nvidia-nvcc"}
  assert {*gpus.missing_libraries(str(tmp_path / "elsewhere"))} >= {"libcudnn.so.9"}
