"""What the readers of labelled files share: bad rows are all found before a file is refused, or
left out; a part of a training file can be held out for evaluation.

    bad = BadRows("train.csv", skip=False)
    bad.add(17, "the label is empty")
    texts = bad.resolve(texts, lines)      # refuses the file: train.csv:17: the label is empty
    train, dev = texts.split(0.1, seed=12345)

Input: what a reader of this folder has found. Output: `LabelledFile`, which each of them returns.
"""

import dataclasses
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from bert_common.errors import UserError
from bert_common.options import LARGEST_INT64, Options, option

# Rows named in a message.
_SHOWN_ROWS = 5

File = TypeVar("File", bound="LabelledFile")


@dataclasses.dataclass(frozen=True)
class LabelledFile:
    """The examples of a file in its order, E of them; a reader's class has their fields.

    Attributes:
      path: the file.
      notes: what the user should know about it.
    """

    path: str
    notes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    # Names of the fields that have an item for each example, or are None; the first has them.
    _of_examples: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return len(getattr(self, self._of_examples[0]))

    def take(self, chosen: np.ndarray) -> Self:
        """The examples of these numbers, int64, rising."""
        return dataclasses.replace(self, **self._taken(self._of_examples, chosen))

    def _taken(self, names: Sequence[str], chosen: np.ndarray) -> dict[str, Any]:
        return {
            name: items_of(values, chosen)
            for name in names
            if (values := getattr(self, name)) is not None
        }

    def first(self, count: int | None) -> Self:
        """The first so many examples; all of them for None."""
        return self if count is None or count >= len(self) else self.take(np.arange(count))

    def groups(self) -> Sequence[Hashable]:
        """Of each example a key: examples with the same are about the same thing, and are not
        divided by `split`."""
        return range(len(self))

    def strata(self) -> Sequence[Any] | None:
        """Of each example a key, of which both sides of `split` get their part; None for no such
        keys."""
        return None

    def split(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """The examples to train on and those held out: a function of the file and the arguments.

        Args:
          fraction: of the examples that are held out; from each stratum as many as come nearest to
            it, all but one group of it at most.

        Raises:
          UserError: one of the sides would be empty.
        """
        rows_of: dict[Hashable, list[int]] = defaultdict(list)
        for row, group in enumerate(self.groups()):
            rows_of[group].append(row)
        groups, strata = list(rows_of.values()), self.strata()
        parts: dict[Any, list[list[int]]] = defaultdict(list)
        for place in np.random.default_rng(seed).permutation(len(groups)).tolist():
            parts[None if strata is None else strata[groups[place][0]]].append(groups[place])
        is_held = np.zeros(len(self), bool)
        expected = taken = 0.0
        for key in sorted(parts, key=str):
            # What one stratum has too few groups for is made up by the next.
            expected += fraction * sum(map(len, parts[key]))
            for rows in parts[key][:-1]:
                if taken + len(rows) / 2 <= expected:
                    is_held[rows] = True
                    taken += len(rows)
        if not taken:
            raise UserError(
                f"{self.path}: --dev_fraction={fraction} of {len(self):,} examples, of which {len(groups):,} can "
                "be told apart, is none: give more examples, a larger share or a file of its own"
            )
        train, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
        digest = hashlib.sha256(held.astype("<i8").tobytes()).hexdigest()[:12]
        note = (
            f"{self.path}: {len(held):,} of {len(self):,} examples are held out as the development set "
            f"(--dev_fraction={fraction:g}, --split_seed={seed}; SHA-256 of their numbers {digest}…)"
        )
        return dataclasses.replace(self.take(train), notes=(*self.notes, note)), self.take(held)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledDataOptions(Options):
    """Labelled data."""

    max_train_examples: int | None = option(
        None, "Train on the first so many examples only.", minimum=1
    )
    max_predict_examples: int | None = option(
        None, "Predict the first so many examples only.", minimum=1
    )
    dev_fraction: float = option(
        0.0,
        "Share of --train_file that is held out as the development set, where there is no file for it: of each "
        "class alike; what is about the same text, article or document stays together.",
        minimum=0,
        maximum=0.9,
    )
    split_seed: int = option(
        12345,
        "Chooses what --dev_fraction holds out. --seed does not: runs with several seeds are evaluated on the "
        "same.",
        minimum=0,
        maximum=LARGEST_INT64,
    )

    # Options of tasks; the flag of the file that --dev_fraction takes the place of.
    do_train, max_eval_examples, dev_flag = False, None, "dev_file"

    def check(self) -> None:
        super().check()
        flag = f"--dev_fraction={self.dev_fraction:g}"
        if self.dev_fraction and getattr(self, self.dev_flag):
            raise UserError(
                f"{flag} and --{self.dev_flag} are two development sets: give one of them"
            )
        if self.dev_fraction and not (
            getattr(self, "train_file", None) or getattr(self, "data_dir", None)
        ):
            raise UserError(f"{flag} holds out a part of --train_file: give that file")

    def limited(self, name: str, data: File) -> File:
        """The first examples of the set "train", "test" or another, as many as the options
        allow."""
        return data.first(
            {"train": self.max_train_examples, "test": self.max_predict_examples}.get(
                name, self.max_eval_examples
            )
        )

    def divided(self, data: File) -> dict[str, File]:
        """A training file as "train"; with --dev_fraction its parts, "train", if that is needed,
        and "dev"."""
        if not self.dev_fraction:
            return {"train": data}
        train, dev = data.split(self.dev_fraction, self.split_seed)
        return (
            {"train": train, "dev": dataclasses.replace(dev, notes=())}
            if self.do_train
            else {"dev": dataclasses.replace(dev, notes=train.notes)}
        )

    def read_sets(
        self, paths: Mapping[str, tuple[str, Any]], read: Callable[[str, str, Any], File]
    ) -> dict[str, File]:
        """Name of a set → what `read` makes of it, its flag and its path; "train" divided; all
        limited."""
        found: dict[str, File] = {}
        for name, (flag, path) in paths.items():
            data = read(name, flag, path)
            found |= self.divided(data) if name == "train" else {name: data}
        return {name: self.limited(name, data) for name, data in found.items()}


def items_of(values: Any, chosen: np.ndarray) -> Any:
    """Of an array, or of a list, the items of these numbers."""
    return (
        values[chosen]
        if isinstance(values, np.ndarray)
        else [values[number] for number in chosen.tolist()]
    )


class BadRows:
    """What is wrong with the rows of a file.

    Args:
      skip: leave bad rows out; None where the user has no such choice.

    Attributes:
      faults: line (from 1) → what is wrong there; of a row of several lines the first counts.
    """

    def __init__(self, path: str, skip: bool | None = None):
        self.path, self.skip = path, skip
        self.faults: dict[int, str] = {}

    def add(self, line: int, what: str) -> None:
        """Something is wrong at a line; of several faults the first counts."""
        self.faults.setdefault(int(line), what)

    def good_rows(self, lines: Sequence[int]) -> np.ndarray:
        """Numbers of the rows that are good, int64, rising, of those that begin on these lines,
        [E].

        Raises `UserError` where there are bad rows, and they are not to be skipped, or no others.
        """
        if not self.faults:
            return np.arange(len(lines))
        places = sorted(self.faults)
        rows, first = np.unique(
            np.searchsorted(np.asarray(lines), places, side="right") - 1, return_index=True
        )
        self.faults = {places[place]: self.faults[places[place]] for place in first.tolist()}
        if not self.skip or rows[0] < 0 or len(rows) == len(lines):
            raise self.error(len(lines))
        return np.setdiff1d(np.arange(len(lines)), rows)

    def resolve(self, examples: File, lines: Sequence[int]) -> File:
        """The examples, made of all rows, without those of bad rows; see `good_rows`."""
        rows = self.good_rows(lines)
        if not self.faults:
            return examples
        return dataclasses.replace(
            examples.take(rows), notes=(*examples.notes, *self.notes(len(lines)))
        )

    def notes(self, count: int) -> tuple[str, ...]:
        """What is left out of so many rows; empty for nothing."""
        return (f"{self._described(count, 'left out')}",) if self.faults else ()

    def error(self, count: int) -> UserError:
        """The refusal of a file of so many rows: all that is wrong, in one line."""
        can_skip = self.skip is False
        if len(self.faults) > 1:
            return UserError(
                self._described(
                    count, "bad" + " (fix them, or leave them out with --skip_bad_rows)" * can_skip
                )
            )
        ((line, what),) = self.faults.items()
        return UserError(
            f"{self.path}:{line}: {what}{'; or leave it out with --skip_bad_rows' * can_skip}"
        )

    def _described(self, count: int, state: str) -> str:
        shown, parts = list(self.faults)[:_SHOWN_ROWS], []
        for what, same in itertools.groupby(shown, key=self.faults.__getitem__):
            lines = list(map(str, same))
            parts.append(f"line{'s' * (len(lines) > 1)} {', '.join(lines)}: {what}")
        more = len(self.faults) - len(shown)
        return (
            f"{self.path}: {len(self.faults):,} of {count:,} rows are {state}: {'; '.join(parts)}"
            f"{f'; and {more:,} more' if more else ''}"
        )
