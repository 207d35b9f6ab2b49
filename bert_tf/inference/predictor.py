"""Predictions from texts with a model that is loaded once.

    predictor = Predictor.from_checkpoint("out")     # the output of run_classifier.py, for example
    predictor(["A text.", ("or a pair", "of texts")])
    # [{"label": "1", "probabilities": {...}}, ...]

Input: texts, pairs of texts and objects from Python, or lines of them (`predict.py`). Output: a
result for each, in their order. The class of the task decides what is read of a checkpoint and how
an input is answered.
"""

import contextlib
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO

from bert_common import files, json_files
from bert_common.errors import UserError, say
from bert_common.text_lines import LONGEST_LINE
from bert_tf.inference.options import (
    InferenceSettings,
    PredictOptions,
    choose_task,
    is_only_pretrained,
    task_class,
)
from bert_tf.inference.table_prediction import open_table, predict_table
from bert_tf.runs.contents import InputFacts
from data_gen.labeled.row_formats import looks_like_json
from modeling.checkpoints.load import Checkpoint, open_checkpoint

# Key of an object that is returned with the result.
_ID = "id"
# Inputs that are sorted by length together, and whose outputs are in memory together.
_INPUTS_AT_ONCE = 256
# Largest read from a file or a pipe.
_BYTES_AT_ONCE = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
        # Traces the graph now, so that the first answer is not slower than the others.
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
          task: None if the checkpoint or its `task.json` determines it.

        Raises:
          UserError: the checkpoint can't be read or does not fit the task, or a setting does not
            fit.
        """
        inference_settings = InferenceSettings(**settings, given=frozenset(settings))
        inference_settings.check()
        loaded = open_checkpoint(
            os.fspath(checkpoint),
            bert_config_file=bert_config_file,
            vocab_file=vocab_file,
            do_lower_case=do_lower_case,
        )
        return cls(loaded, task, inference_settings)

    def __call__(self, inputs: Iterable[object]) -> list[dict]:
        """Returns results in the order of the inputs.

        Args:
          inputs: texts, pairs of texts, or mappings: {"text"}, {"text_a", "text_b"}, {"question",
            "context"} or {"context", "choices"}; an "id" is returned with the result.

        Raises:
          UserError: names the first input that can't be used, counted from 0.
        """
        # A text would be taken for a list of its characters.
        if isinstance(inputs, str | bytes | Mapping):
            raise UserError("a list of inputs is expected, not one input")
        # All inputs are checked before any is computed.
        checked = []
        for number, value in enumerate(inputs):
            try:
                checked.append(self._check(value))
            except UserError as error:
                raise UserError(f"input {number}: {error}") from None
        return self._predict(checked)

    def answer_lines(self, lines: Iterable[bytes], first: int = 1) -> list[dict]:
        """Returns a result for every line, see `parse_line`; for one that can't be used {"line":
        number, "error": message}."""
        errors: dict[int, dict] = {}
        # One bad line must not cost the answers of the others.
        checked = []
        for number, line in enumerate(lines, first):
            try:
                checked.append(self._check(parse_line(line, self.inference.takes_pairs)))
            except UserError as error:
                errors[number] = {"line": number, "error": str(error)}
        results = iter(self._predict(checked))
        end = first + len(errors) + len(checked)
        return [errors.get(number) or next(results) for number in range(first, end)]

    def _check(self, value: object) -> tuple[dict, object]:
        """Splits an input into {"id": ...} or {}, and the rest as the task takes it."""
        if not isinstance(value, Mapping) or _ID not in value:
            return {}, self.inference.check(value)
        fields = dict(value)
        # The task sees the input without its id, since an unknown key is an error to it.
        input_id = checked_id(fields.pop(_ID))
        return {_ID: input_id}, self.inference.check(fields)

    def _predict(self, checked: list[tuple[dict, object]]) -> list[dict]:
        results = []
        for start in range(0, len(checked), _INPUTS_AT_ONCE):
            # Inputs of a part are sorted by length, and then put back in order.
            part = checked[start : start + _INPUTS_AT_ONCE]
            predictions = self.inference.predict([value for _, value in part])
            for (input_id, _), prediction in zip(part, predictions, strict=True):
                results.append({**input_id, **prediction})
        return results


def checked_id(value: object) -> str | int:
    """Returns the id of an input; raises `UserError` unless it is a text or an integer."""
    if not isinstance(value, str | int):
        raise UserError(f"{_ID} is a {type(value).__name__}, a text or a whole number is expected")
    # Half a surrogate pair could not be written to the output.
    json_files.check_text(str(value))
    return value


def parse_line(line: bytes, pairs: bool) -> object:
    """Parses a line without its end: a JSON object, with `pairs` "first TAB second", else a text.

    Raises:
      UserError: the line is not UTF-8, its JSON can't be read, or it has several tabs.
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
    predictor: Predictor,
    source: IO[bytes],
    write: Callable[[bytes], object],
    name: str = "standard input",
) -> tuple[int, list[str]]:
    """Answers lines by lines of JSON until the input ends; waiting lines are computed together.

    Args:
      name: of the input, for errors.

    Returns:
      The number of lines, and the errors of unusable ones, each with its number.
    """
    count = 0
    errors = []
    for lines in _waiting_lines(source, name):
        text = ""
        for result in predictor.answer_lines(lines, count + 1):
            if "error" in result:
                errors.append(f"line {result['line']}: {result['error']}")
            text += json.dumps(result, ensure_ascii=False) + "\n"
        count += len(lines)
        write(text.encode())
    return count, errors


