"""The package as `pip install` leaves it: what is in the wheel, commands, types, and modules of the
user's own."""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import jedi
import pytest
from packaging.requirements import Requirement

import bert_tf
import modeling
from bert_common import cli
from bert_tf import commands

# A user's own modules, of names that were at the root of the project once. Importing one is an
# error.
_OWN_MODULES = (
    "common.py",
    "tasks.py",
    "evaluation.py",
    "training/__init__.py",
    "inference/__init__.py",
)
pytestmark = pytest.mark.processes
_SCRIPT = """
from modeling import BertConfig, BertEncoder, Tokenizer
import modeling
print(modeling.__file__, BertEncoder(BertConfig(vocab_size=30)).name, Tokenizer)
"""


@pytest.fixture(scope="module")
def installed(project, tmp_path_factory):
    """A directory like `site-packages`, with the project's wheel alone in it."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}", str(project)],
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run(
        [*pip, "install", "--no-deps", f"--target={folder / 'packages'}", str(wheel)], check=True
    )
    return folder / "packages"


def _run(installed: pathlib.Path, *command: str, cwd: pathlib.Path) -> subprocess.CompletedProcess:
    # The tests' own level of TensorFlow's messages would win over the package's.
    environment = {
        name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"
    }
    environment["PYTHONPATH"] = str(installed)
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_at_the_root(installed):
    assert {path.name for path in installed.iterdir()} == {
        "bert_common",
        "modeling",
        "data_gen",
        "bert_tf",
        f"bert_tf-{bert_tf.__version__}.dist-info",
        "bin",
    }
    packages = ("bert_common", "modeling", "data_gen", "bert_tf")
    assert all((installed / package / "py.typed").exists() for package in packages)


def test_metadata(installed):
    (metadata,) = (one.metadata for one in importlib.metadata.distributions(path=[str(installed)]))
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == (
        "bert-tf",
        bert_tf.__version__,
        "Apache-2.0",
    )
    (license_file,) = installed.glob("*.dist-info/licenses/LICENSE")
    assert "Apache License" in license_file.read_text()


def test_the_library_beside_modules_of_the_user(installed, tmp_path):
    for name in _OWN_MODULES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise RuntimeError('a module of the user')\n")
    (tmp_path / "mine.py").write_text(_SCRIPT)
    done = _run(installed, "mine.py", cwd=tmp_path)
    # TensorFlow 2.21 logs information while its libraries are loaded.
    lines = [line for line in done.stderr.splitlines() if not cli.INFORMATION.match(line)]
    assert (done.returncode, lines) == (0, []) and done.stdout.startswith(str(installed))


def test_every_script_is_a_command(installed, project):
    scripts = {
        path
        for folder in (".", "data_gen", "vocab", "bert_tf/extras")
        for path in (project / folder).glob("*.py")
        if "\n    cli.run(" in path.read_text("utf-8")
    } - {project / "demo.py"}
    assert {path.name for path in (installed / "bin").iterdir()} == {
        f"bert-{path.stem.replace('_', '-')}" for path in scripts
    }


def test_a_checkout_has_the_script_of_every_command(project):
    """Not what stands in its former place."""
    scripts = tomllib.loads((project / "pyproject.toml").read_text())["project"]["scripts"]
    for command in scripts:
        name = f"{command.removeprefix('bert-').replace('-', '_')}.py"
        text = pathlib.Path(commands.path_of_script(name)).read_text("utf-8")
        assert "\n    cli.run(" in text, command


def test_help_shows_commands(installed, tmp_path):
    done = _run(
        installed, str(installed / "bin/bert-create-pretraining-data"), "--help", cwd=tmp_path
    )
    assert done.returncode == 0 and "\n  bert-create-pretraining-data --input_file=" in done.stdout
    assert ".py" not in "".join(
        line for line in done.stdout.split("\n") if line.startswith("  bert-")
    )
    done = _run(installed, str(installed / "bin/bert-compare"), "--help", cwd=tmp_path)
    assert done.returncode == 0 and "\n  bert-compare run_a run_b" in done.stdout


def test_commands_work_in_any_directory(installed, tmp_path):
    (tmp_path / "corpus.txt").write_text(
        "One sentence here.\nAnother follows it.\n\nA second document.\nIt ends.\n" * 9
    )
    done = _run(
        installed,
        str(installed / "bin/bert-build-vocab"),
        "--input_file=corpus.txt",
        "--vocab_size=200",
        "--output_dir=vocabulary",
        "--num_workers=2",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    done = _run(
        installed,
        str(installed / "bin/bert-create-pretraining-data"),
        "--input_file=corpus.txt",
        "--vocab_file=vocabulary/vocab.txt",
        "--output_file=records.tfrecord@2",
        "--num_workers=2",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("records.tfrecord-*"))) == 2


def test_recipes_are_installed(installed, tmp_path):
    done = _run(
        installed,
        str(installed / "bin/bert-run-squad"),
        "--config=recipes/squad2_base.yaml",
        "--train_file=a.json",
        cwd=tmp_path,
    )
    recipe = installed / "bert_tf/recipes/squad2_base.yaml"
    assert done.returncode == 2
    assert re.fullmatch(
        rf"error: {re.escape(str(recipe))}:\d+: --do_predict needs --predict_file\b.*\n",
        done.stderr,
    )


def test_an_editor_completes_the_public_names():
    text = "from modeling import "
    names = {one.name for one in jedi.Script(text).complete(1, len(text))}
    assert set(modeling.__all__) <= names
    text = "from modeling import BertEncoder\nBertEncoder("
    (signature,) = jedi.Script(text).get_signatures(2, len("BertEncoder("))
    assert signature.params[0].name == "config" and "Args:" in signature.docstring()


def test_dependencies_admit_the_versions_that_are_tested(project):
    lines = (project / "requirements.txt").read_text().split("\n")
    pins = {
        name.lower(): version
        for name, version in (
            re.fullmatch(r"([\w-]+)==(\S+)", line).groups()
            for line in lines
            if line and not line.startswith("#")
        )
    }
    metadata = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    extras = metadata["optional-dependencies"]
    core = [Requirement(one) for one in metadata["dependencies"]]
    assert {one.name.lower() for one in core} <= set(pins)
    declared = core + [Requirement(text) for name in set(extras) - {"all"} for text in extras[name]]
    assert set(pins) - {"markdown"} <= {one.name.lower() for one in declared}
    assert not [
        str(one)
        for one in declared
        if pins.get(one.name.lower(), "2.20.0") not in one.specifier and one.name.lower() in pins
    ]


def test_only_scripts_below_the_root_find_the_project_by_themselves(project):
    """So that they run from a checkout that is not installed. The library leaves `sys.path` as it
    is."""
    packages = ("modeling", "data_gen", "bert_tf", "vocab", "experiments", "benchmarks")
    found = {
        str(path.relative_to(project))
        for package in packages
        for path in (project / package).rglob("*.py")
        if "sys.path" in path.read_text("utf-8")
    }
    found |= {path.name for path in project.glob("*.py") if "sys.path" in path.read_text("utf-8")}
    assert found == {
        "vocab/build_vocab.py",
        *(
            f"data_gen/{name}.py"
            for name in (
                "convert_triviaqa",
                "create_pretraining_data",
                "extract_docstrings",
                "prepare_corpus",
                "read_folder",
            )
        ),
    }


@pytest.mark.parametrize("python", ["3.11", "3.13"])
@pytest.mark.parametrize(
    "platform", ["aarch64-apple-darwin", "x86_64-pc-windows-msvc", "aarch64-unknown-linux-gnu"]
)
def test_the_core_resolves_to_wheels_elsewhere(project, platform, python):
    if (uv := shutil.which("uv")) is None:
        pytest.skip("uv is not installed")
    done = subprocess.run(
        [
            uv,
            "pip",
            "compile",
            "--quiet",
            "--only-binary=:all:",
            f"--python-platform={platform}",
            f"--python-version={python}",
            "pyproject.toml",
        ],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "Failed to fetch" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert "tensorflow==2." in done.stdout


def test_the_lock_has_digests_of_every_exact_version(project):
    locked = {}
    for entry in re.split(r"\n(?=\w)", (project / "requirements.lock").read_text()):
        if entry.startswith("#"):
            continue
        requirement = Requirement(entry.split("\\\n")[0])
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        name = requirement.name.lower().replace("_", "-")
        assert name not in locked, f"{name}: other versions on other Pythons"
        locked[name] = str(requirement.specifier)
    groups = tomllib.loads((project / "pyproject.toml").read_text())["dependency-groups"]
    exact = list(groups["dev"])
    for file in ("requirements.txt", "requirements-gpu.txt"):
        for line in (project / file).read_text().splitlines():
            if not line.startswith("#"):
                exact.append(line)
    for text in exact:
        requirement = Requirement(text)
        name = requirement.name.lower().replace("_", "-")
        assert locked[name] == str(requirement.specifier), name
