"""Options of TensorFlow and XLA that are set before they start, for made-up machines; the real XLA
takes them."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from bert_common import gpus
from bert_common.gpus import Driver

pytestmark = pytest.mark.processes
H100 = ("NVIDIA H100 80GB HBM3", 80 << 30)
DRIVER = Driver("580.159.04", (H100, H100))
TRITON = "--xla_gpu_enable_triton_gemm=false"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            "echo '550.54.15, 40960, NVIDIA A100-SXM4-40GB'; echo '550.54.15, 15360, Tesla T4'",
            Driver("550.54.15", (("NVIDIA A100-SXM4-40GB", 40 << 30), ("Tesla T4", 15 << 30))),
        ),
        ("echo No devices were found", Driver()),
        ("exit 9", Driver()),
    ],
)
def test_the_driver_is_read_by_nvidia_smi(tmp_path, monkeypatch, script, expected):
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(gpus, "_DRIVER_FILE", __file__)
    assert gpus.read_driver.__wrapped__() == expected
    # No kernel module.
    monkeypatch.setattr(gpus, "_DRIVER_FILE", "/nowhere")
    assert gpus.read_driver.__wrapped__() == (expected if expected.gpus else None)


@pytest.mark.parametrize(
    ("driver", "given", "expected"),
    [
        (DRIVER, None, TRITON),
        (DRIVER, "", TRITON),
        (DRIVER, "--xla_dump_to=x", f"--xla_dump_to=x {TRITON}"),
        # The user's own choice stays.
        (DRIVER, "--xla_gpu_enable_triton_gemm", "--xla_gpu_enable_triton_gemm"),
        # Another option whose name begins alike.
        (
            DRIVER,
            "--xla_gpu_enable_triton_gemm_any=true",
            f"--xla_gpu_enable_triton_gemm_any=true {TRITON}",
        ),
        # A file of options.
        (DRIVER, "/home/me/xla.flags", "/home/me/xla.flags"),
        (None, None, None),
        (None, "--xla_dump_to=x", "--xla_dump_to=x"),
    ],
)
def test_options_of_xla(driver, given, expected):
    environment = {} if given is None else {"XLA_FLAGS": given}
    assert gpus.prepare(driver, environment) is None
    assert environment.get("XLA_FLAGS") == expected and "TF_XLA_FLAGS" not in environment


def test_xla_knows_the_options(tmp_path):
    """It ends the process where it does not."""
    environment = dict(os.environ)
    environment.pop("XLA_FLAGS", None)
    assert gpus.prepare(DRIVER, environment, str(tmp_path / "cache"), deterministic=True) is None
    directory = (
        tmp_path / "cache" / gpus.cache_key(DRIVER, f"{TRITON} --xla_gpu_deterministic_ops=true")
    )
    assert environment["XLA_FLAGS"].startswith(f"{TRITON} --xla_gpu_deterministic_ops=true")
    assert environment["TF_XLA_FLAGS"].startswith(
        f"--tf_xla_persistent_cache_directory={directory} "
    )
    # Programs for CPUs are not kept.
    assert environment["TF_XLA_FLAGS"].endswith("types=GPU")
    environment["TF_XLA_FLAGS"] = environment["TF_XLA_FLAGS"].replace("types=GPU", "types=CPU")
    program = "import tensorflow as tf; print(int(tf.function(lambda: tf.constant(1) + 1, jit_compile=True)()))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "2\n", done.stderr[-500:]
    assert [name[:17] for name in sorted(os.listdir(directory))] == ["tuning", "xla_compile_cache"]


def test_a_cache_of_the_users_own_stays(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    gpus.prepare(DRIVER, environment, None)
    assert (
        f"--tf_xla_persistent_cache_directory={tmp_path}/bert-tf/compiled/"
        in environment["TF_XLA_FLAGS"]
    )
    environment = {"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=/mine"}
    gpus.prepare(DRIVER, environment, str(tmp_path / "cache"))
    assert environment["TF_XLA_FLAGS"] == "--tf_xla_persistent_cache_directory=/mine"


def test_a_program_never_meets_another_version_device_driver_or_option(monkeypatch):
    def key(driver: Driver = DRIVER, flags: str = TRITON, version: str = "2.20.0") -> str:
        monkeypatch.setattr(importlib.metadata, "version", lambda package: version)
        return gpus.cache_key(driver, flags)

    keys = {
        key(),
        key(version="2.21.0"),
        key(flags=""),
        key(Driver("550.54.15", DRIVER.gpus)),
        key(Driver("580.159.04", (("Tesla T4", 1),))),
        key(Driver()),
    }
    assert len(keys) == 6 and key().startswith(
        "tensorflow-2.20.0_NVIDIA-H100-80GB-HBM3_580.159.04_"
    )
    # The order of options changes nothing.
    assert key(flags=f"{TRITON} --a") == key(flags=f"--a {TRITON}")


def test_a_cache_that_can_not_be_used_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "with space").mkdir()
    for path, reason in (
        ("file", "Not a directory"),
        ("with space", "a space"),
        ("/proc/x", "No such file"),
    ):
        environment = {}
        warning = gpus.prepare(DRIVER, environment, str(tmp_path / path))
        assert (
            f"--compilation_cache_dir={tmp_path / path}" in warning
            and reason in warning
            and "\n" not in warning
        )
        assert environment == {"XLA_FLAGS": TRITON}


def test_the_oldest_programs_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(gpus, "_MAX_CACHE_BYTES", 70)
    folder = tmp_path / "tensorflow-2.20.0_T4"
    folder.mkdir()
    for age, size in enumerate((30, 30, 0, 30, 30)):
        path = folder / f"xla_compile_cache__{age}.pb"
        path.write_bytes(b"x" * size)
        os.utime(path, (1e9 - age, 1e9 - age))
    others = [folder / "mine.txt", tmp_path / "xla_compile_cache__9.pb"]
    for path in others:
        path.write_bytes(b"x" * 100)
    assert gpus.prepare(DRIVER, {}, str(tmp_path)) is None
    assert sorted(os.listdir(folder)) == [
        "mine.txt",
        "xla_compile_cache__0.pb",
        "xla_compile_cache__1.pb",
    ]
    assert all(path.exists() for path in others)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "OOM when allocating tensor with shape[4096,30522] and type float on /job:localhost by allocator GPU_0_bfc",
            True,
        ),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836480 bytes.", True),
        ("Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory", True),
        ("failed to allocate memory", True),
        ("/out/ckpt-1.data; No space left on device", False),
        ("ROOM is no dog's ZOOM", False),
    ],
)
def test_what_is_out_of_memory(message, expected):
    assert gpus.is_out_of_memory(message) is expected


def test_a_cache_that_fills_up_meanwhile_is_one_line(tmp_path):
    """A real process, in which no file grows beyond 10 kB."""
    program = (
        "import resource, tensorflow as tf\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))\n"
        "tf.function(lambda x: tf.nn.gelu(x @ x), jit_compile=True)(tf.ones([64, 64]))"
    )
    environment = {**os.environ, "TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    message = done.stderr.strip().splitlines()[-1]
    problem = gpus.cache_problem(message)
    assert (
        problem.startswith(f"a compiled program can't be kept in {tmp_path} (")
        and "\n" not in problem
    )
    assert gpus.cache_problem("OOM when allocating tensor") is None


def test_a_gpu_that_is_not_used_is_a_warning(monkeypatch):
    driver = Driver("470.82.01", (("Tesla T4", 1),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    warning = gpus.unused_gpus(driver, 0)
    assert warning.startswith("warning: Tesla T4 is not used, the CPU is") and "\n" not in warning
    assert (
        gpus.unused_gpus(driver, 1)
        is gpus.unused_gpus(None, 0)
        is gpus.unused_gpus(Driver(), 0)
        is None
    )
    # Hidden by the user.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert gpus.unused_gpus(driver, 0) is None


def test_the_assembler_that_xla_finds_first(tmp_path, monkeypatch):
    """One that fails is passed over, as XLA does."""
    monkeypatch.setattr(gpus, "_CUDA_DIRECTORIES", ())
    for name, script in (
        ("broken", "exit 1"),
        ("good", "echo 'Cuda compilation tools, release 12.9, V12.9.86'"),
        ("later", "echo V11.1.1"),
    ):
        path = tmp_path / name / "bin/ptxas"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    paths = [str(tmp_path / name / "bin") for name in ("broken", "good", "later")]
    environment = {"PATH": os.pathsep.join(["/nowhere", *paths])}
    assert gpus.describe_ptxas(environment) == f"ptxas 12.9.86, {paths[1]}/ptxas"
    environment["XLA_FLAGS"] = f"--other=1 --xla_gpu_cuda_data_dir={tmp_path}/later"
    assert gpus.describe_ptxas(environment) == f"ptxas 11.1.1, {paths[2]}/ptxas"
    assert gpus.describe_ptxas({}).startswith("no ptxas was found")