def run(options: PredictOptions) -> None:
    """Answers the lines of a file, or of standard input as they come, for `predict.py`."""
    log = functools.partial(say, file=sys.stderr)
    facts = InputFacts.of(options)
    # A wrong name of a column is found before the model is loaded.
    if options.reads_table:
        table = open_table(options, log)
    else:
        table = None
    # Messages go to standard error: standard output has the answers.
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    predictor = Predictor(loaded, options.task, options)
    log(predictor.inference.load_report.describe())
    loaded.say_notes()
    log(f"ready: {predictor.task}")
    if options.task is None and is_only_pretrained(loaded):
        log(
            f"note: {options.init_checkpoint} is only pre-trained: the scripts run_*.py fine-tune "
            "it for a task; --task=features gives vectors"
        )
    with contextlib.ExitStack() as stack:
        source = sys.stdin.buffer
        target = sys.stdout.buffer
        # A table is opened by its reader, which has to know the format.
        if options.input_file != "-" and table is None:
            with files.user_error(f"can't read {options.input_file}"):
                _, source = stack.enter_context(files.open_unzipped(options.input_file))
        if options.output_file != "-":
            target = stack.enter_context(files.atomic_write(options.output_file, "wb"))

        write = functools.partial(_write, target, options.output_file)
        errors: list[str] = []
        if table is not None:
            count, notes = predict_table(predictor.inference, table, options, write)
            for note in notes:
                log(note)
        else:
            name = "standard input" if options.input_file == "-" else options.input_file
            count, errors = serve(predictor, source, write, name)
        # Answers about a file that changed meanwhile do not appear under their name.
        facts.check()
    truncated = predictor.inference.truncated
    if truncated:
        log(
            f"{truncated:,} of {count:,} inputs were longer than the model takes and were truncated"
        )
    # The usable lines are answered all the same.
    if errors:
        raise UserError(
            f"{len(errors):,} of {count:,} lines could not be used; the first is {errors[0]}"
        )


def _write(target: IO[bytes], name: str, lines: bytes) -> None:
    try:
        target.write(lines)
        # A program at the other end of a pipe waits for its answers.
        target.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if name == "-" else name
        raise UserError(f"can't write {name}: {error.strerror}") from None


def _waiting_lines(source: IO[bytes], name: str = "") -> Iterator[list[bytes]]:
    """Yields the complete lines that are available, without their ends; waits only for the first
    one.

    Raises `UserError` for a line that is longer than any file of lines has.
    """
    # Parts of a line whose end has not come: joined once, so that the time is linear in its length.
    parts: list[bytes] = []
    num_bytes = 0
    num_lines = 0
    is_start = True
    while True:
        # `read1` makes one system call, which returns what a pipe holds, however little that is.
        with files.user_error(f"can't read {name}"):
            data = source.read1(_BYTES_AT_ONCE)
        if not data:
            break
        if is_start:
            data = data.removeprefix(_BYTE_ORDER_MARK)
            is_start = False
        parts.append(data)
        num_bytes += len(data)
        if num_bytes > LONGEST_LINE:
            raise UserError(
                f"line {num_lines + 1}: longer than {LONGEST_LINE >> 20} MiB: one input per line "
                "is expected"
            )
        if b"\n" in data:
            *lines, rest = b"".join(parts).split(b"\n")
            parts = [rest]
            num_bytes = len(rest)
            num_lines += len(lines)
            yield [line.removesuffix(b"\r") for line in lines]
    # The last line may lack its end.
    rest = b"".join(parts)
    if rest:
        yield [rest.removesuffix(b"\r")]
