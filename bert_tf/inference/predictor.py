"""Predictions from texts with a model that is loaded once.

    predictor = Predictor.from_checkpoint("out")                 # of run_classifier.py, say
    predictor(["A text.", ("or a pair", "of texts")])            # [{"label": "1", "probabilities": {...}}, ...]

Input: texts, pairs of texts and objects from Python, or lines of them (`predict.py`). Output: a result for each, in
their order. What is read of a checkpoint and how an input is answered is in the class of the task.
"""

import contextlib
import dataclasses
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO

from bert_common import files, gzipped, json_files
from bert_common.errors import UserError
from bert_tf.inference.options import InferenceSettings, PredictOptions
from bert_tf.inference.task_table import choose_task, load_task
from data_gen.labelled.tables import looks_like_json
from modeling.checkpoints.load import Checkpoint, open_checkpoint

# Key of an object that is given back with the result.
_ID = "id"
# Inputs whose outputs are in memory together, and which are sorted by length together.
_INPUTS_AT_ONCE = 256
# What is read of a file at a time; of a pipe what is there.
_BYTES_AT_ONCE = 1 << 16
# Of a longer line nothing but its end is looked for: it is no input, and must not fill the memory.
_LONGEST_LINE_BYTES = 16 << 20


class Predictor:
  """A model, ready to predict again and again.

  Attributes:
    task: one of `task_table.TASKS`.
    inference: see `TaskInference`; its `load_report` lists the weights, `truncated` counts inputs that were too long.
  """

  def __init__(self, loaded: Checkpoint, task: str | None = None, settings: InferenceSettings | None = None):
    self.task = choose_task(loaded, task)
    settings = settings or InferenceSettings()
    settings.check_read_by(self.task)
    self.inference = load_task(loaded, self.task, settings)
    self.inference.prepare()

  @classmethod
  def from_checkpoint(cls, checkpoint: str | os.PathLike[str], task: str | None = None, *,
                      bert_config_file: str | None = None, vocab_file: str | None = None,
                      do_lower_case: bool | None = None, **settings: object) -> "Predictor":
    """Opens a checkpoint and loads it.

    Args:
      task: None where the checkpoint or its `task.json` determines it.

    Raises:
      UserError: the checkpoint can't be read, its configuration, vocabulary or head is missing or does not fit, there
        is no such task, or a setting does not fit.
    """
    chosen = InferenceSettings(**settings, given=frozenset(settings))
    chosen.check()
    loaded = open_checkpoint(os.fspath(checkpoint), bert_config_file=bert_config_file, vocab_file=vocab_file,
                             do_lower_case=do_lower_case)
    return cls(loaded, task, chosen)

  def __call__(self, inputs: Iterable[object]) -> list[dict]:
    """Results in the order of the inputs.

    Args:
      inputs: texts, pairs of texts, or mappings: {"text"}, {"text_a", "text_b"}, {"question", "context"} or {"context",
        "choices"}, with an "id" if that is to be in the result.

    Raises:
      UserError: names the first input that can't be used, counted from 0.
    """
    if isinstance(inputs, str | bytes | Mapping):
      raise UserError("a list of inputs is expected, not one input")
    checked = []
    for number, value in enumerate(inputs):
      try:
        checked.append(self._check(value))
      except UserError as error:
        raise UserError(f"input {number}: {error}") from None
    return self._predict(checked)

  def answer_lines(self, lines: Iterable[bytes | None], first: int = 1) -> list[dict]:
    """A result for every line; {"line": number, "error": message} for one that can't be used.

    Args:
      lines: without line ends, see `parse_line`; None for one that is too long to be an input.
    """
    results: list[dict] = []
    checked = []
    for number, line in enumerate(lines, first):
      try:
        checked.append(self._check(parse_line(line, self.inference.takes_pairs)))
        results.append({})
      except UserError as error:
        results.append({"line": number, "error": str(error)})
    predicted = iter(self._predict(checked))
    return [result or next(predicted) for result in results]

  def _check(self, value: object) -> tuple[dict, object]:
    """{"id": ...} or {}, and the rest of the input as the task takes it."""
    if not isinstance(value, Mapping) or _ID not in value:
      return {}, self.inference.check(value)
    return {_ID: checked_id(value[_ID])}, self.inference.check({key: part for key, part in value.items() if key != _ID})

  def _predict(self, checked: list[tuple[dict, object]]) -> list[dict]:
    results = []
    for start in range(0, len(checked), _INPUTS_AT_ONCE):
      part = checked[start:start + _INPUTS_AT_ONCE]
      predicted = self.inference.predict([value for _, value in part])
      results += [id | result for (id, _), result in zip(part, predicted, strict=True)]
    return results


