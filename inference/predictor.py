"""Predictions from texts with a network that is loaded once.

    predictor = Predictor.from_checkpoint("out")                 # of run_classifier.py, say
    predictor(["A text.", ("or a pair", "of texts")])            # [{"label": "1", "probabilities": {...}}, ...]

`predict.py` serves one on lines of JSON. The tasks themselves are in `inference/task_predictors.py`.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from common.errors import UserError
from inference.heads import choose_task
from inference.inputs import id_of, parse_line
from inference.task_predictors import (
  AnswerPredictor,
  ClassPredictor,
  MaskPredictor,
  PredictorSettings,
  TaskPredictor,
  VectorPredictor,
)
from modeling.checkpoints.load import LoadedCheckpoint, open_checkpoint

_PREDICTORS: dict[str, Callable[[LoadedCheckpoint, PredictorSettings], TaskPredictor]] = {
    "classifier": ClassPredictor, "squad": AnswerPredictor, "fill_mask": MaskPredictor, "features": VectorPredictor}

# Inputs whose outputs are in memory together, and which are sorted by length together.
_INPUTS_AT_ONCE = 256
# What is read of a file at a time; of a pipe what is there.
_BYTES_AT_ONCE = 1 << 16


class Predictor:
  """A network, ready to be asked again and again.

  Attributes:
    task: "classifier", "squad", "fill_mask" or "features".
    network: see `TaskPredictor`; its `account` tells of the weights, `truncated` of inputs that were too long.
  """

  def __init__(self, opened: LoadedCheckpoint, task: str | None = None, settings: PredictorSettings = PredictorSettings()):  # noqa: B008
    self.task = choose_task(opened, task)
    self.network = _PREDICTORS[self.task](opened, settings)

  @classmethod
  def from_checkpoint(cls, checkpoint: str, task: str | None = None, *, bert_config_file: str | None = None,
                      vocab_file: str | None = None, do_lower_case: bool | None = None,
                      **settings: object) -> "Predictor":
    """Opens a checkpoint and loads it.

    Args:
      checkpoint: whatever `read_checkpoint` reads.
      task: None where the checkpoint has one head only.
      bert_config_file, vocab_file, do_lower_case: None where they are found beside the checkpoint.
      **settings: see `PredictorSettings`.

    Raises:
      UserError: the checkpoint can't be read, its configuration, vocabulary or head is missing or does not fit, there
        is no such task, or a setting does not fit.
    """
    opened = open_checkpoint(checkpoint, bert_config_file=bert_config_file, vocab_file=vocab_file,
                          do_lower_case=do_lower_case)
    return cls(opened, task, PredictorSettings(**settings))

  def __call__(self, inputs: Iterable[object]) -> list[dict]:
    """Results in the order of the inputs.

    Args:
      inputs: texts, pairs of texts, or mappings: {"text"}, {"text_a", "text_b"} or {"question", "context"}, with an
        "id" if that is to be in the result.

    Returns:
      a dict for each input, see the classes in `inference/task_predictors.py`.

    Raises:
      UserError: names the first input that can't be used, counted from 0.
    """
    if isinstance(inputs, str):
      raise UserError("a list of inputs is wanted, not one text")
    checked = []
    for number, value in enumerate(inputs):
      try:
        checked.append((id_of(value), self.network.check(value)))
      except UserError as error:
        raise UserError(f"input {number}: {error}") from None
    return self._predict(checked)

  def answer_lines(self, lines: Iterable[bytes], first: int = 1) -> list[dict]:
    """A result for every line; {"line": number, "error": message} for one that can't be used.

    Args:
      lines: without line ends, see `parse_line`.
      first: number of the first line.
    """
    results: list[dict] = []
    checked = []
    for number, line in enumerate(lines, first):
      try:
        value = parse_line(line, self.network.takes_pairs)
        checked.append((id_of(value), self.network.check(value)))
        results.append({})
      except UserError as error:
        results.append({"line": number, "error": str(error)})
    predicted = iter(self._predict(checked))
    return [result or next(predicted) for result in results]

  def _predict(self, checked: list[tuple[dict, object]]) -> list[dict]:
    results = []
    for start in range(0, len(checked), _INPUTS_AT_ONCE):
      part = checked[start:start + _INPUTS_AT_ONCE]
      predicted = self.network.predict([value for _, value in part])
      results += [id | result for (id, _), result in zip(part, predicted, strict=True)]
    return results


@dataclasses.dataclass
class Served:
  """What `serve` has done: lines, those of them that could not be used, and what the first of these was."""

  lines: int = 0
  errors: int = 0
  first_error: str = ""


def serve(predictor: Predictor, source: IO[bytes], write: Callable[[bytes], None]) -> Served:
  """A line in, a line of JSON out, until the input ends; lines that are waiting are computed together.

  Args:
    predictor: who answers.
    source: a buffered file.
    write: takes one or more whole lines; they should not be held back.

  Raises:
    UserError: the input can't be read.
  """
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


def _waiting_lines(source: IO[bytes]) -> Iterator[list[bytes]]:
  """The whole lines that are there, at least one, without their line ends; waits only where there is none."""
  parts: list[bytes] = []
  is_first = True
  while True:
    try:
      # One read of the system: it returns what a pipe holds, however little that is.
      data = source.read1(_BYTES_AT_ONCE)
    except OSError as error:
      raise UserError(f"the input can't be read: {error.strerror}") from None
    if is_first:
      data = data.removeprefix(b"\xef\xbb\xbf")
      is_first = False
    whole, end, rest = data.rpartition(b"\n")
    if end:
      yield [line.removesuffix(b"\r") for line in b"".join([*parts, whole]).split(b"\n")]
      parts = [rest]
    else:
      parts.append(rest)
    if not data:
      break
  if last := b"".join(parts):
    yield [last.removesuffix(b"\r")]
