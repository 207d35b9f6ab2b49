import ast
import os
import re
import subprocess
import sys
import tomllib

import pytest
from packaging.specifiers import SpecifierSet

import bert_common
from bert_common import WrongEnvironment

_SCRIPTS = ("run_squad.py", "data_gen/prepare_corpus.py", "bert_tf/extras/search.py")
_AS_ANOTHER = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
sys.version_info = ({version}, 0, "final", 0)
sys.argv[1:] = ["--help"]
runpy.run_path({script!r}, run_name="__main__")
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "version"), list(zip(_SCRIPTS, ("3, 9", "3, 14", "3, 10"), strict=True))
)
def test_another_python(project, script, version):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _AS_ANOTHER.format(version=version, script=str(project / script)),
            str(project),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(
        rf"error: \S+ is Python {version.replace(', ', '.')}: 3.11, 3.12 or 3.13 is needed, .*\n",
        done.stderr,
    )


@pytest.mark.processes
@pytest.mark.parametrize("script", _SCRIPTS[:2])
def test_started_without_the_environment(project, script):
    """Without site-packages, as the system's own Python is."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-S", str(project / script), "--help"],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: \S+ has no package absl-py: `make env` makes .*\n", done.stderr)


def test_old_pythons_can_read_what_comes_before_the_check(project):
    """Whatever is in today's syntax is read after it."""
    for path in (
        *project.glob("*.py"),
        *(
            project / folder
            for folder in (
                "bert_common/__init__.py",
                "bert_tf/__init__.py",
                "data_gen/prepare_corpus.py",
                "bert_tf/extras/__init__.py",
            )
        ),
    ):
        ast.parse(path.read_text("utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize(
    ("package", "found", "message"),
    [
        (
            "tensorflow",
            "2.19.1",
            "tensorflow 2.19.1 is installed: 2.20 or newer, below 2.22, is needed: `make env`",
        ),
        ("tensorflow", "2.22.0rc1", "tensorflow 2.22.0rc1 is installed"),
        ("keras", "2.15.0", "keras 2.15.0 is installed"),
        ("numpy", "1.26.4", "numpy 1.26.4 is installed: 2 or newer, below 3,"),
        ("tensorflow", None, ""),
        ("keras", "3.15.1", ""),
    ],
)
def test_versions(monkeypatch, package, found, message):
    versions = {"tensorflow": "2.20.0", "keras": "3.12.0", "numpy": "2.4.6", package: found}
    monkeypatch.setattr(bert_common, "version", versions.get)
    if not message:
        bert_common.check_tensorflow()
        return
    with pytest.raises(WrongEnvironment, match=re.escape(message)):
        bert_common.check_tensorflow()


def test_another_backend(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(
        WrongEnvironment, match="^KERAS_BACKEND=jax: the scripts compute with TensorFlow: unset it"
    ):
        bert_common.check_tensorflow()


def test_versions_are_those_of_the_package(project):
    metadata = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]

    def bounds(first: tuple[int, ...], end: tuple[int, ...]) -> SpecifierSet:
        return SpecifierSet(f">={'.'.join(map(str, first))},<{'.'.join(map(str, end))}")

    assert SpecifierSet(metadata["requires-python"]) == bounds(*bert_common.PYTHON)
    for package, versions in bert_common.PACKAGES.items():
        assert f"{package}{str(bounds(*versions))}" in {
            re.sub(r"(>=[^,]+),(<.+)", r"\2,\1", one) for one in metadata["dependencies"]
        }
