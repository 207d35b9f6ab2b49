"""A script's start and end, in real processes: flags, `--help`, wrong flags, exit statuses."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

_SCRIPT = '''"""A script for the test.

  python script.py --name=x
"""
import dataclasses, os, signal, sys
sys.path.insert(0, {project!r})
from bert_tf.common import cli
from bert_tf.common.errors import UserError
from bert_tf.common.options import FILE, FILES, Options, option

@dataclasses.dataclass(frozen=True, kw_only=True)
class Shared(Options):
  """Shared options."""
  batch_size: int = option(8, "Examples of a batch, where a reader's well-known hyphenated-words-must-stay-whole is.",
                           minimum=1, aliases=("train_batch_size",))
  verbose: bool = option(False, "Say more.", aliases=("chatty",))

@dataclasses.dataclass(frozen=True, kw_only=True)
class MyOptions(Shared):
  """Options of the script."""
  name: str = option(None, "Whose.", required=True)
  texts: tuple[str, ...] = ()
  layers: tuple[int, ...] = option((-1,), "Layers.")
  rate: float = option(0.5, "Rate.", sweep=True)
  epochs: float | None = option(None, "Epochs.", sweep=True)
  mode: str | None = option(None, "How.", choices=("a", "b"))
  size: str | None = option(None, "Size.", choices=tuple(f"size_{{number:03}}" for number in range(12)))
  lower: bool | None = option(None, "Casing.")
  source: str | None = option(None, "Source.", path=FILE)
  corpus: str | None = option(None, "Corpus.", path=FILES)

def main(options):
  if options.name == "user":
    raise UserError("two\\nlines")
  if options.name == "print":
    print("ü →")
    return
  if options.name == "terminal":
    raise UserError("\\x1b[31mred\\x85")
  if options.name == "bytes":
    "dir/\\udcff".encode()
  if options.name == "bug":
    raise ValueError("a bug")
  if options.name == "interrupt":
    os.kill(os.getpid(), signal.SIGINT)
  if options.name == "pipe":
    raise BrokenPipeError
  if options.name == "status":
    return 7
  import json
  print(json.dumps([options.values(), sorted(options.given), options.texts, options.script]))

if __name__ == "__main__":
  cli.run(MyOptions, {target}, positional={positional!r})
'''


@pytest.fixture(scope="module")
def script(project, tmp_path_factory):
  directory = tmp_path_factory.mktemp("scripts")
  (directory / "script.py").write_text(_SCRIPT.format(project=str(project), target="main", positional=None))
  (directory / "words.py").write_text(_SCRIPT.format(project=str(project), target="'script:main'", positional="texts"))

  def call(*arguments: str, name: str = "script.py", encoding: str = "utf-8") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(directory / name), *arguments], capture_output=True, encoding=encoding,
                          cwd=directory, env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
                          check=False)
  return call


def test_values_of_the_command_line(script):
  done = script("--name=ü", "--layers=-2,3", "--rate=1,2", "--chatty", "--nolower", "--train_batch_size=4",
                "--mode", "b")
  assert done.returncode == 0, done.stderr
  values, given, words, name = json.loads(done.stdout)
  assert values == {"batch_size": 4, "verbose": True, "name": "ü", "layers": [-2, 3], "rate": [1.0, 2.0],
                    "epochs": None, "mode": "b", "size": None, "lower": False, "source": None, "corpus": None}
  # Another name of a flag counts as the flag.
  assert given == ["batch_size", "layers", "lower", "mode", "name", "rate", "verbose"]
  assert words == [] and name == "script.py"


def test_defaults_flag_files_and_words(script, tmp_path):
  (tmp_path / "flags").write_text("--name=x\n# a comment\n--layers=-4,-3\n--lower\n")
  done = script(f"--flagfile={tmp_path}/flags", "one", "--mode=a", "--", "--two", name="words.py")
  assert done.returncode == 0, done.stderr
  values, given, words, name = json.loads(done.stdout)
  assert values == {"batch_size": 8, "verbose": False, "name": "x", "layers": [-4, -3], "rate": 0.5, "epochs": None,
                    "mode": "a", "size": None, "lower": True, "source": None, "corpus": None}
  assert given == ["layers", "lower", "mode", "name"] and words == ["one", "--two"] and name == "words.py"


@pytest.mark.parametrize("arguments, message", [
    ([], "--name must be given (--help explains)"),
    (["--name="], "--name must be given (--help explains)"),
    (["--name=x", "--nam=y"], "Unknown command line flag 'nam'. Did you mean: name ? (--help lists the flags)"),
    (["--name=x", "--batch_size=many"], "flag --batch_size=many: a whole number is expected (--help lists the "
     "flags)"),
    (["--name=x", "--batch_size=0"], "--batch_size is 0, it must be at least 1"),
    (["--name=x", "--train_batch_size=0"], "--batch_size is 0, it must be at least 1"),
    (["--name=x", "--mode=c"], "--mode=c is unknown: use one of a, b"),
    (["--name=x", "--lower=perhaps"], "flag --lower=perhaps: ('Non-boolean argument to boolean flag', 'perhaps') "
     "(--help lists the flags)"),
    (["--name=x", "--layers=1,b"], "--layers=1,b: a whole number is expected, or several separated by commas"),
    (["--name=x", "--rate=nan"], "--rate is nan, a finite number is expected"),
    (["--name", "x", "= y"], "unexpected argument '= y': values are given as --flag=value; quote patterns with *"),
    (["--flagfile=/nowhere"], "ERROR:: Unable to open flagfile: [Errno 2] No such file or directory: '/nowhere' "
     "(--help lists the flags)"),
    (["--name=x", "--batch_size=" + "9" * 5000], f"flag {'--batch_size=' + '9' * 47}…{'9' * 59}: a whole number is "
     "expected (--help lists the flags)"),
    (["--name=x", "--source=" + "x" * 256], f"--source={'x' * 100}…: a name of at most 255 bytes, and a path of at "
     "most 4095, is expected"),
    (["--name=user", "--source=nowhere"], "--source: nowhere does not exist"),
    (["--name=user", "--corpus=script.py,no*"], "--corpus: no file matches 'no*'"),
    (["--name=user", "--source=gs://x/y", "--corpus=gs://x/y*"], "two lines"),
    (["--name=user", "--source=-", "--corpus=*.py"], "two lines"),
    (["--name=x", "--layers=" + "9" * 5000], f"--layers={'9' * 100}…: a whole number is expected, or several "
     "separated by commas"),
    (["--name=x\udcff"], r"--name=x\udcff is not UTF-8: rename the file, or set the terminal to UTF-8"),
    (["--name=user"], "two lines"),
    (["--name=bytes"], r"dir/\udcff: a name that is not UTF-8: rename the file or directory"),
    (["--name=terminal"], r"\x1b[31mred\x85")])
def test_what_a_user_can_fix_is_one_line_and_status_2(script, arguments, message):
  done = script(*arguments)
  assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {message}\n")


def test_a_flag_file_that_is_no_text(script, tmp_path):
  (tmp_path / "flags").write_bytes(b"--name=\xff\n")
  done = script(f"--flagfile={tmp_path}/flags")
  assert done.returncode == 2 and done.stderr.startswith("error: 'utf-8' codec can't decode byte 0xff")
  assert done.stderr.count("\n") == 1


def test_what_the_terminal_has_no_characters_for(script):
  done = script("--name=print", encoding="latin-1")
  assert (done.returncode, done.stdout, done.stderr) == (0, "ü \\u2192\n", "")


@pytest.mark.parametrize("name, status, error", [
    ("status", 7, ""), ("bug", 1, "ValueError: a bug\n"), ("interrupt", 130, "interrupted\n"), ("pipe", 0, "")])
def test_other_ends(script, name, status, error):
  done = script(f"--name={name}")
  assert done.returncode == status and done.stdout == ""
  assert done.stderr.endswith(error) and (error or not done.stderr)
  assert ("Traceback" in done.stderr) == (name == "bug")


def test_tensorflow_starts_without_what_keras_can_do_without(script):
  directory = pathlib.Path(script("--name=status").args[1]).parent
  (directory / "work.py").write_text("""import sys
