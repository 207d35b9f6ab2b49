"""Exports a checkpoint for those who serve without this project, for `export_model.py`.

Input: a checkpoint, a task, whose class (`bert_tf/tasks/inference.py`) has the graphs, and a
format, a class with the interface that stands here and a row in `FORMATS` of `options.py`. Output:
a directory, which appears when it has been loaded back and gives what the model gives.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.inference.options import (
    ENCODER_TASK,
    FORMATS,
    TFHUB,
    ExportOptions,
    choose_task,
    task_class,
)
from bert_tf.tasks.inference import TaskInference
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint, open_checkpoint
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from modeling.saving import needs_tensorflow

AGREEMENT_FILE = os.path.join("assets.extra", "tokenizer_agreement.json")
# The built-in texts that tokenizers are compared on: whatever tokenizers are known to differ in.
SAMPLE_FILE = os.path.join(os.path.dirname(__file__), "sample.jsonl")
# Lines that are tokenized together, and differences that are shown.
_LINES_AT_ONCE, _SHOWN = 1000, 5
# Texts that an export and the model are compared on.
CHECKED = 8
Arrays: TypeAlias = Mapping[str, np.ndarray]
# Name → "dtype [shape]", of inputs and of outputs.
Signature: TypeAlias = tuple[dict[str, str], dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to an export (one of its `signatures`), with the model's outputs for it; an export
    may have others."""

    signature: str
    inputs: Arrays  # Strings are arrays of bytes objects.
    expected: Arrays


@dataclasses.dataclass(frozen=True)
class LoadedExport:
    """An export as its runtime sees it, e.g. `tf.saved_model.load`: its inputs and outputs by name,
    and a function from a signature and its inputs to the outputs; strings are bytes objects."""

    signatures: dict[str, Signature]
    ask: Callable[[str, Arrays], Arrays]


