"""Every script answers `--help` and a wrong flag at once: in a process that can't import TensorFlow or Keras."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_PACKAGES = ("bert_tf", "data_gen", "modeling", "vocab", "benchmarks", "experiments")
# Scripts with our options; bert_tf/evaluation/conlleval.py takes those of the program that it stands in for.
SCRIPTS = sorted(
    str(path.relative_to(_PROJECT)) for folder in (".", *_PACKAGES) for path in (_PROJECT / folder).glob("*.py")
    if re.search(r'\nif __name__ == "__main__":\n  (cli\.run|main)\(', path.read_text("utf-8")))
# Python runs it at the start of a process.
_SITECUSTOMIZE = '''
import sys

class Block:
  def find_spec(self, name, path=None, target=None):
    if name in ("tensorflow", "keras", "tf_keras", "torch"):
      raise RuntimeError(f"{name} must not be imported here")

sys.meta_path.insert(0, Block())
'''


@pytest.fixture(scope="module")
def run(tmp_path_factory):
  """Runs Python in a process without TensorFlow and Keras, in an empty directory, and checks that it stays empty."""
  folder, block = tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("block")
  (block / "sitecustomize.py").write_text(_SITECUSTOMIZE)
  environment = os.environ | {"PYTHONPATH": f"{block}{os.pathsep}{_PROJECT}", "PYTHONUTF8": "1"}

  def call(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment,
                          check=False)
  yield call
  assert not list(folder.iterdir())


def test_all_scripts_are_found():
  assert {"run_pretraining.py", "run_classifier.py", "run_squad.py", "demo.py", "data_gen/prepare_corpus.py",
          "vocab/build_vocab.py", "benchmarks/pretraining_step.py"} <= set(SCRIPTS)


@pytest.mark.parametrize("module", ["tensorflow", "keras"])
def test_the_processes_of_this_file_have_neither(run, module):
  done = run("-c", f"import {module}")
  assert done.returncode == 1 and done.stderr.endswith(f"RuntimeError: {module} must not be imported here\n")


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(run, script):
  done = run(str(_PROJECT / script), "--help")
  assert done.returncode == 0 and not done.stderr, done.stderr
  title = re.search(r'^r?"""(.*)$', (_PROJECT / script).read_text("utf-8"), re.MULTILINE)[1]
  assert done.stdout.startswith(title)
  # Commands to copy, and options with their defaults.
  assert re.search(rf"^  +python {re.escape(script)}", done.stdout, re.MULTILINE)
  assert re.search(r"^  --\S+\n      [A-Z]", done.stdout, re.MULTILINE)
  assert "default: " in done.stdout or "required" in done.stdout
  assert max(map(len, done.stdout.split("\n"))) <= 120


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_wrong_flag(run, script):
  done = run(str(_PROJECT / script), "--no_such_flag=1")
  assert (done.returncode, done.stdout) == (2, "")
  assert re.fullmatch(r"error: Unknown command line flag 'no_such_flag'.*\(--help lists the flags\)\n", done.stderr)


def test_modules_that_scripts_need_for_their_options(run):
  """All of bert_tf/common/ and data_gen/, all modules of options, the shape of a model and its presets."""
  modules = {"modeling.config", "modeling.presets"}
  for package in _PACKAGES:
    for path in (_PROJECT / package).rglob("*.py"):
      parts = path.relative_to(_PROJECT).with_suffix("").parts
      if package == "data_gen" or parts[:2] == ("bert_tf", "common") or path.stem.endswith("options"):
        modules.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
  assert len(modules) > 30
  done = run("-c", """
import importlib, sys
for name in sys.argv[1:]:
  try:
    importlib.import_module(name)
  except Exception as error:
    print(f"{name}: {error}")
""", *sorted(modules))
  assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
