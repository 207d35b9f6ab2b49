"""Shared by the readers of labeled files: the file to read, reporting or skipping its bad rows, and
holding out a part of a training file for evaluation.

    # Bad rows may be skipped: True, or the number of rows to leave out.
    source = SourceFile("train.csv", "train_file", skip_bad_rows=False)
    source.add(17, "the label is empty")
    texts = source.resolve(texts, lines)      # refuses the file: train.csv:17: the label is empty
    train, dev = texts.split(0.1, seed=12345)

Input: rows that a reader of this package has read. Output: `LabeledFile`, the base class of what
the readers return.
"""

import dataclasses
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from bert_common.errors import UserError, did_you_mean
from bert_common.options import LARGEST_INT64, Options, option, option_class

# Value of --skip_bad_rows: whether to leave bad rows out, or how many at most; None if there is no
# such flag.
Skip = bool | int | None

# Number of rows that a message names.
_MAX_NAMED_ROWS = 5
# Limits of values and of lists of names in messages.
_MAX_QUOTED_CHARACTERS = 60
_MAX_LISTED_NAMES = 20
# Share of the rows that may be left out unless the user says how many: more have one cause.
_MOST_SKIPPED = 0.1

File = TypeVar("File", bound="LabeledFile")


@dataclasses.dataclass(frozen=True)
class LabeledFile:
    """The E examples of a file, in file order; each reader's subclass adds their fields.

    Attributes:
      path: the file.
      notes: messages about the file for the user.
      left_out: {"file", "line" or "row" or "id", "fault"} of each bad row that was left out.
    """

    path: str
    notes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    left_out: tuple[dict, ...] = dataclasses.field(default=(), kw_only=True)
    # Names of the fields with one item per example. All but the first may be None.
    _example_fields: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return len(getattr(self, self._example_fields[0]))

    def take(self, rows: np.ndarray) -> Self:
        """Returns the examples with these numbers, int64, ascending."""
        return dataclasses.replace(self, **self._select(self._example_fields, rows))

    def _select(self, names: Sequence[str], rows: np.ndarray) -> dict[str, Any]:
        selected = {}
        for name in names:
            values = getattr(self, name)
            if values is not None:
                selected[name] = items_of(values, rows)
        return selected

    def first(self, count: int | None) -> Self:
        """Returns the first `count` examples, or all of them for None."""
        if count is None or count >= len(self):
            return self
        return self.take(np.arange(count))

    def inputs(self) -> Iterable[tuple[str, ...]]:
        """Returns the texts of each example that the model reads."""
        raise NotImplementedError

    def groups(self) -> Sequence[Hashable]:
        """Returns a key for each example; `split` keeps examples with equal keys together."""
        return range(len(self))

    def strata(self) -> Sequence[Any] | None:
        """Returns a key for each example; both sides of `split` get their share of each key.

        None means that the examples are not stratified.
        """
        return None

    def split(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """Returns (training examples, held-out examples), a function of the file and the arguments.

        Args:
          fraction: share of the examples to hold out. Each stratum comes as close to it as its
            groups allow, and always keeps a group for training.

        Raises:
          UserError: nothing would be held out.
        """
        group_rows: dict[Hashable, list[int]] = defaultdict(list)
        for row, group in enumerate(self.groups()):
            group_rows[group].append(row)
        groups = list(group_rows.values())
        strata = self.strata()
        # Shuffling the groups, not the rows, keeps equal texts on one side.
        groups_by_stratum: dict[Any, list[list[int]]] = defaultdict(list)
        for number in np.random.default_rng(seed).permutation(len(groups)).tolist():
            rows = groups[number]
            stratum = None
            if strata is not None:
                # Examples of a group mostly have equal labels; the first one decides.
                stratum = strata[rows[0]]
            groups_by_stratum[stratum].append(rows)
        # A mask keeps the order of the file on both sides, whatever the random order of the groups.
        is_held_out = np.zeros(len(self), bool)
        # `expected` runs over all strata, so that a stratum with too few groups passes the rest of
        # its share on to the next one.
        expected = 0.0
        num_held_out = 0
        # Keys may be None or of mixed types, which Python can't compare; their texts always can be.
        for stratum in sorted(groups_by_stratum, key=str):
            stratum_groups = groups_by_stratum[stratum]
            expected += fraction * sum(len(value) for value in stratum_groups)
            # The last group always stays for training, so that no class is missing there.
            for rows in stratum_groups[:-1]:
                # A group is held out if that brings the total closer to the expected number.
                if num_held_out + len(rows) / 2 <= expected:
                    is_held_out[rows] = True
                    num_held_out += len(rows)
        if not num_held_out:
            raise UserError(
                f"{self.path}: --dev_fraction={fraction} of {len(self):,} examples, of which "
                f"{len(groups):,} can be told apart, is none: give more examples, a larger "
                "fraction or a separate development file"
            )
        held_out = np.flatnonzero(is_held_out)
        # The digest lets two runs verify that they held out the same examples.
        digest = hashlib.sha256(held_out.astype("<i8").tobytes()).hexdigest()[:12]
        note = (
            f"{self.path}: {num_held_out:,} of {len(self):,} examples are held out as the "
            f"development set (--dev_fraction={fraction:g}, --split_seed={seed}; SHA-256 of their "
            f"numbers {digest}…)"
        )
        # The note belongs to the training part, which always exists.
        train = self.take(np.flatnonzero(~is_held_out))
        return dataclasses.replace(train, notes=(*self.notes, note)), self.take(held_out)


@option_class
class LabeledDataOptions(Options):
    """Labeled data."""

    max_train_examples: int | None = option(
        None, "Maximum number of examples to train on, from the start of the file.", minimum=1
    )
    max_predict_examples: int | None = option(
        None, "Maximum number of examples to predict, from the start of the file.", minimum=1
    )
    dev_fraction: float = option(
        0.0,
        "Fraction of --train_file to hold out as the development set when there is no file for it. "
        "It is stratified by class; examples of the same text, article or document stay together.",
        minimum=0,
        maximum=0.9,
    )
    split_seed: int = option(
        12345,
        "Seed of the --dev_fraction split. It is independent of --seed, so that runs with "
        "different seeds are evaluated on the same examples.",
        minimum=0,
        maximum=LARGEST_INT64,
        only_with=("dev_fraction",),
    )

    # Options that the classes of tasks define, and the flag that --dev_fraction replaces.
    do_train = False
    max_eval_examples = None
    dev_flag = "dev_file"

    def check(self) -> None:
        super().check()
        # The remaining checks concern --dev_fraction only.
        if not self.dev_fraction:
            return
        flag = f"--dev_fraction={self.dev_fraction:g}"
        if getattr(self, self.dev_flag):
            raise UserError(
                f"{flag} and --{self.dev_flag} are two development sets: give one of them"
            )
        if not (getattr(self, "train_file", None) or getattr(self, "data_dir", None)):
            raise UserError(f"{flag} holds out a part of --train_file: give that file")

    def limited(self, name: str, data: File) -> File:
        """Returns the first examples of a set, as many as the options allow.

        Args:
          name: "train" and "test" have their own limits; any other set is one to evaluate on.
        """
        # The limit of evaluation sets is an option of the tasks.
        limits = {"train": self.max_train_examples, "test": self.max_predict_examples}
        return data.first(limits.get(name, self.max_eval_examples))

    def divided(self, data: File) -> dict[str, File]:
        """Returns a training file as the set "train"; with --dev_fraction its parts "train" and
        "dev", or "dev" alone when the run does not train."""
        if not self.dev_fraction:
            return {"train": data}
        train, dev = data.split(self.dev_fraction, self.split_seed)
        # A run that only evaluates divides the file as well, to score the same examples as
        # training.
        if not self.do_train:
            return {"dev": dataclasses.replace(dev, notes=train.notes)}
        # Both parts have the notes of the file; each note is reported once.
        return {"train": train, "dev": dataclasses.replace(dev, notes=())}

    def read_sets(
        self, paths: Mapping[str, tuple[str, Any]], read: Callable[[str, str, Any], File]
    ) -> dict[str, File]:
        """Returns name of a set → its examples, with "train" divided and all sets limited.

        Args:
          paths: name of a set → (flag, path).
          read: called with the name, the flag and the path of each set.
        """
        sets: dict[str, File] = {}
        for name, (flag, path) in paths.items():
            data = read(name, flag, path)
            if name == "train":
                sets.update(self.divided(data))
            else:
                sets[name] = data
        return {name: self.limited(name, data) for name, data in sets.items()}


def items_of(values: Any, rows: np.ndarray) -> Any:
    """Returns the items of an array or a sequence at these positions."""
    if isinstance(values, np.ndarray):
        return values[rows]
    return [values[row] for row in rows.tolist()]


class SourceFile:
    """A labeled file and how to read it, with the faults in its rows: all are collected, then
    reported in one message.

    Args:
      flag: name of the flag that the path came from, for error messages.
      file_format: one of the formats of the reader; "auto" decides by the extension.
      skip_bad_rows: leave bad rows out instead of refusing the file.
      delimiter: between the fields of TSV and CSV. By default the one with which the columns are
        found in the first row: the usual one, or any other sign.

    Attributes:
      faults: line (from 1) → what is wrong there. A row of several lines has its fault at its first
        line or at any other.
      unit: what the numbers count: "line", or "row" in a file without lines.
      has_mark: the file begins with a byte order mark.
      guesses: what the reader found out about the whole file, for the plan of the run.
    """

    def __init__(
        self,
        path: str,
        flag: str,
        file_format: str = "auto",
        skip_bad_rows: Skip = None,
        delimiter: str | None = None,
    ):
        self.path = path
        self.flag = flag
        self.file_format = file_format
        self.skip_bad_rows = skip_bad_rows
        self.delimiter = delimiter
        self.faults: dict[int, str] = {}
        self.unit = "line"
        self.guesses: list[str] = []
        self.has_mark = False

    def add(self, line: int, fault: str) -> None:
        """Records a fault at a line; the first one of a line is reported."""
        self.faults.setdefault(int(line), fault)

    def add_mark(self) -> None:
        """Records that the file begins with a byte order mark."""
        self.has_mark = True

    def where(self, line: int) -> str:
        """Returns the position of a line for messages."""
        if self.unit == "line":
            return f"{self.path}:{line}"
        return f"{self.path}, {self.unit} {line}"

    def good_rows(self, lines: Sequence[int]) -> np.ndarray:
        """Returns the numbers of the rows without a fault: int64, ascending.

        Args:
          lines: [E], the line that each row begins on.

        Raises:
          UserError: there are bad rows, and they are not to be skipped, or are too many for that.
        """
        if not self.faults:
            return np.arange(len(lines))
        fault_lines = sorted(self.faults)
        # A fault belongs to the last row that begins at or before its line. Only the first fault of
        # a row is reported.
        row_of_fault = np.searchsorted(np.asarray(lines), fault_lines, side="right") - 1
        bad_rows, first_faults = np.unique(row_of_fault, return_index=True)
        self.faults = {line: self.faults[line] for line in items_of(fault_lines, first_faults)}
        is_too_many = len(bad_rows) > self._limit(len(lines)) or len(bad_rows) == len(lines)
        if not self.skip_bad_rows or bad_rows[0] < 0 or is_too_many:
            raise self.error(len(lines))
        return np.setdiff1d(np.arange(len(lines)), bad_rows)

    def _limit(self, num_rows: int) -> int:
        """Returns how many rows may be left out; one of the few rows of a small file may."""
        # In Python True is an int.
        if self.skip_bad_rows and not isinstance(self.skip_bad_rows, bool):
            return self.skip_bad_rows
        return max(int(_MOST_SKIPPED * num_rows), 1)

    def resolve(self, examples: File, lines: Sequence[int]) -> File:
        """Returns the examples, which were made of all rows, without the bad ones.

        Raises:
          UserError: see `good_rows`.
        """
        # This call also reduces the faults to one per row, which the notes count.
        rows = self.good_rows(lines)
        notes = (*examples.notes, *self.notes(len(lines)))
        if not self.faults:
            return dataclasses.replace(examples, notes=notes)
        return dataclasses.replace(examples.take(rows), notes=notes, left_out=self.left_out())

    def left_out(self) -> tuple[dict, ...]:
        """Returns the bad rows, see `LabeledFile`."""
        return tuple(
            {"file": self.path, self.unit: line, "fault": fault}
            for line, fault in self.faults.items()
        )

    def notes(self, num_rows: int) -> tuple[str, ...]:
        """Returns the guesses, and a note on the rows left out of `num_rows` if any was."""
        notes = [f"{self.path}: {guess}" for guess in self.guesses]
        if self.faults:
            notes.append(self._describe(num_rows, "left out"))
        return tuple(notes)

    def error(self, num_rows: int) -> UserError:
        """Returns the error that refuses a file of `num_rows` rows, with all faults in one line."""
        num_bad = len(self.faults)
        fits = num_bad <= self._limit(num_rows) and num_bad < num_rows
        # Equal faults of several rows have one cause, which is worth mending: skipping would spoil
        # the training. The flag is only suggested to users of programs that have it.
        is_one_cause = num_bad > 1 and len(set(self.faults.values())) == 1
        advises_skipping = self.skip_bad_rows is False and fits and not is_one_cause
        if num_bad > 1:
            state = "bad"
            if advises_skipping:
                state += " (fix them, or leave them out with --skip_bad_rows)"
            elif self.skip_bad_rows and num_bad < num_rows:
                state += (
                    f", and at most {self._limit(num_rows):,} may be left out: mend their cause, "
                    f"or give their number, --skip_bad_rows={num_bad}"
                )
            return UserError(self._describe(num_rows, state))
        ((line, fault),) = self.faults.items()
        message = f"{self.where(line)}: {fault}"
        if advises_skipping:
            message += "; or leave it out with --skip_bad_rows"
        return UserError(message)

    def _describe(self, num_rows: int, state: str) -> str:
        # Equal faults of neighboring rows share one text.
        named = list(self.faults)[:_MAX_NAMED_ROWS]
        parts = []
        for fault, group in itertools.groupby(named, key=self.faults.__getitem__):
            lines = [str(value) for value in group]
            noun = self.unit if len(lines) == 1 else f"{self.unit}s"
            parts.append(f"{noun} {', '.join(lines)}: {fault}")
        if len(self.faults) > len(named):
            parts.append(f"and {len(self.faults) - len(named):,} more")
        return (
            f"{self.path}: {len(self.faults):,} of {num_rows:,} rows are {state}: "
            f"{'; '.join(parts)}"
        )


def no_column(column: str, flag: str, columns: Sequence[str]) -> str:
    """Returns the message for a column, named by a flag, that a file does not have."""
    hint = did_you_mean(column, columns)
    if hint:
        hint += f" The columns are {listed(columns)}"
    else:
        hint = f"; the columns are {listed(columns)}"
    return f"no column {quoted(column)} (--{flag}){hint}"


def quoted(value: object) -> str:
    """Returns a value as messages quote it: on one line, and shortened."""
    text = repr(value)
    if len(text) > _MAX_QUOTED_CHARACTERS:
        text = f"{text[:_MAX_QUOTED_CHARACTERS]}…"
    return text


def listed(names: Sequence[str]) -> str:
    """Returns quoted names separated by commas, not more than `_MAX_LISTED_NAMES`."""
    if not names:
        return "none"
    text = ", ".join(quoted(name) for name in names[:_MAX_LISTED_NAMES])
    if len(names) > _MAX_LISTED_NAMES:
        text += f" and {len(names) - _MAX_LISTED_NAMES} more"
    return text