def checked_id(value: object) -> str | int:
  """Returns the id of an input. Raises `UserError` unless it is a text or a whole number."""
  if not isinstance(value, str | int):
    raise UserError(f"{_ID} is a {type(value).__name__}, a text or a whole number is expected")
  json_files.check_text(str(value))
  return value


def parse_line(line: bytes | None, pairs: bool) -> object:
  """A line as it would be given from Python: a JSON object, "first TAB second" where pairs are known, else a text.

  Args:
    line: without its line end; None for one that is too long.
    pairs: whether a tab separates two texts; else it is white space.

  Raises:
    UserError: too long, not UTF-8, JSON that can't be read, or several tabs.
  """
  if line is None:
    raise UserError(f"longer than {_LONGEST_LINE_BYTES >> 20} MiB: one input per line is expected")
  try:
    text = line.decode("utf-8")
  except UnicodeDecodeError as error:
    raise UserError(f"not UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x})") from None
  if looks_like_json(text):
    return json_files.parse(text)
  if not pairs or "\t" not in text:
    return text
  texts = tuple(text.split("\t"))
  if len(texts) > 2:
    raise UserError(f"{len(texts)} texts with tabs between them: one or two are expected")
  return texts


@dataclasses.dataclass
class Served:
  """Counts of `serve`: lines, those of them that could not be used, and the error of the first of these."""

  lines: int = 0
  errors: int = 0
  first_error: str = ""


def serve(predictor: Predictor, source: IO[bytes], write: Callable[[bytes], object]) -> Served:
  """A line in, a line of JSON out, until the input ends; lines that are waiting are computed together."""
  done = Served()
  for lines in _waiting_lines(source):
    results = predictor.answer_lines(lines, done.lines + 1)
    for result in results:
      if "error" in result:
        done.errors += 1
        done.first_error = done.first_error or f"line {result['line']}: {result['error']}"
    done.lines += len(lines)
    write("".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results).encode())
  return done


def run(options: PredictOptions) -> None:
  """Answers the lines of a file, or of standard input as they come, for `predict.py`."""
  loaded = open_checkpoint(options.init_checkpoint, **options.companions())
  predictor = Predictor(loaded, options.task, options)
  _log(predictor.inference.load_report.describe())
  predictor.inference.log = _log
  _log(f"ready: {predictor.task}")
  with contextlib.ExitStack() as stack:
    from_file, to_file = options.input_file != "-", options.output_file != "-"
    source = stack.enter_context(gzipped.open_unzipped(options.input_file))[1] if from_file else sys.stdin.buffer
    write = stack.enter_context(files.atomic_write(options.output_file, "wb")).write if to_file else _write_at_once
    done = serve(predictor, source, write)
  if truncated := predictor.inference.truncated:
    _log(f"{truncated:,} of {done.lines:,} inputs were longer than the model takes and were truncated")
  if done.errors:
    raise UserError(f"{done.errors:,} of {done.lines:,} lines could not be used; the first is {done.first_error}")


def _write_at_once(lines: bytes) -> None:
  sys.stdout.buffer.write(lines)
  sys.stdout.buffer.flush()


def _log(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


def _waiting_lines(source: IO[bytes]) -> Iterator[list[bytes | None]]:
  """The whole lines that are there, at least one, without their line ends; waits only where there is none.

  A line of more than `_LONGEST_LINE_BYTES` is None.
  """
  parts: list[bytes] = []
  size = 0
  is_first = True
  while True:
    try:
      # One read of the system: it returns what a pipe holds, however little that is.
      data = source.read1(_BYTES_AT_ONCE)
    except (OSError, EOFError, zlib.error) as error:
      raise UserError(f"the input can't be read: {getattr(error, 'strerror', None) or error}") from None
    if is_first:
      data = data.removeprefix(b"\xef\xbb\xbf")
      is_first = False
    first, *lines = data.split(b"\n")
    size += len(first)
    if size <= _LONGEST_LINE_BYTES:
      parts.append(first)
    else:
      parts.clear()
    if lines:
      first = b"".join(parts) if size <= _LONGEST_LINE_BYTES else None
      *whole, rest = lines
      yield [None if line is None else line.removesuffix(b"\r") for line in (first, *whole)]
      parts, size = [rest], len(rest)
    if not data:
      break
  if size > _LONGEST_LINE_BYTES:
    yield [None]
  elif last := b"".join(parts):
    yield [last.removesuffix(b"\r")]
