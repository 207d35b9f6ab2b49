"""Files for the GLUE server: written for one task, checked and zipped for all.

Input: the predictions of a test set, or the files of several runs. Output: `<Task>.tsv`, or the zip
of all. https://gluebenchmark.com/faq
"""

import dataclasses
import io
import os
import re
import zipfile
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bert_common import files, outputs
from bert_common.errors import UserError, say
from bert_common.options import DIRECTORY, OUTPUT, Options, option, option_class

_HEADER = "index\tprediction"
_BINARY = ("0", "1")
_THREE_WAY = ("contradiction", "entailment", "neutral")
_TWO_WAY = ("entailment", "not_entailment")
_HIGHEST_SIMILARITY = 5.0
# The fixed date of the files in a zip, so that the same predictions make the same bytes.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class SubmissionFile:
    """Layout of one file that the server expects.

    Attributes:
      num_examples: of the task's test set.
      labels: names of the classes; None for similarities from 0 to 5.
      constant: prediction for a task that was not run: the majority class of the training set, the
        first of classes that are equally frequent, the rounded mean of the similarities.
    """

    num_examples: int
    labels: tuple[str, ...] | None
    constant: str


SUBMISSION_FILES: dict[str, SubmissionFile] = {
    "CoLA.tsv": SubmissionFile(1063, _BINARY, "1"),
    "SST-2.tsv": SubmissionFile(1821, _BINARY, "1"),
    "MRPC.tsv": SubmissionFile(1725, _BINARY, "1"),
    "STS-B.tsv": SubmissionFile(1379, None, "2.700"),
    "QQP.tsv": SubmissionFile(390965, _BINARY, "0"),
    "MNLI-m.tsv": SubmissionFile(9796, _THREE_WAY, "entailment"),
    "MNLI-mm.tsv": SubmissionFile(9847, _THREE_WAY, "entailment"),
    "QNLI.tsv": SubmissionFile(5463, _TWO_WAY, "entailment"),
    "RTE.tsv": SubmissionFile(3000, _TWO_WAY, "entailment"),
    "WNLI.tsv": SubmissionFile(146, _BINARY, "0"),
    "AX.tsv": SubmissionFile(1104, _THREE_WAY, "entailment"),
}


@option_class
class SubmissionOptions(Options):
    """Options of the submission."""

    input_dir: tuple[str, ...] = option(
        None,
        "Directories with the files of the tasks, also below them; each task may have one file.",
        required=True,
        path=DIRECTORY,
    )
    output_file: str = option(
        None, "The zip file to write; replaced if it exists.", required=True, path=OUTPUT
    )
    fill_missing: bool = option(
        False,
        "Whether tasks that were not run get a constant prediction, the majority class of the "
        "training set: the server takes only complete submissions. Their scores mean nothing.",
    )


@dataclasses.dataclass(frozen=True)
class SubmissionEntry:
    """One file of a submission.

    Attributes:
      name: e.g. "CoLA.tsv".
      source: path of the file; None if the predictions are constant or missing.
    """

    name: str
    source: str | None
    predictions: tuple[str, ...]


