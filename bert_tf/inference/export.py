"""Exports a checkpoint for others to serve without this project, for `export_model.py`.

Input: a checkpoint, a task, whose class (`bert_tf/tasks/inference.py`) builds the graphs, and a
format, a subclass of `ExportFormat` with a row in `FORMATS` of `options.py`. Output: a directory,
which appears once it has been loaded back and its outputs equal the model's.
"""

import abc
import dataclasses
import glob
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_common.errors import UserError, say
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
# Built-in texts with everything that tokenizers are known to differ in.
SAMPLE_FILE = os.path.join(os.path.dirname(__file__), "sample.jsonl")
_LINES_AT_ONCE = 1000
_MAX_SHOWN_DIFFERENCES = 5
# Number of texts that an export and the model are compared on.
CHECKED = 8
_MAX_DIFFERENCE = 1e-3
Arrays: TypeAlias = Mapping[str, np.ndarray]
# Name → "dtype [shape]", of inputs and of outputs.
Signature: TypeAlias = tuple[dict[str, str], dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to one of the signatures of an export.

    Attributes:
      inputs: name → array; strings are arrays of bytes objects.
      expected: the model's outputs; the export may have further ones.
    """

    signature: str
    inputs: Arrays
    expected: Arrays


@dataclasses.dataclass(frozen=True)
class LoadedExport:
    """An export as its runtime sees it, e.g. `tf.saved_model.load`.

    Attributes:
      signatures: name → inputs and outputs.
      ask: (signature, inputs) → outputs; strings are bytes objects.
    """

    signatures: dict[str, Signature]
    ask: Callable[[str, Arrays], Arrays]


class ExportFormat(abc.ABC):
    """A format of exports.

    Attributes:
      takes_strings: whether the tokenizer is part of the export.
    """

    takes_strings = True

    def __init__(self, options: ExportOptions):
        self.options = options

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        """Adapts the task of that name; raises `UserError` if the format has no such export."""
        return

    @abc.abstractmethod
    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        """Returns requests to compare the export and the model with.

        Args:
          texts: texts for which the tokenizer in the graph gives the exact tokens.
        """

    @abc.abstractmethod
    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        """Writes the export into an empty directory."""

    @abc.abstractmethod
    def load(self, directory: str) -> LoadedExport:
        """Loads a directory that `write` has filled."""

    def measure(self, export: LoadedExport) -> Any:
        """Returns the loss of score by quantization, with a method `describe`; None if it is not
        measured."""
        return None


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Agreement of the tokenizer in the graph with the exact one on a text.

    Attributes:
      lines: number of lines.
      differences: lines with other tokens: number ("line"), "text", and both tokens ("exact",
        "graph").
    """

    name: str
    lines: int
    differences: list[dict]

    @property
    def agreeing(self) -> int:
        """The number of lines with the exact tokens."""
        return self.lines - len(self.differences)

    def describe(self) -> str:
        """Returns a line of text, and three for each of the first differences."""
        lines = [
            f"{self.name}: the tokenizer in the graph gives the exact tokens for "
            f"{self.agreeing:,} of {self.lines:,} lines ({100 * self.agreeing / self.lines:.2f} %)"
        ]
        for difference in self.differences[:_MAX_SHOWN_DIFFERENCES]:
            lines += [
                f"  line {difference['line']}: {difference['text'][:100]!r}",
                f"    exact: {' '.join(difference['exact'][:30])}",
                f"    graph: {' '.join(difference['graph'][:30])}",
            ]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """Report of an export.

    Attributes:
      signatures: as the runtime of the export sees them.
      agreement: of the tokenizer in the graph, if there is one.
      max_difference: largest difference of an output from the model's.
      cosines: cosines of vectors and logits with the model's, without padding.
      score_loss: result of `ExportFormat.measure`.
      size: bytes of all files.
    """

    directory: str
    task: str
    signatures: dict[str, Signature]
    agreement: Agreement | None
    max_difference: float
    cosines: np.ndarray
    quantized: bool
    score_loss: Any
    size: int
    notes: list[str]

    def describe(self) -> str:
        """Returns the report for the user."""
        lines = [f"note: {note}" for note in self.notes]
        if self.agreement:
            lines.append(self.agreement.describe())
        if self.quantized:
            # After rounding, the largest difference of many numbers says little.
            lines.append(
                f"loaded back: cosine with the model's outputs {self.cosines.mean():.4f} on "
                f"average, {self.cosines.min():.4f} at least"
            )
        else:
            lines.append(
                f"loaded back: the largest difference from the model is {self.max_difference:.1e}"
            )
        for name, (inputs, outputs) in self.signatures.items():
            lines.append(f"signature {name}")
            for key, value in inputs.items():
                lines.append(f"  in  {key}: {value}")
            for key, value in outputs.items():
                lines.append(f"  out {key}: {value}")
        if self.score_loss:
            lines.append(self.score_loss.describe())
        lines.append(f"wrote {self.directory} ({self.size / 1e6:.1f} MB)")
        return "\n".join(lines)


def run(options: ExportOptions) -> None:
    """Exports, and prints the report."""
    say(export(options).describe())


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
        texts = [json_files.parse(value) for value in file]
    checkpoint = open_checkpoint(options.init_checkpoint, **options.companions())
    # TF-Hub's interface is made for an encoder, whatever heads the checkpoint has.
    task_name = options.task
    if task_name is None and options.format_name == TFHUB:
        task_name = ENCODER_TASK
    task_name = choose_task(checkpoint, task_name)
    settings = options.settings()
    settings.check_read_by(task_name, options.exported)
    task = task_class(task_name)(checkpoint, settings)
    export_format.prepare(checkpoint, task_name, task)
    agreement = None
    if export_format.takes_strings:
        agreement = compare_tokenizers(
            "built-in sample", texts, task.tokenizer, task.graph_tokenizer, task.special_tokens
        )
        # Outputs can be compared only for texts with the same tokens.
        differing = set(difference["text"] for difference in agreement.differences)
        texts = [text for text in texts if text not in differing]
    requests = export_format.requests(task, texts)
    # A directory that fails any check below never appears under its name.
    with files.new_directory(options.export_dir, "export_dir") as directory:
        export_format.write(task, directory, requests)
        if agreement:
            _write_agreement(os.path.join(directory, AGREEMENT_FILE), agreement)
        served = export_format.load(directory)
        is_exact = options.quantize == "none"
        max_difference, cosines = compare(served, requests, is_exact)
        score_loss = export_format.measure(served)
        paths = filter(os.path.isfile, glob.iglob(f"{glob.escape(directory)}/**", recursive=True))
        size = sum(os.path.getsize(value) for value in paths)
    return Export(
        directory=options.export_dir,
        task=task_name,
        signatures=served.signatures,
        agreement=agreement,
        max_difference=max_difference,
        cosines=cosines,
        quantized=not is_exact,
        score_loss=score_loss,
        size=size,
        notes=task.notes,
    )


def _write_agreement(path: str, agreement: Agreement) -> None:
    """Writes the agreement of the tokenizers beside the model."""
    content = {
        "lines": agreement.lines,
        "agreeing": agreement.agreeing,
        "differences": agreement.differences,
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    json_files.write(path, {agreement.name: content})


def compare_tokenizers(
    name: str,
    texts: Sequence[str],
    tokenizer: Tokenizer,
    graph: GraphTokenizer,
    special_tokens: bool = False,
) -> Agreement:
    """Tokenizes lines by the exact tokenizer and in a graph.

    Args:
      special_tokens: whether "[MASK]" and the like in a text are these tokens.
    """
    token_of = tokenizer.vocabulary.token_of
    differences = []
    # In chunks, as the graph keeps all tokens of a call in memory.
    for start in range(0, len(texts), _LINES_AT_ONCE):
        chunk = texts[start : start + _LINES_AT_ONCE]
        # The reference is the tokenizer that training and predictions use.
        exact = tokenizer.encode_batch(chunk, special_tokens)
        exact_rows = np.split(exact.ids, np.cumsum(exact.row_lengths)[:-1])
        graph_rows = graph(tf.constant([value.encode() for value in chunk])).ids.to_list()
        for row, text in enumerate(chunk):
            exact_ids = exact_rows[row].tolist()
            if exact_ids != graph_rows[row]:
                difference = {
                    "line": start + row + 1,
                    "text": text,
                    "exact": [token_of(value) for value in exact_ids],
                    "graph": [token_of(value) for value in graph_rows[row]],
                }
                differences.append(difference)
    return Agreement(name, len(texts), differences)


def compare(
    served: LoadedExport, requests: list[Request], exact: bool = True
) -> tuple[float, np.ndarray]:
    """Compares outputs of an export with the model's.

    Returns:
      The largest difference, and the cosines of vectors and logits, without padding.

    Raises:
      RuntimeError: `exact` numbers differ by more than rounding.
    """
    max_difference = 0.0
    cosines = [np.zeros(0)]
    for request in requests:
        outputs = served.ask(request.signature, request.inputs)
        mask = request.inputs.get("attention_mask")
        for name, expected in request.expected.items():
            if not np.issubdtype(expected.dtype, np.floating):
                continue
            difference = np.max(np.abs(outputs[name] - expected), initial=0.0)
            # NumPy's maximum keeps NaN, which is no small difference.
            max_difference = np.maximum(max_difference, difference)
            ours = np.float64(expected)
            theirs = np.float64(outputs[name])
            # Outputs by token have meaningless values at padding.
            if mask is not None and expected.ndim == 3:
                ours = ours[mask > 0]
                theirs = theirs[mask > 0]
            lengths = np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1)
            cosines.append(np.ravel((ours * theirs).sum(-1) / np.maximum(lengths, 1e-30)))
    # A comparison with NaN is false.
    if exact and not max_difference < _MAX_DIFFERENCE:
        raise RuntimeError(f"the export differs from the model by {max_difference}")
    return float(max_difference), np.concatenate(cosines)


def checked_inputs(task: TaskInference, texts: list[str]) -> tuple[dict[str, list], list]:
    """Returns at most `CHECKED` inputs that the task takes, as strings for `serve_texts` and as
    `task.check` returns them."""
    # Each text is the first of one input; texts after it fill the other parts, such as a context.
    rows = []
    inputs: list = []
    for number in range(len(texts)):
        row = task.sample_input(texts[number:] + texts[:number])
        try:
            inputs.append(task.check(row))
        except UserError:
            # A task that fills masks, for example, takes no text without a mask.
            continue
        rows.append(row)
        if len(inputs) == CHECKED:
            break
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(task.text_inputs, columns, strict=True)), inputs


def as_arrays(outputs: Mapping) -> Arrays:
    """Converts tensors to NumPy arrays."""
    return {name: value.numpy() for name, value in outputs.items()}


def describe_tensor(dtype: str, shape: Any) -> str:
    """Returns "dtype [shape]", with "?" for sizes that are None."""
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"{dtype} [{sizes}]"