import tensorflow
EARLY = [name for name in ("cv2", "matplotlib", "pandas", "sklearn") if sys.modules.get(name)]

def main(options):
  import matplotlib.figure
  import sklearn.metrics
  print(EARLY, sklearn.metrics.f1_score([0, 1], [0, 1]))
""")
  text = (directory / "script.py").read_text()
  (directory / "work_script.py").write_text(text.replace("MyOptions, main,", "MyOptions, 'work:main',"))
  done = script("--name=x", name="work_script.py")
  assert (done.returncode, done.stdout) == (0, "[] 1.0\n"), done.stderr


def test_help_whose_reader_has_gone(script):
  reader, writer = os.pipe()
  os.close(reader)
  command = [*script("--name=status").args[:2], "--help"]
  done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
  os.close(writer)
  assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("flag", ["--help", "-h", "--helpshort"])
def test_help(script, flag):
  done = script("--name=x", flag, "--wrong")
  assert done.returncode == 0 and not done.stderr
  assert done.stdout == '''A script for the test.

  python script.py --name=x

Options of the script.
  --name
      Whose. (required)
  --layers
      Layers. (default: -1)
  --rate
      Rate. (default: 0.5)
  --epochs
      Epochs.
  --mode=<a|b>
      How.
  --size
      Size. (one of size_000, size_001, size_002, size_003, size_004, size_005, size_006, size_007,
      size_008, size_009, size_010, size_011)
  --[no]lower
      Casing.
  --source
      Source.
  --corpus
      Corpus.

Shared options.
  --batch_size
      Examples of a batch, where a reader's well-known hyphenated-words-must-stay-whole is.
      (default: 8; at least 1; also --train_batch_size)
  --[no]verbose
      Say more. (default: false; also --chatty)

--helpfull lists the libraries' flags; --flagfile=FILE reads flags from a file.
'''