def submission_name(folder: str, split: str) -> str:
    """Returns the server's name for the predictions of one split, e.g. ("MNLI", "test_matched") →
    "MNLI-m.tsv"."""
    names = {"test_matched": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"}
    return names.get(split, f"{folder}.tsv")


def write_submission_file(
    path: str, ids: Sequence[object], predictions: Sequence[str] | Sequence[float], regression: bool
) -> None:
    """Writes `<Task>.tsv`: the header `index<TAB>prediction` and a line for each example.

    Args:
      path: e.g. ".../STS-B.tsv".
      ids: the column `index` of the test file, in its order.
      predictions: for each example the official name of its class; for regression a number, which
        is clipped to 0 … 5 and written with three decimals.

    Raises:
      UserError: a number is not finite, or the file can't be written.
    """
    if regression:
        numbers = np.asarray(predictions, np.float64)
        (wrong,) = np.nonzero(~np.isfinite(numbers))
        if len(wrong):
            raise UserError(
                f"{path}: prediction {wrong[0]} is {numbers[wrong[0]]}: the model has diverged; "
                "train it again with a smaller --learning_rate"
            )
        # Adding 0 makes the 0 of a clipped -0.0 positive.
        numbers = np.clip(numbers, 0, _HIGHEST_SIMILARITY) + 0.0
        predictions = [f"{number:.3f}" for number in numbers]
    with files.atomic_write(path) as file:
        file.write(f"{_HEADER}\n")
        for index, prediction in zip(ids, predictions, strict=True):
            file.write(f"{index}\t{prediction}\n")


def run(options: SubmissionOptions) -> None:
    """Runs `make_submission` and prints what is in the zip file, for `make_glue_submission.py`."""
    for path in _find(options.input_dir).values():
        files.register.note(path, "input_dir")
    outputs.prepare_output_file(options.output_file, "output_file")
    # Every file is checked before the zip file is replaced.
    entries = make_submission(options.input_dir, options.output_file, options.fill_missing)
    say(describe_submission(entries))
    missing = [entry.name for entry in entries if not entry.predictions]
    if missing:
        say(
            f"missing: {', '.join(missing)}; the server takes only complete submissions "
            "(--fill_missing)"
        )
    say(f"wrote {options.output_file}")


def describe_submission(entries: Sequence[SubmissionEntry]) -> str:
    """Returns a table: each file, its number of predictions, their source, and the number of
    predictions of each class."""
    lines = [f"{'file':11} predictions  {'distribution':56}  from"]
    for entry in entries:
        if entry.source is not None:
            source = entry.source
        else:
            source = "constant" if entry.predictions else "MISSING"
        distribution = _distribution(entry)
        lines.append(f"{entry.name:11} {len(entry.predictions):11,}  {distribution:56}  {source}")
    return "\n".join(lines)


def _distribution(entry: SubmissionEntry) -> str:
    if not entry.predictions:
        return "-"
    if SUBMISSION_FILES[entry.name].labels is None:
        numbers = np.array(entry.predictions, np.float64)
        return f"{numbers.min():.4f} to {numbers.max():.4f}, mean {numbers.mean():.4f}"
    counts = sorted(Counter(entry.predictions).items())
    return ", ".join(f"{label}: {count}" for label, count in counts)


def make_submission(
    directories: Sequence[str], output: str, fill_missing: bool = False
) -> list[SubmissionEntry]:
    """Zips all the `<Task>.tsv` found in or below the directories, each checked, and replaces the
    file `output`.

    WNLI, where it is missing, is predicted as the paper did: always the majority class of the
    training set. With `fill_missing` so are the other missing tasks, as the server takes only
    complete submissions; their scores mean nothing.

    Returns:
      An entry for each file of `SUBMISSION_FILES`, in that order.

    Raises:
      UserError: no task found, more than one file for a task, or a file that the server would
        refuse.
    """
    paths = _find(directories)
    if not paths:
        raise UserError(
            f"--input_dir: no {', '.join(SUBMISSION_FILES)} in or below {', '.join(directories)}: "
            "run_classifier.py --do_predict writes them"
        )
    entries = []
    # In memory first: an archive can't be written into a pipe, which can't seek.
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, expected in SUBMISSION_FILES.items():
            source = paths.get(name)
            predictions: tuple[str, ...] = ()
            if source is not None:
                predictions = read_submission_file(source, expected)
            # The paper, too, submitted the majority class for WNLI.
            elif fill_missing or name == "WNLI.tsv":
                predictions = (expected.constant,) * expected.num_examples
            if predictions:
                lines = [_HEADER]
                for index, label in enumerate(predictions):
                    lines.append(f"{index}\t{label}")
                entry = zipfile.ZipInfo(name, _ZIP_DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, "\n".join(lines) + "\n")
            entries.append(SubmissionEntry(name, source, predictions))
    with files.atomic_write(output, "wb") as file:
        file.write(packed.getvalue())
    return entries


def read_submission_file(path: str, expected: SubmissionFile) -> tuple[str, ...]:
    """Returns the predictions of a `<Task>.tsv`.

    Raises:
      UserError: the server would refuse the file.
    """
    lines = files.read_text(path).removesuffix("\n").split("\n")
    if lines[0] != _HEADER:
        raise UserError(
            f"{path}:1: the header is {lines[0][:80]!r}, the GLUE server expects {_HEADER!r}"
        )
    predictions = []
    for index, line in enumerate(lines[1 : expected.num_examples + 1]):
        # The header is line 1.
        where = f"{path}:{index + 2}"
        columns = line.split("\t")
        if len(columns) != 2:
            raise UserError(f"{where}: {len(columns)} columns, 2 are expected: {_HEADER!r}")
        if columns[0] != str(index):
            raise UserError(
                f"{where}: index {columns[0][:80]!r} where {index} is expected: the rows must be "
                "all those of the test file, in its order"
            )
        _check_prediction(columns[1], expected, where)
        predictions.append(columns[1])
    if len(lines) - 1 != expected.num_examples:
        raise UserError(
            f"{path} has {len(lines) - 1:,} predictions, the test set has "
            f"{expected.num_examples:,} examples: predict the whole official test file"
        )
    return tuple(predictions)


def _check_prediction(prediction: str, expected: SubmissionFile, where: str) -> None:
    """Raises `UserError` for a prediction that the server would refuse."""
    if expected.labels is None:
        allowed = "a number from 0 to 5"
        # The server reads plain decimals: no signs, exponents or "nan".
        is_decimal = re.fullmatch(r"\d+(\.\d*)?", prediction)
        is_allowed = is_decimal and float(prediction) <= _HIGHEST_SIMILARITY
    else:
        allowed = f"one of {', '.join(expected.labels)}"
        is_allowed = prediction in expected.labels
    if not is_allowed:
        raise UserError(f"{where}: the prediction is {prediction[:80]!r}, it must be {allowed}")


def _find(directories: Sequence[str]) -> dict[str, str]:
    """Returns name → path of each task's file in and below directories; links to directories are
    not followed."""
    # A misspelled directory would look like missing tasks.
    for directory in directories:
        if not files.is_directory(directory):
            raise UserError(f"--input_dir: {directory} is not a directory")
    paths: dict[str, str] = {}
    unvisited = list(directories)
    # The list grows while it is read.
    for directory in unvisited:
        for name in files.list_directory(directory):
            path = os.path.join(directory, name)
            if files.is_directory(path):
                if not os.path.islink(path):
                    unvisited.append(path)
            elif name in SUBMISSION_FILES:
                first = paths.setdefault(name, path)
                if not files.same_file(first, path):
                    raise UserError(
                        f"--input_dir: two files for {name}: {first} and {path}: name only the "
                        "directory of the run that is meant"
                    )
    return paths
