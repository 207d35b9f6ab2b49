"""Spoils one thing of a right command, a flag, a word or an input file, and says how it ended: with one line, or not.

All follows from a seed. Or nothing is wrong by itself: an output is one of the inputs.
"""

import contextlib
import copy
import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import pkgutil
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator

import numpy as np

from bert_common import cli
from bert_common.errors import as_user_error
from bert_common.options import DeclaredOption, declared_options
from tests.fuzz.workspace import Command

# How a run may end; the others are findings. The last one has changed files that must stay.
ACCEPTED, REFUSED, TRACEBACK, NOISE, DAMAGE = "accepted", "refused", "traceback", "noise", "damage"
GOOD = (ACCEPTED, REFUSED)
# Lines of the libraries' own logs and of Python's warnings, beside an error of one line.
_NOISE = ("Traceback", "Exception in thread", "Exception ignored", "UserWarning", "RuntimeWarning")
_LONGEST_MESSAGE = 1500

# Large values of these are long runs, and no mistakes of the program's.
_LONG = {"num_train_steps", "num_train_epochs", "dupe_factor", "eval_steps"}
_NUMBERS = ("nan", "inf", "-1", "0", "1e400", "9" * 5000, str(2**63), "0.999999", "1,nan", "", "x", "1_0")
_LARGE_NUMBERS = (str(2**31 - 1), "1e6")
_TEXTS = ("", ",", "x", "missing/name", ".", "corpus.txt", "encoder", "squad.json", "vocab.txt", "train.tfrecord",
          "classification/task.json", "a\nb", "[", "*", "a,a", "x" * 300, "ü", "\udcff", "nan,nan,nan", "out@0",
          "/dev/null", "gone://bucket/x", "-", "true", "1", f"out@{'9' * 5000}", "\0")
# Options of what is written, and what no command may write over: parts of checkpoints and runs.
_OUTPUTS = ("output_file", "output_dir", "output", "export_dir", "index_dir", "held_out_file")
_KEPT = ("encoder/ckpt-0.index", "huggingface", "huggingface/model.safetensors", "sentences/modules.json",
         "tuning/run/flags.json", "tuning/run/metrics.jsonl")
# Parts of JSON in the place of any other.
_JSON_VALUES = (None, True, [], {}, "", "x", "\ud800", -1, 0, 10**30, 1.5, {"a": None}, float("nan"))


@dataclasses.dataclass(frozen=True)
class Case:
  """A spoiled command.

  Attributes:
    command: with the flags as they are given.
    change: what was done, in words.
    spoil: what is to be done to the files of a workspace.
    kept: files and directories whose files stay as they are even if the command is accepted.
  """

  command: Command
  change: str
  spoil: Callable[[pathlib.Path], None] = lambda folder: None
  kept: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Ending:
  """How a run ended: one of the kinds above, and the message or the traceback."""

  kind: str
  text: str


def make_case(commands: tuple[Command, ...], seed: int, number: int) -> Case:
  """The case of a number: the same for the same commands and seed."""
  rng = random.Random(f"{seed}/{number}")
  command = rng.choice(commands)
  kind = rng.random()
  outputs = [name for name in _OUTPUTS if name in command.arguments]
  if kind < 0.35:
    return _spoil_flag(command, rng.choice(declared_options(command.entry[0])), rng)
  if kind < 0.45 and outputs:
    name, target = rng.choice(outputs), rng.choice((*command.inputs, *_KEPT))
    # A run may write into its own directory.
    kept = () if target.startswith(f"{command.arguments[name]}/") else (target,)
    return Case(_given(command, name, target), f"--{name}={target}, which exists", kept=kept)
  if kind < 0.5 and command.words:
    word = rng.choice(_TEXTS)
    return Case(dataclasses.replace(command, words=(word,)), f"word {ascii(word)[:80]}")
  return _spoil_file(command, rng)


def _given(command: Command, name: str, value: str) -> Command:
  return dataclasses.replace(command, arguments={**command.arguments, name: value})


