"""Every script answers `--help` and a wrong flag at once: in a process that can't import TensorFlow
or Keras."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_PACKAGES = ("bert_common", "bert_tf", "data_gen", "modeling", "vocab", "benchmarks", "experiments")
# Scripts with our options; bert_tf/evaluation/conlleval.py takes those of the program that it
# stands in for.
SCRIPTS = sorted(
    str(path.relative_to(_PROJECT))
    for folder in (".", *_PACKAGES)
    for path in (_PROJECT / folder).glob("*.py")
    if re.search(
        r'\nif __name__ == "__main__":\n    (cli\.run\(|main\([^s])', path.read_text("utf-8")
    )
)
pytestmark = pytest.mark.processes
# Python runs it at the start of a process.
_SITECUSTOMIZE = """
import sys

class Block:
  def find_spec(self, name, path=None, target=None):
    if name in ("tensorflow", "keras", "tf_keras", "torch"):
      raise RuntimeError(f"{name} must not be imported here")

sys.meta_path.insert(0, Block())
"""
# Runs commands in processes forked from one that has imported what all of them import; prints how
# each has ended.
_FORKS = """
import json, os, runpy, sys, tempfile
import absl.app, numpy, bert_common.cli

ended = []
for command in json.loads(sys.argv[1]):
  streams = [tempfile.TemporaryFile("w+") for _ in range(2)]
  child = os.fork()
  if not child:
    for number, stream in enumerate(streams, 1):
      os.dup2(stream.fileno(), number)
    sys.argv, sys.path[0] = command, os.path.dirname(command[0])
    runpy.run_path(command[0], run_name="__main__")
    sys.exit()
  status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
  for stream in streams:
    stream.seek(0)
  ended.append([status, *(stream.read() for stream in streams)])
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs Python in a process without TensorFlow and Keras, in an empty directory, and checks that
    it stays empty."""
    folder, block = tmp_path_factory.mktemp("elsewhere"), tmp_path_factory.mktemp("block")
    (block / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    environment = os.environ | {"PYTHONPATH": f"{block}{os.pathsep}{_PROJECT}", "PYTHONUTF8": "1"}

    def call(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            check=False,
        )

    yield call
    assert not list(folder.iterdir())


# Commands with a mistake → what the line says of it.
MISTAKES = {
    "run_pretraining.py --do_train --output_dir=out --bert_config_file={here} --phases=8:1:nowhere*": "--phases: no file matches 'nowhere*'",
    "run_classifier.py --do_train --output_dir=out --task_name=mrcp": "--task_name=mrcp is unknown: did you mean mrpc?",
    "run_classifier.py --do_train --output_dir=out --task_name=rte --learning_rate=1e-3,fast": "--learning_rate=1e-3,fast: a number is expected, or several separated by commas",
    "run_classifier.py --do_train --output_dir=out --task_name=custom --train_file={here} --file_format=csv --text_a_column=text": "no column 'text' (--text_a_column)",
    "run_squad.py --do_predict": "--output_dir must be given",
    "run_squad.py --config=recipes/squad1_base.yaml --train_file=nowhere --predict_file={here}": "nowhere",
    "predict.py --init_checkpoint=nowhere": "nowhere",
    "predict.py --init_checkpoint=x --task=clasifier": "--task=clasifier is unknown: did you mean classification? Use one of",
    "predict.py --init_checkpoint={here} --input_file=nowhere": "--input_file: nowhere does not exist",
    "export_model.py --init_checkpoint={here}": "--export_dir must be given",
    "export_model.py --init_checkpoint={here} --export_dir={here} --task=features": "exists",
    "make_glue_submission.py --input_dir=. --output_file=a.zip": "no CoLA.tsv",
    "make_glue_submission.py --input_dir=. more --output_file=a.zip": "unexpected argument 'more'",
    "plot.py nowhere": "nowhere",
}


@pytest.fixture(scope="module")
def ended(run) -> dict[str, tuple[int, str, str]]:
    commands = [
        *(f"{script} {flag}" for script in SCRIPTS for flag in ("--help", "--no_such_flag=1")),
        *MISTAKES,
    ]
    words = [command.format(here=__file__).split() for command in commands]
    done = run(
        "-c",
        _FORKS,
        json.dumps([[str(_PROJECT / script), *arguments] for script, *arguments in words]),
    )
    assert done.returncode == 0, done.stderr
    return {
        command: tuple(one) for command, one in zip(commands, json.loads(done.stdout), strict=True)
    }


def test_all_scripts_are_found():
    assert {
        "run_pretraining.py",
        "run_classifier.py",
        "run_squad.py",
        "demo.py",
        "data_gen/prepare_corpus.py",
        "vocab/build_vocab.py",
        "benchmarks/pretraining_step.py",
    } <= set(SCRIPTS)


def test_the_processes_of_this_file_have_no_tensorflow(run):
    done = run("-c", "import tensorflow")
    assert done.returncode == 1 and done.stderr.endswith(
        "RuntimeError: tensorflow must not be imported here\n"
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(ended, script):
    status, out, err = ended[f"{script} --help"]
    assert status == 0 and not err, err
    title = re.search(r'^r?"""(.*)$', (_PROJECT / script).read_text("utf-8"), re.MULTILINE)[1]
    assert out.startswith(title)
    # Commands to copy, and options with their defaults.
    assert re.search(rf"^  +python {re.escape(script)}", out, re.MULTILINE)
    assert re.search(r"^  --\S+\n      [A-Z]", out, re.MULTILINE)
    assert "default: " in out or "required" in out
    assert max(map(len, out.split("\n"))) <= 120


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_wrong_flag(ended, script):
    status, out, err = ended[f"{script} --no_such_flag=1"]
    assert (status, out) == (2, "")
    assert re.fullmatch(
        r"error: Unknown command line flag 'no_such_flag'.*\(--help=all lists the flags\)\n", err
    )


def test_modules_that_scripts_need_for_their_options(run):
    """All of bert_common/ and data_gen/, all modules of options, the shape of a model and its
    presets."""
    modules = {"modeling.config"}
    for package in _PACKAGES:
        for path in (_PROJECT / package).rglob("*.py"):
            parts = path.relative_to(_PROJECT).with_suffix("").parts
            # Apache Beam has an environment of its own.
            if parts[:2] == ("data_gen", "beam"):
                continue
            if package == "data_gen" or package == "bert_common" or path.stem.endswith("options"):
                modules.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert len(modules) > 30
    done = run(
        "-c",
        """
import importlib, sys
for name in sys.argv[1:]:
  try:
    importlib.import_module(name)
  except Exception as error:
    print(f"{name}: {error}")
""",
        *sorted(modules),
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_at_once(ended, command):
    status, out, err = ended[command]
    assert (status, out) == (2, "") and MISTAKES[command] in err, err
    assert err.startswith("error: ") and err.count("\n") == 1, err


# Names of google-research/bert → the name here.
FORMER_NAMES = {
    ("create_pretraining_data.py", "--input_file=x"): "data_gen/create_pretraining_data.py",
    ("run_classifier_with_tfhub.py",): "run_classifier.py",
    ("-c", "import tokenization"): "from modeling import Tokenizer",
}


@pytest.mark.parametrize("command", FORMER_NAMES, ids=" ".join)
def test_former_names_lead_on(run, command):
    words = [str(_PROJECT / word) if word.endswith(".py") else word for word in command]
    done = run(*words)
    assert done.returncode in (1, 2) and not done.stdout
    last_line = done.stderr.splitlines()[-1]
    assert FORMER_NAMES[command] in last_line