class ExportFormat:
    """A way of writing a model."""

    takes_strings = True  # The tokenizer is in the export.
    # Task, texts that the tokenizer in the graph and the exact one see alike → requests to check
    # the export with.
    requests: Callable[[TaskInference, list[str]], list[Request]]
    # Task, an empty directory to be filled, the requests.
    write: Callable[[TaskInference, str, list[Request]], None]
    # A directory that `write` has filled → the export as its runtime sees it.
    load: Callable[[str], LoadedExport]

    def __init__(self, options: ExportOptions):
        self.options = options

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        """Settles what the format changes in the task of that name; raises `UserError` where it has
        no such export."""

    def measure(self, export: LoadedExport) -> Any:
        """The loss of score of a quantized export, with a method `describe`; None where it is not
        measured."""
        return None


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Of a text the number of lines, and those that the tokenizer in the graph and the exact one
    see differently: number ("line"), "text", and the tokens of both ("exact", "graph")."""

    name: str
    lines: int
    differences: list[dict]

    def describe(self) -> str:
        """A line of text, and three for each of the first differences."""
        agreeing = self.lines - len(self.differences)
        lines = [
            f"{self.name}: the tokenizer in the graph gives the exact tokens for {agreeing:,} of {self.lines:,} lines "
            f"({100 * agreeing / self.lines:.2f} %)"
        ]
        for one in self.differences[:_SHOWN]:
            lines += [
                f"  line {one['line']}: {one['text'][:100]!r}",
                f"    exact: {' '.join(one['exact'][:30])}",
                f"    graph: {' '.join(one['graph'][:30])}",
            ]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Export:
    """Report of an export: as its runtime sees it, and beside the model (`compare`,
    `ExportFormat.measure`)."""

    directory: str
    task: str
    signatures: dict[str, Signature]
    agreements: list[Agreement]
    max_difference: float
    cosines: np.ndarray
    seconds: float
    quantized: bool
    score_loss: object | None
    size: int
    notes: list[str]

    def describe(self) -> str:
        """The report as a user reads it."""
        lines = [f"note: {note}" for note in self.notes]
        lines += [agreement.describe() for agreement in self.agreements]
        # Of what was rounded, the largest difference of one of many numbers means little.
        lines.append(
            "loaded back: "
            + (
                f"cosine with the model's outputs {self.cosines.mean():.4f} on average, {self.cosines.min():.4f} at least; "
                f"{CHECKED} texts took {1e3 * self.seconds:.1f} ms"
                if self.quantized
                else f"the largest difference from the model is {self.max_difference:.1e}"
            )
        )
        for name, (inputs, outputs) in self.signatures.items():
            lines.append(f"signature {name}")
            lines += [
                f"  {'in ' if values is inputs else 'out'} {key}: {value}"
                for values in (inputs, outputs)
                for key, value in values.items()
            ]
        return "\n".join(
            [
                *lines,
                *([self.score_loss.describe()] if self.score_loss else []),
                f"wrote {self.directory} ({self.size / 1e6:.1f} MB)",
            ]
        )


def run(options: ExportOptions) -> None:
    """Exports, and prints the report."""
    print(export(options).describe())


def export(options: ExportOptions) -> Export:
    """Exports a checkpoint to a directory, which appears when it is complete and has been loaded
    back.

    Raises:
      UserError: the directory exists, the format is not installed, the checkpoint can't be read or
        does not fit the task, or quantization costs more of the score than is allowed.
    """
    needs_tensorflow("an export")
    files.refuse_existing(options.export_dir, "export_dir")
    export_format = FORMATS.load(options.format_name)(options)
    with open(SAMPLE_FILE, encoding="utf-8") as file:
        sample = list(map(json_files.parse, file))
    texts = {"built-in sample": sample}
    if options.check_file:
        text = files.read_text(files.check_readable(options.check_file, "check_file"))
        if not text:
            raise UserError(f"--check_file: {options.check_file} is empty")
        # Lines end with "\n" only: other separators are for the tokenizer.
        texts[options.check_file] = text.removesuffix("\n").split("\n")
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    task_name, settings = (
        choose_task(
            loaded, options.task or (ENCODER_TASK if options.format_name == TFHUB else None)
        ),
        options.settings(),
    )
    settings.check_read_by(task_name, options.exported)
    task = task_class(task_name)(loaded, settings)
    export_format.prepare(loaded, task_name, task)
    agreements = (
        [
            compare_tokenizers(
                name, lines, task.tokenizer, task.graph_tokenizer, task.special_tokens
            )
            for name, lines in texts.items()
        ]
        if export_format.takes_strings
        else []
    )
    differing = {one["text"] for agreement in agreements[:1] for one in agreement.differences}
    requests = export_format.requests(task, [text for text in sample if text not in differing])
    with files.new_directory(options.export_dir, "export_dir") as directory:
        export_format.write(task, directory, requests)
        if agreements:
            os.makedirs(os.path.join(directory, os.path.dirname(AGREEMENT_FILE)), exist_ok=True)
            json_files.write(
                os.path.join(directory, AGREEMENT_FILE),
                {
                    agreement.name: {
                        "lines": agreement.lines,
                        "agreeing": agreement.lines - len(agreement.differences),
                        "differences": agreement.differences,
                    }
                    for agreement in agreements
                },
            )
        served = export_format.load(directory)
        comparison = compare(served, requests, exact := options.quantize == "none")
        score_loss = export_format.measure(served)
        size = sum(
            os.path.getsize(os.path.join(folder, file))
            for folder, _, found in os.walk(directory)
            for file in found
        )
    return Export(
        options.export_dir,
        task_name,
        served.signatures,
        agreements,
        *comparison,
        not exact,
        score_loss,
        size,
        task.notes,
    )


def compare_tokenizers(
    name: str,
    texts: Sequence[str],
    tokenizer: Tokenizer,
    graph: GraphTokenizer,
    special_tokens: bool = False,
) -> Agreement:
    """Tokenizes lines both ways; with `special_tokens` "[MASK]" and the like are those tokens, for
    both."""
    differences, tokens = [], tokenizer.vocabulary.tokens
    for start in range(0, len(texts), _LINES_AT_ONCE):
        chunk = texts[start : start + _LINES_AT_ONCE]
        exact = tokenizer.encode_batch(chunk, special_tokens)
        rows = np.split(exact.ids, np.cumsum(exact.row_lengths)[:-1])
        found = graph(tf.constant([text.encode() for text in chunk])).ids.to_list()
        differences += [
            {
                "line": number,
                "text": text,
                "exact": [tokens[id] for id in row],
                "graph": [tokens[id] for id in ids],
            }
            for number, (text, row, ids) in enumerate(
                zip(chunk, rows, found, strict=True), start + 1
            )
            if row.tolist() != ids
        ]
    return Agreement(name, len(texts), differences)


def compare(
    served: LoadedExport, requests: list[Request], exact: bool = True
) -> tuple[float, np.ndarray, float]:
    """Asks an export what the model was asked; raises `RuntimeError` where `exact` numbers differ
    by more than rounding.

    Returns the largest difference; cosines of the model's vectors and logits with those of the
    export, padding left out; and seconds of an answer to the longest request, of what is not exact
    of the quicker of two.
    """
    largest, seconds, cosines = 0.0, 0.0, [np.zeros(0)]
    for request in requests:
        times = [time.perf_counter()]
        for _ in range(1 if exact else 2):
            outputs = served.ask(request.signature, request.inputs)
            times.append(time.perf_counter())
        seconds = max(seconds, min(np.diff(times)))
        for name, expected in request.expected.items():
            if np.issubdtype(expected.dtype, np.floating):
                # NaN stays, and is no small difference.
                largest = np.maximum(largest, np.max(np.abs(outputs[name] - expected), initial=0.0))
                mask = request.inputs.get("attention_mask")
                kept = mask > 0 if mask is not None and expected.ndim == 3 else ...
                ours, theirs = (np.float64(value[kept]) for value in (expected, outputs[name]))
                lengths = np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1)
                cosines.append(np.ravel((ours * theirs).sum(-1) / np.maximum(lengths, 1e-30)))
    if exact and not largest < 1e-3:
        raise RuntimeError(f"the export differs from the model by {largest}")
    return float(largest), np.concatenate(cosines), seconds


def checked_inputs(task: TaskInference, texts: list[str]) -> tuple[dict[str, list], list]:
    """At most `CHECKED` inputs that the task takes, as strings for `serve_texts` and as
    `task.check` returns them."""
    rows, inputs = [], []
    for number in range(len(texts)):
        row = task.sample_input(texts[number:] + texts[:number])
        try:
            inputs.append(task.check(row))
        except UserError:
            # E.g. a text without a mask for a task that fills masks.
            continue
        rows.append(row)
        if len(rows) == CHECKED:
            break
    return dict(zip(task.text_inputs, map(list, zip(*rows, strict=True)), strict=True)), inputs


def as_arrays(outputs: Mapping) -> Arrays:
    """Tensors as NumPy has them."""
    return {name: value.numpy() for name, value in outputs.items()}


def describe_tensor(dtype: str, shape: Any) -> str:
    """As it stands in a `Signature`; None or a name for a size that may vary."""
    return f"{dtype} [{', '.join('?' if size is None else str(size) for size in shape)}]"