def _spoil_flag(command: Command, option: DeclaredOption, rng: random.Random) -> Case:
  if option.name in command.arguments and rng.random() < 0.1:
    arguments = {name: value for name, value in command.arguments.items() if name != option.name}
    return Case(dataclasses.replace(command, arguments=arguments), f"no --{option.name}")
  values = _TEXTS
  if option.kind in (int, float):
    values = _NUMBERS + (() if option.name in _LONG else _LARGE_NUMBERS)
  elif option.kind is bool:
    values = ("true", "true", "false", "perhaps", "")
  elif option.declaration.choices:
    values = (*option.declaration.choices, "x", "")
  value = rng.choice(values)
  # Nothing listens there, and asking takes minutes.
  if option.name in ("tpu_name", "use_tpu", "distribution_strategy"):
    value = "none" if option.kind is str else "false"
  return Case(_given(command, option.name, value), f"--{option.name}={ascii(value)[1:-1][:80]}")


def _spoil_file(command: Command, rng: random.Random) -> Case:
  name = rng.choice(command.inputs)
  kinds = {"missing": _missing, "a directory": _directory, **_BYTES}
  for endings, label, change in (((".json", ".jsonl"), "other JSON", _json), ((".tfrecord",), "other record", _record),
                                 ((".index", ".safetensors"), "not finite", not_finite)):
    if name.endswith(endings):
      kinds |= {f"{label}{again * ' '}": change for again in range(3)}
  label, seed = rng.choice(sorted(kinds)), rng.random()

  def spoil(folder: pathlib.Path) -> None:
    path, chosen, change = folder / name, random.Random(seed), kinds[label]
    if change in (_json, *_BYTES.values()):
      path.write_bytes(change(path.read_bytes(), chosen))
    else:
      change(path, chosen)

  return Case(command, f"{name}: {label.strip()}", spoil)


def _missing(path: pathlib.Path, rng: random.Random) -> None:
  path.unlink()


def _directory(path: pathlib.Path, rng: random.Random) -> None:
  """A directory in the file's place, perhaps with the file in it."""
  content = path.read_bytes()
  path.unlink()
  path.mkdir()
  if rng.random() < 0.5:
    (path / path.name).write_bytes(content)


def not_finite(path: pathlib.Path, rng: random.Random) -> None:
  """One weight is not a number, in a file that is right otherwise."""
  if path.suffix == ".index":
    import tensorflow as tf

    prefix = str(path.with_suffix(""))
    reader = tf.train.load_checkpoint(prefix)
    tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
  else:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(path)
  name = rng.choice(sorted(name for name, value in tensors.items() if getattr(value, "dtype", None) == np.float32))
  tensors[name] = np.array(tensors[name])
  tensors[name].flat[rng.randrange(tensors[name].size)] = rng.choice((np.nan, np.inf, -np.inf))
  if path.suffix == ".index":
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=list(tensors.values()))
  else:
    save_file(tensors, path)


def _flip(data: bytes, rng: random.Random) -> bytes:
  spoiled = bytearray(data)
  for _ in range(rng.choice((1, 1, 8))):
    spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
  return bytes(spoiled)


def _insert(data: bytes, rng: random.Random) -> bytes:
  what = rng.choice((b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"\t", b'"', b"\r", b"\n\n\n", b"\xe2\x80\xa8", b"[MASK]"))
  place = rng.randrange(len(data) + 1)
  return data[:place] + what + data[place:]


def _shuffle_lines(data: bytes, rng: random.Random) -> bytes:
  lines = data.split(b"\n")
  first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
  if rng.random() < 0.5:
    del lines[first]
  else:
    lines.insert(first, lines[second])
  return b"\n".join(lines)


_BYTES = {
    "flipped bits": _flip, "bytes inserted": _insert, "a line twice or not at all": _shuffle_lines,
    "cut off": lambda data, rng: data[:rng.randrange(len(data) + 1)], "empty": lambda data, rng: b"",
    "endless line": lambda data, rng: data + rng.choice((b"a", b"a b ", b"[", b"\x00", b"1")) * (20 << 20),
    "gzipped": lambda data, rng: gzip.compress(data),
    "UTF-16": lambda data, rng: data.decode("latin-1").encode("utf-16"),
    "bytes of no format": lambda data, rng: rng.randbytes(rng.choice((1, 100, 5000)))}


def _json(data: bytes, rng: random.Random) -> bytes:
  """One value, or one key, of one of the documents is another."""
  lines = data.decode().splitlines() if data.count(b"\n") > 1 and data.startswith(b"{\"") else [data.decode()]
  number = rng.randrange(len(lines))
  root = [json.loads(lines[number])]
  parent, key = rng.choice(list(_places(root)))
  if isinstance(parent, dict) and rng.random() < 0.3:
    del parent[key]
  else:
    parent[key] = copy.deepcopy(rng.choice(_JSON_VALUES))
  lines[number] = json.dumps(root[0])
  return "\n".join(lines).encode() + b"\n"


