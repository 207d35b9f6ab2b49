"""A script's start and end, in real processes: flags, `--help`, wrong flags, exit statuses."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

_SCRIPT = '''"""A script for the test.

  python script.py --name=x

An indented line is as it was: Python 3.13 takes away what all lines have.
"""
import dataclasses, os, signal, sys
sys.path.insert(0, {project!r})
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import FILE, FILES, Options, option

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
  if options.name == "outside":
    open("nowhere")
  if options.name == "bug":
    raise TypeError("a bug")
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
    (directory / "script.py").write_text(
        _SCRIPT.format(project=str(project), target="main", positional=None)
    )
    (directory / "words.py").write_text(
        _SCRIPT.format(project=str(project), target="'script:main'", positional="texts")
    )

    def call(
        *arguments: str, name: str = "script.py", encoding: str = "utf-8"
    ) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, str(directory / name), *arguments],
            capture_output=True,
            encoding=encoding,
            cwd=directory,
            env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
            check=False,
        )

    return call


def test_values_of_the_command_line(script):
    done = script(
        "--name=ü",
        "--layers=-2,3",
        "--rate=1,2",
        "--chatty",
        "--nolower",
        "--train_batch_size=4",
        "--mode",
        "b",
    )
    assert done.returncode == 0, done.stderr
    values, given, words, name = json.loads(done.stdout)
    assert values == {
        "batch_size": 4,
        "verbose": True,
        "name": "ü",
        "layers": [-2, 3],
        "rate": [1.0, 2.0],
        "epochs": None,
        "mode": "b",
        "size": None,
        "lower": False,
        "source": None,
        "corpus": None,
    }
    # Another name of a flag counts as the flag.
    assert given == ["batch_size", "layers", "lower", "mode", "name", "rate", "verbose"]
    assert words == [] and name == "script.py"


def test_defaults_flag_files_and_words(script, tmp_path):
    (tmp_path / "flags").write_text("--name=x\n# a comment\n--layers=-4,-3\n--lower\n")
    done = script(f"--flagfile={tmp_path}/flags", "one", "--mode=a", "--", "--two", name="words.py")
    assert done.returncode == 0, done.stderr
    values, given, words, name = json.loads(done.stdout)
    assert values == {
        "batch_size": 8,
        "verbose": False,
        "name": "x",
        "layers": [-4, -3],
        "rate": 0.5,
        "epochs": None,
        "mode": "a",
        "size": None,
        "lower": True,
        "source": None,
        "corpus": None,
    }
    assert (
        given == ["layers", "lower", "mode", "name"]
        and words == ["one", "--two"]
        and name == "words.py"
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "--name must be given (--help explains)"),
        (
            ["--name=x", "--nam=y"],
            "Unknown command line flag 'nam'. Did you mean: name ? (--help=all lists the flags)",
        ),
        (
            ["--name=x", "--batch_size=many"],
            "flag --batch_size=many: a whole number is expected (--help=all lists the flags)",
        ),
        (["--name=x", "--train_batch_size=0"], "--batch_size is 0, it must be at least 1"),
        (
            ["--name", "x", "= y"],
            "unexpected argument '= y': values are given as --flag=value; quote patterns with *",
        ),
        (
            ["--flagfile=/nowhere"],
            "ERROR:: Unable to open flagfile: [Errno 2] No such file or directory: '/nowhere' "
            "(--help=all lists the flags)",
        ),
        (["--name=user", "--source=nowhere"], "--source: nowhere does not exist"),
        (["--name=user", "--corpus=script.py,no*"], "--corpus: no file matches 'no*'"),
        (["--name=user", "--source=gs://x/y", "--corpus=gs://x/y*"], "two lines"),
        (["--name=user", "--source=-", "--corpus=*.py"], "two lines"),
        (["--name=user"], "two lines"),
        (["--name=outside"], "nowhere: No such file or directory (--debug shows where)"),
    ],
)
def test_what_a_user_can_fix_is_one_line_and_status_2(script, arguments, message):
    done = script(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {message}\n")


def test_configuration_files(script, tmp_path):
    """Names and values as people write them; the command line wins, and of several files the
    last."""
    (tmp_path / "run.yaml").write_text("""\
# a comment
name: on
rate: [1e-4, .5]   # a sweep
layers:
  - -2
  - 3
