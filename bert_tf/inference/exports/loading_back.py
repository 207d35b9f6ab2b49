"""The process that loads an export back: what works only because this process knows the model would fail there.

    python -m bert_tf.inference.exports.loading_back PACKAGE < questions > answers

A question is a line with a format and two files: pickled (directory, [(signature, inputs)]), and where to write
(signatures, [outputs]). The answer is a line: null, or [whether it is the disk's fault, what went wrong]. There is one
process for a package, which imports it beside the work of the exporting process, and ends with that.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from bert_common.errors import UserError, in_one_line
from bert_tf.inference.exports.loaders import LOADERS, Arrays, Signature

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def start(format_name: str) -> None:
  """Starts the process, which takes seconds to import what it needs, before there is a question."""
  _process(LOADERS[format_name].package)


def ask(format_name: str, directory: str,
        requests: list[tuple[str, Arrays]]) -> tuple[dict[str, Signature], list[Arrays]]:
  """The signatures of an export, and the outputs for each request.

  Args:
    requests: name of a signature, and its inputs; strings are bytes objects.

  Raises:
    RuntimeError: the export can't be loaded or fails at a request, with what its runtime says.
    UserError: the disk of temporary files is full.
  """
  process = _process(LOADERS[format_name].package)
  assert process.stdin and process.stdout
  with _temporary_files(), tempfile.TemporaryDirectory() as folder:
    question, answer = os.path.join(folder, "question"), os.path.join(folder, "answer")
    with open(question, "wb") as file:
      # This process may have changed its directory since the other one was started.
      pickle.dump((os.path.abspath(directory), requests), file)
    try:
      process.stdin.write(json.dumps([format_name, question, answer]) + "\n")
      process.stdin.flush()
      problem = process.stdout.readline()
    except BrokenPipeError:
      problem = ""
    if not problem.endswith("\n"):
      _process.cache_clear()
      raise RuntimeError(f"the process that loads the export back ended with status {process.wait()}")
    if found := json.loads(problem):
      of_the_disk, text = found
      raise UserError(text) if of_the_disk else RuntimeError(f"the export can't be used: {text}")
    with open(answer, "rb") as file:
      return pickle.load(file)


@contextlib.contextmanager
def _temporary_files() -> Iterator[None]:
  try:
    yield
  except OSError as error:
    raise UserError(f"can't write to {tempfile.gettempdir()}, the directory of temporary files: {error.strerror}; free "
                    "some space, or name another directory in the variable TMPDIR") from None


@functools.cache
def _process(package: str) -> subprocess.Popen:
  # Weights of another device's memory are of no use here, and a GPU may be full.
  environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1",
                 "PYTHONPATH": os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])}
  process = subprocess.Popen([sys.executable, "-m", __spec__.name, package], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
  atexit.register(process.kill)
  return process


def _serve() -> None:
  # Libraries that print do not answer.
  answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
  os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
  importlib.import_module(sys.argv[1])
  for line in sys.stdin:
    name, question, answer = json.loads(line)
    try:
      _answer(name, question, answer)
      problem = None
    except UserError as error:
      problem = True, str(error)
    except Exception as error:
      problem = False, f"{type(error).__name__}: {in_one_line(error, 500)}"
    print(json.dumps(problem), file=answers, flush=True)


def _answer(name: str, question: str, answer: str) -> None:
  with open(question, "rb") as file:
    directory, requests = pickle.load(file)
  loaded = LOADERS[name].load(directory)
  answered = loaded.signatures, [dict(loaded(signature, inputs)) for signature, inputs in requests]
  with _temporary_files(), open(answer, "wb") as file:
    pickle.dump(answered, file)


if __name__ == "__main__":
  _serve()