def _places(value: object):
  for key, child in list(enumerate(value) if isinstance(value, list) else value.items()):
    yield value, key
    if isinstance(child, (list, dict)):
      yield from _places(child)


def _record(path: pathlib.Path, rng: random.Random) -> None:
  """One feature of one record holds what another program may have written; the checksums are right."""
  import tensorflow as tf

  records = [tf.train.Example.FromString(one) for one in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()]
  features = rng.choice(records).features.feature
  name = rng.choice(sorted(features))
  is_weight = features[name].WhichOneof("kind") == "float_list"
  values = list(features[name].float_list.value if is_weight else features[name].int64_list.value)
  change = rng.choice(("none", "short", "type", "value", "value"))
  del features[name]
  if change == "short":
    values.pop()
  elif change == "value":
    values[rng.randrange(len(values))] = rng.choice(
        (float("nan"), -1.0, float("inf")) if is_weight else (-1, 2, 16, 10**6, 2**40, -2**63))
  if change != "none":
    as_floats = is_weight != (change == "type")
    (features[name].float_list if as_floats else features[name].int64_list).value.extend(
        map(float if as_floats else int, values))
  with tf.io.TFRecordWriter(str(path)) as writer:
    for one in records:
      writer.write(one.SerializeToString())


def run_case(case: Case, workspace: pathlib.Path) -> Ending:
  """Runs a case in this process, in a copy of the workspace that is the working directory meanwhile."""
  with tempfile.TemporaryDirectory() as directory:
    folder = pathlib.Path(directory) / "work"
    shutil.copytree(workspace, folder)
    case.spoil(folder)
    contents = {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*")}
    # Tokenizers of a process are kept by the path of their vocabulary.
    arguments = {name: str(folder / value) if value in case.command.inputs else value
                 for name, value in case.command.arguments.items()}
    with contextlib.chdir(folder), _captured(pathlib.Path(directory) / "log") as log:
      ending = _ending(case.command, [case.command.script, *(f"--{name}={value}" for name, value in arguments.items()),
                                      *case.command.words])
    changed = sorted(name for name, content in contents.items() if _content(folder / name) != content)
    if ending.kind == ACCEPTED:
      changed = [name for name in changed if f"{name}/".startswith(tuple(f"{one}/" for one in case.kept))]
    if ending.kind in GOOD and changed:
      return Ending(DAMAGE, f"{ending.text}\nchanged: {', '.join(changed)}")
    noise = [line for line in log.read_text("utf-8", errors="replace").splitlines()
             if any(part in line for part in _NOISE)]
    is_plain = len(ending.text) <= _LONGEST_MESSAGE and len(ending.text.splitlines()) <= 1
    if ending.kind in GOOD and (noise or not is_plain):
      return Ending(NOISE, "\n".join([ending.text, *noise]))
    return ending


def _content(path: pathlib.Path) -> object:
  """What must stay as it is."""
  return hashlib.sha256(path.read_bytes()).digest() if path.is_file() else path.is_dir()


def _ending(command: Command, arguments: list[str]) -> Ending:
  options, target, positional = command.entry
  try:
    parsed = cli.parse(options, arguments, positional)
    parsed.check_inputs()
    pkgutil.resolve_name(target)(parsed)
    return Ending(ACCEPTED, "")
  except KeyboardInterrupt:
    raise
  except BaseException as error:
    refusal = as_user_error(error) if isinstance(error, Exception) else None
    return Ending(REFUSED, str(refusal)) if refusal else Ending(TRACEBACK, traceback.format_exc())


@contextlib.contextmanager
def _captured(log: pathlib.Path) -> Iterator[pathlib.Path]:
  """Everything that is written to the standard streams, also by C++, goes to a file; standard input is empty."""
  sys.stdout.flush()
  sys.stderr.flush()
  kept = [os.dup(number) for number in (0, 1, 2)]
  streams = sys.stdin, sys.stdout, sys.stderr
  with open(os.devnull, "rb") as nothing, open(log, "wb") as file:
    for number, target in enumerate((nothing, file, file)):
      os.dup2(target.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for number, mode in enumerate("rww"))
    try:
      yield log
    finally:
      sys.stdout.flush()
      sys.stderr.flush()
      sys.stdin, sys.stdout, sys.stderr = streams
      for number, descriptor in enumerate(kept):
        os.dup2(descriptor, number)
        os.close(descriptor)