chatty: yes
lower: Off
mode: "b"
epochs: null
train_batch_size: 012
source: script.py
""")
    (tmp_path / "more.json").write_text(
        '{\n\t"batch_size": 16,\n\t"corpus": ["*.py", "words.py"]\n}'
    )
    done = script(f"--config={tmp_path}/run.yaml", "--mode=a", "--config", f"{tmp_path}/more.json")
    assert done.returncode == 0, done.stderr
    values, given, words, _ = json.loads(done.stdout)
    assert values == {
        "batch_size": 16,
        "verbose": True,
        "name": "on",
        "layers": [-2, 3],
        "rate": [0.0001, 0.5],
        "epochs": None,
        "mode": "a",
        "size": None,
        "lower": False,
        "source": "script.py",
        "corpus": "*.py,words.py",
    }
    assert given == [
        "batch_size",
        "corpus",
        "layers",
        "lower",
        "mode",
        "name",
        "rate",
        "source",
        "verbose",
    ]
    assert words == []


def test_flags_of_a_run_as_a_configuration(script, tmp_path):
    """Values that are defaults and were not given count as not given; earlier versions did not keep
    what was."""
    flags = {
        "name": "x",
        "batch_size": 8,
        "rate": [0.5, 0.25],
        "layers": [-1],
        "mode": None,
        "verbose": False,
        "epochs": 2.0,
    }
    for given, expected in (
        ({}, ["epochs", "name", "rate"]),
        ({"given": 5}, ["epochs", "name", "rate"]),
        ({"given": [[1]]}, ["epochs", "name", "rate"]),
        ({"given": ["batch_size", "name"]}, ["batch_size", "epochs", "name", "rate"]),
    ):
        (tmp_path / "flags.json").write_text(
            json.dumps({"script": "script.py", "flags": flags, **given, "starts": []})
        )
        done = script(f"--config={tmp_path}/flags.json", "--name=y")
        values, now_given, *_ = json.loads(done.stdout)
        assert values["rate"] == [0.5, 0.25] and values["epochs"] == 2 and values["name"] == "y"
        assert now_given == expected


@pytest.mark.parametrize(
    "content, start",
    [
        ("name: x\nbatch_sise: 3\n", "FILE:2: 'batch_sise'"),
        ("name: x\n\nbatch_size: many\n", "FILE:3: flag --batch_size=many: "),
        ("name: x\nbatch_size: 0\n", "FILE:2: --batch_size is 0, "),
        ("name: x\nsource: scirpt.py", "FILE:2: --source: scirpt.py "),
        ("batch_size: 3\nname: x\ntrain_batch_size: 4", "FILE:3: --batch_size "),
        ("name: x\nbatch_size: [1, 2]", "FILE:2: --batch_size "),
        ("name: x\nlayers: {a: b}", "FILE:2: --layers: "),
        ("name: ['a,b']", "FILE:1: --name: "),
        ("name: !!python/object/apply:os.getcwd []", "FILE:1: --name: "),
        ("name: x\n? [a]\n: b", "FILE:2: "),
        ("name: x\n  rate: 3", "FILE:2: not YAML: "),
        ("", "FILE: "),
    ],
)
def test_wrong_configuration_files(script, tmp_path, content, start):
    (tmp_path / "run.yaml").write_text(content)
    done = script(f"--config={tmp_path}/run.yaml")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: {start}".replace("FILE", f"{tmp_path}/run.yaml"))


def test_what_the_terminal_has_no_characters_for(script):
    done = script("--name=print", encoding="cp1252")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ü \\u2192\n", "")


@pytest.mark.parametrize(
    "name, status, error",
    [
        ("status", 7, ""),
        ("bug", 1, "TypeError: a bug\n"),
        ("interrupt", 130, "interrupted\n"),
        ("pipe", 141, ""),
    ],
)
def test_other_ends(script, name, status, error):
    done = script(f"--name={name}")
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.endswith(error) and (error or not done.stderr)
    assert ("Traceback" in done.stderr) == (name == "bug")


@pytest.mark.parametrize("name", ["user", "outside"])
def test_debug_adds_the_traceback(script, name):
    done = script(f"--name={name}", "--debug")
    assert (
        done.returncode == 2 and done.stderr.startswith("Traceback") and "in main\n" in done.stderr
    )
    assert done.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize("flag", ["--only_check_args", "--pdb", "--profile_file=x", "--log_dir=x"])
def test_flags_of_absl_have_their_effect_or_are_refused(script, flag):
    done = script("--name=print", flag)
    assert not done.stdout
    if flag == "--only_check_args":
        assert (done.returncode, done.stderr) == (0, "")
        assert script("--rate=1", flag).returncode == 2
    else:
        assert done.returncode == 2 and flag.split("=")[0] in done.stderr


def _in_a_shell(script, arguments: str, **variables: str) -> subprocess.CompletedProcess:
    python, path = script("--name=status").args[:2]
    return subprocess.run(
        f"'{python}' '{path}' {arguments}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--help", "--name=print"])
def test_a_full_disk_behind_standard_output_is_one_line(script, arguments, unbuffered):
    done = _in_a_shell(script, f"{arguments} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (
        2,
        "error: No space left on device (--debug shows where)\n",
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_the_work_is_done_where_streams_are_closed(script, redirection):
    done = _in_a_shell(script, f"--name=print {redirection}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("flag", ["--help", "-h", "--helpshort"])
def test_help(script, flag):
    done = script("--name=x", flag, "--wrong")
    assert done.returncode == 0 and not done.stderr
    assert (
        done.stdout
        == """A script for the test.

  python script.py --name=x

An indented line is as it was: Python 3.13 takes away what all lines have.

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

--config=FILE reads the values of flags from a YAML or JSON file, --flagfile=FILE the flags themselves;
--debug shows the traceback of an error, --helpfull lists the libraries' flags.
"""
    )


def test_help_of_many_options(project):
    def shown(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "run_squad.py", *arguments],
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    short, long = shown("--help"), shown("--help=all")
    counts = [text.count("\n  --") for text in (short, long)]
    assert (
        counts[0] < 20
        and f"\n{counts[1] - counts[0]} more flags: --help=all lists them.\n" in short
    )
    assert {"--train_file", "--version_2_with_negative", "--output_dir"} <= set(short.split())
    assert "--lora_rank" not in short and "--lora_rank" in long and "more flags" not in long
