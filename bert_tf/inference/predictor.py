"""Predictions from texts with a model that is loaded once.

    predictor = Predictor.from_checkpoint("out")                 # of run_classifier.py, say
    predictor(["A text.", ("or a pair", "of texts")])            # [{"label": "1", "probabilities":
    {...}}, ...]

Input: texts, pairs of texts and objects from Python, or lines of them (`predict.py`). Output: a
result for each, in their order. What is read of a checkpoint and how an input is answered is in the
class of the task.
"""

import contextlib
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.inference.options import InferenceSettings, PredictOptions, choose_task, task_class
from data_gen.labelled.tables import looks_like_json
from modeling.checkpoints.load import Checkpoint, open_checkpoint

# Key of an object that is given back with the result.
_ID = "id"
# Inputs whose outputs are in memory together, and which are sorted by length together.
_INPUTS_AT_ONCE = 256
# What is read of a file at a time; of a pipe what is there.
_BYTES_AT_ONCE = 1 << 16


class Predictor:
    """A model, ready to predict again and again.

    Attributes:
      task: one of `options.TASKS`.
      inference: see `TaskInference`; its `load_report` lists the weights, `truncated` counts inputs
        that were too long.
    """

    def __init__(
        self, loaded: Checkpoint, task: str | None = None, settings: InferenceSettings | None = None
    ):
        self.task = choose_task(loaded, task)
        settings = settings or InferenceSettings()
        settings.check_read_by(self.task)
        self.inference = task_class(self.task)(loaded, settings)
        self.inference.prepare()

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: str | os.PathLike[str],
        task: str | None = None,
        *,
        bert_config_file: str | None = None,
        vocab_file: str | None = None,
        do_lower_case: bool | None = None,
        **settings: object,
    ) -> "Predictor":
        """Opens a checkpoint and loads it.

        Args:
          task: None where the checkpoint or its `task.json` determines it.

        Raises:
          UserError: the checkpoint can't be read or does not fit the task, or a setting does not
            fit.
        """
        chosen = InferenceSettings(**settings, given=frozenset(settings))
        chosen.check()
        loaded = open_checkpoint(
            os.fspath(checkpoint),
            bert_config_file=bert_config_file,
            vocab_file=vocab_file,
            do_lower_case=do_lower_case,
        )
        return cls(loaded, task, chosen)

    def __call__(self, inputs: Iterable[object]) -> list[dict]:
        """Results in the order of the inputs.

        Args:
          inputs: texts, pairs of texts, or mappings: {"text"}, {"text_a", "text_b"}, {"question",
            "context"} or {"context", "choices"}, with an "id" if that is to be in the result.

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

    def answer_lines(self, lines: Iterable[bytes], first: int = 1) -> list[dict]:
        """A result for every line, see `parse_line`; {"line": number, "error": message} for one
        that can't be used."""
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
        return {_ID: checked_id(value[_ID])}, self.inference.check(
            {key: part for key, part in value.items() if key != _ID}
        )

    def _predict(self, checked: list[tuple[dict, object]]) -> list[dict]:
        results = []
        for start in range(0, len(checked), _INPUTS_AT_ONCE):
            part = checked[start : start + _INPUTS_AT_ONCE]
            predicted = self.inference.predict([value for _, value in part])
            results += [id | result for (id, _), result in zip(part, predicted, strict=True)]
        return results


def checked_id(value: object) -> str | int:
    """Returns the id of an input. Raises `UserError` unless it is a text or a whole number."""
    if not isinstance(value, str | int):
        raise UserError(f"{_ID} is a {type(value).__name__}, a text or a whole number is expected")
    json_files.check_text(str(value))
    return value


def parse_line(line: bytes, pairs: bool) -> object:
    """A line, without its end, as it would be given from Python: a JSON object, with `pairs` "first
    TAB second", else a text. Raises `UserError`: not UTF-8, JSON that can't be read, or several
    tabs.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x})"
        ) from None
    if looks_like_json(text):
        return json_files.parse(text)
    if not pairs or "\t" not in text:
        return text
    texts = tuple(text.split("\t"))
    if len(texts) > 2:
        raise UserError(f"{len(texts)} texts with tabs between them: one or two are expected")
    return texts


def serve(
    predictor: Predictor, source: IO[bytes], write: Callable[[bytes], object]
) -> tuple[int, list[str]]:
    """A line in, a line of JSON out, until the input ends; lines that are waiting are computed
    together. Returns the number of lines, and the errors of those that could not be used, each with
    its number."""
    count, errors = 0, []
    for lines in _waiting_lines(source):
        results = predictor.answer_lines(lines, count + 1)
        errors += [
            f"line {result['line']}: {result['error']}" for result in results if "error" in result
        ]
        count += len(lines)
        write("".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results).encode())
    return count, errors


def run(options: PredictOptions) -> None:
    """Answers the lines of a file, or of standard input as they come, for `predict.py`."""
    log = functools.partial(print, file=sys.stderr, flush=True)
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    predictor = Predictor(loaded, options.task, options)
    log(predictor.inference.load_report.describe())
    log(f"ready: {predictor.task}")
    with contextlib.ExitStack() as stack:
        source, target = sys.stdin.buffer, sys.stdout.buffer
        if options.input_file != "-":
            stack.enter_context(files.user_error(f"can't read {options.input_file}"))
            source = stack.enter_context(files.open_unzipped(options.input_file))[1]
        if options.output_file != "-":
            target = stack.enter_context(files.atomic_write(options.output_file, "wb"))
        # A program at the other end of a pipe waits for its answers.
        count, errors = serve(
            predictor, source, lambda lines: (target.write(lines), target.flush())
        )
    if truncated := predictor.inference.truncated:
        log(
            f"{truncated:,} of {count:,} inputs were longer than the model takes and were truncated"
        )
    if errors:
        raise UserError(
            f"{len(errors):,} of {count:,} lines could not be used; the first is {errors[0]}"
        )


def _waiting_lines(source: IO[bytes]) -> Iterator[list[bytes]]:
    """The whole lines that are there, at least one, without their line ends; waits only where there
    is none."""
    rest, is_first = b"", True
    # One read of the system: it returns what a pipe holds, however little that is.
    while data := source.read1(_BYTES_AT_ONCE):
        if is_first:
            data, is_first = data.removeprefix(b"\xef\xbb\xbf"), False
        if b"\n" in data:
            *lines, rest = (rest + data).split(b"\n")
            yield [line.removesuffix(b"\r") for line in lines]
        else:
            rest += data
    if rest:
        yield [rest.removesuffix(b"\r")]
