"""Options, each declared once, as a field of a frozen dataclass:

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class MyOptions(Options):
      input_file: str = option(None, "Text files, comma-separated globs.", required=True)
      max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)
      precision: str = option("auto", "Of the matrix products.", choices=("auto", "float32",
      "bfloat16")) learning_rate: float = option(5e-5, "Peak learning rate.", above=0, sweep=True)

From the declaration come the flag of the same name, its part of `--help`, the checks, `flags.json`
and the table in TensorBoard. Options that several scripts share are in a class that theirs inherit
from. `bert_common/cli.py` makes flags of such a class and hands an instance to the script's work;
library code and tests make instances themselves.

Types of fields: bool, int, float, str, each also with `| None`; tuples of them, which are lists
with commas on the command line.
"""

import contextlib
import dataclasses
import functools
import math
import numbers
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence

from bert_common import files
from bert_common.errors import UserError, did_you_mean

_KEY = "option"
# Unless an option declares another maximum: tensors have no more rows, and nobody means more.
LARGEST_INT = 2**31 - 1
LARGEST_INT64 = 2**63 - 1
# Values of `Declaration.path` of what is read: a file, or "-"; files, as comma-separated paths and
# globs; directories.
FILE, FILES, DIRECTORY = "file", "files", "directory"
# Type of a value → what messages call one.
_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "value"}
# Type of a value → the types that Python code may give it as, numpy's included.
_TYPES: dict[type, typing.Any] = {bool: bool, int: numbers.Integral, float: numbers.Real, str: str}


@dataclasses.dataclass(frozen=True)
class Declaration:
    """Properties of an option besides its name, type and default.

    Attributes:
      minimum, maximum: of a number, inclusive. Whole numbers have at most 31 bits where no maximum
        is declared.
      above, below: of a number, exclusive.
      former_choices: names that choices had in earlier versions → today's.
      default_text: what `--help` shows as default where that is found out by the program.
      sweep: several values may be given, separated by commas: one run for each combination. Not for
        bool and tuples.
      common: `--help` shows it also where the script has many options.
      path: the value is a path: True, or `FILE`, `FILES` or `DIRECTORY` of what must be there when
        the program starts.
      affects_result: metrics and weights of a run depend on the value; not of reports, places of
        outputs, speed.
      only_with: options without which this one has no effect, any of them: "lora_rank", or
        "task_name=pairs" for a value.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    former_choices: Mapping[str, str] = dataclasses.field(default_factory=dict)
    required: bool = False
    default_text: str | None = None
    sweep: bool = False
    aliases: tuple[str, ...] = ()
    path: bool | str = False
    common: bool = False
    affects_result: bool = True
    only_with: tuple[str, ...] = ()


def option(default: object, help: str, **declaration: typing.Any) -> typing.Any:
    """A field of an `Options` class; the keyword arguments are the attributes of `Declaration`."""
    return dataclasses.field(default=default, metadata={_KEY: Declaration(help, **declaration)})


@dataclasses.dataclass(frozen=True)
class DeclaredOption:
    """An option of a class, as flags, help and checks see it.

    Attributes:
      kind: bool, int, float or str: of the value, or of each value of a tuple.
      is_list: the value is a tuple.
      group: docstring of the class that declares it, its first line.
    """

    name: str
    kind: type
    is_list: bool
    default: object
    declaration: Declaration
    group: str

    def parse(self, text: str) -> tuple:
        """The values of a list with commas. Raises `UserError` for a wrong one, for none, or for
        one twice in a sweep."""
        try:
            values = tuple(self.kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            values = ()
        if not values:
            raise UserError(
                f"--{self.name}={text}: a {_KINDS[self.kind]} is expected, or several separated by "
                "commas"
            )
        if self.declaration.sweep and len(set(values)) < len(values):
            raise UserError(f"--{self.name}={text}: a value is there twice")
        return values

    def check(self, value: typing.Any) -> None:
        """Raises `UserError` for a value of another type or out of range; None passes."""
        if self.is_list and isinstance(value, str):
            raise UserError(f"--{self.name} is {value}, of type str: a tuple is expected")
        for one in value if self.is_list and value is not None else (value,):
            if one is None:
                continue
            if (
                not isinstance(one, _TYPES[self.kind])
                or self.kind is not bool
                and isinstance(one, bool)
            ):
                raise UserError(
                    f"--{self.name} is {one}, of type {type(one).__name__}: {self.kind.__name__} is "
                    "expected"
                )
            if self.kind in (int, float):
                problem = next(
                    (
                        f"it must be {words} {bound:.15g}"
                        for words, bound, holds in self._bounds()
                        if not holds(one, bound)
                    ),
                    None,
                )
                if (
                    isinstance(one, int)
                    and self.declaration.maximum is None
                    and abs(one) > LARGEST_INT
                ):
                    problem = f"it must be at {f'most {LARGEST_INT}' if one > 0 else f'least {-LARGEST_INT}'}"
                elif not math.isfinite(one):
                    problem = "a finite number is expected"
                if problem:
                    raise UserError(f"--{self.name} is {one}, {problem}")
            if self.declaration.choices and one not in (
                *self.declaration.choices,
                *self.declaration.former_choices,
            ):
                raise unknown_choice(self.name, one, self.declaration.choices)

    def range_text(self) -> str:
        """The range as help shows it, e.g. "at least 1"; "" without one."""
        return ", ".join(
            f"{words} {bound:.15g}" for words, bound, _ in self._bounds() if bound != LARGEST_INT64
        )

    def text_of_default(self) -> str:
        """The default as on a command line; "" where there is none."""
        if isinstance(self.default, tuple):
            return ",".join(map(str, self.default))
        return (
            ""
            if self.default is None
            else str(self.default).lower()
            if self.kind is bool
            else str(self.default)
        )

    def _bounds(self) -> list[tuple[str, float, Callable[[float, float], bool]]]:
        """(words, bound, what must hold of value and bound) of those that are declared."""
        declared = self.declaration
        bounds = [
            ("at least", declared.minimum, operator.ge),
            ("above", declared.above, operator.gt),
            ("at most", declared.maximum, operator.le),
            ("below", declared.below, operator.lt),
        ]
        return [(words, bound, holds) for words, bound, holds in bounds if bound is not None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all classes of options.

    Attributes:
      given: names of the options that were on the command line, where the others follow something
        else than a default.
      sweep: option → its values, for those that were given several.
      script: name of the running script, e.g. "run_squad.py".
    """

    given: frozenset[str] = dataclasses.field(default=frozenset(), repr=False, compare=False)
    sweep: Mapping[str, tuple] = dataclasses.field(default_factory=dict)
    script: str = dataclasses.field(default="", repr=False, compare=False)

    def check(self) -> None:
        """Checks every value by its declaration; subclasses add what options demand of each other.

        Raises `UserError` with the first option that is wrong, or all required ones that are
        missing.
        """
        declared = declared_options(type(self))
        missing = [f"--{name}" for name in self.required() if getattr(self, name) in (None, "", ())]
        if missing:
            raise UserError(f"{', '.join(missing)} must be given (--help explains)")
        for one in declared:
            one.check(getattr(self, one.name))
            for value in self.sweep.get(one.name, ()):
                one.check(value)
            others = [other.partition("=") for other in one.declaration.only_with]
            if (
                others
                and self.is_chosen(one.name)
                and not any(
                    value
                    in (
                        str(one).lower() for one in (getattr(self, name), *self.sweep.get(name, ()))
                    )
                    if value
                    else getattr(self, name) or name in self.sweep
                    for name, _, value in others
                )
            ):
                raise UserError(
                    f"--{one.name} has no effect without --{' or --'.join(map(''.join, others))}: leave it out, or "
                    "give that"
                )

    def is_chosen(self, name: str) -> bool:
        """Whether an option was given: on the command line, or in Python as another value than the
        default."""
        return (
            name in self.given
            or name in self.sweep
            or getattr(self, name) != getattr(type(self), name)
        )

    def check_inputs(self) -> None:
        """Raises `UserError` with the first of the files, directories and patterns to read that
        nothing is there for.

        For scripts, which call it before anything slow is imported.
        """
        for one in declared_options(type(self)):
            if one.declaration.path and (value := getattr(self, one.name)):
                for path in value if one.is_list else (value,):
                    check_there(one.name, one.declaration.path, path)

    def required(self) -> list[str]:
        """Names of the options that must be given."""
        return [one.name for one in declared_options(type(self)) if one.declaration.required]

    def values(self) -> dict[str, object]:
        """Name → value of every option, as `flags.json` keeps them."""
        values = {
            one.name: self.sweep.get(one.name, getattr(self, one.name))
            for one in declared_options(type(self))
        }
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in sorted(values.items())
        }

    def path_options(self) -> dict[str, typing.Any]:
        """Name → value of the options that are paths and have a value."""
        return {
            one.name: value
            for one in declared_options(type(self))
            if one.declaration.path and (value := getattr(self, one.name))
        }

    @classmethod
    def options_in_help(cls, given: Mapping[str, object]) -> Sequence[DeclaredOption]:
        """The options that `--help` shows, in order, beside the values of the other flags; a
        subclass may choose."""
        return declared_options(cls)

    def replace(self, **changes: typing.Any) -> "typing.Self":
        """A copy with other values."""
        return dataclasses.replace(self, **changes)


def _declared_options(cls: type[Options]) -> tuple[DeclaredOption, ...]:
    """The options of a class and its bases, in the order of their declaration, the class's own
    first."""
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        if _KEY not in field.metadata:
            continue
        owner = next(
            base for base in cls.__mro__ if field.name in base.__dict__.get("__annotations__", {})
        )
        kind = hints[field.name]
        if isinstance(kind, types.UnionType):
            kind = next(part for part in typing.get_args(kind) if part is not types.NoneType)
        is_list = typing.get_origin(kind) is tuple
        kind = typing.get_args(kind)[0] if is_list else kind
        if kind not in _KINDS or is_list and kind is bool:
            raise TypeError(f"{hints[field.name]} can't be the type of an option")
        group = (owner.__doc__ or "").strip().split("\n")[0]
        found[field.name] = (
            cls.__mro__.index(owner),
            DeclaredOption(field.name, kind, is_list, field.default, field.metadata[_KEY], group),
        )
    return tuple(declared for _, declared in sorted(found.values(), key=lambda pair: pair[0]))


declared_options: Callable[[type[Options]], tuple[DeclaredOption, ...]] = functools.cache(
    _declared_options
)  # type: ignore[assignment]


def check_there(name: str, kind: bool | str, path: str) -> None:
    """Raises `UserError` if what an option names to be read is missing; what only TensorFlow
    reaches is not looked at."""
    if any(map(files.is_remote, path.split(","))):
        return
    if kind == FILES:
        files.expand_patterns(path, name)
    elif kind == FILE and path != "-":
        files.check_readable(path, name)
    elif kind == DIRECTORY and not files.is_directory(path):
        what = (
            "is not a directory" if files.exists(path) else f"does not exist{files.similar(path)}"
        )
        raise UserError(f"--{name}: {path} {what}")


def unknown_choice(
    name: str, value: str, choices: Iterable[str], closest: float = 0.6
) -> UserError:
    """The error for an option's value that is none of the choices: with the one that may be meant,
    and all of them."""
    suggestion = did_you_mean(value, choices, closest)
    return UserError(
        f"--{name}={value} is unknown{suggestion or ':'} {'Use' if suggestion else 'use'} one of "
        f"{', '.join(choices)}"
    )


def plain(value: object) -> object:
    """A flag's value for comparisons: numbers, which older runs wrote as text in lists, and lists
    of one value as it."""
    if isinstance(value, list):
        return plain(value[0]) if len(value) == 1 else [plain(one) for one in value]
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return float(value)
    return value


def from_texts(
    cls: type[Options],
    texts: Mapping[str, typing.Any],
    given: Sequence[str],
    /,
    **fields: typing.Any,
) -> Options:
    """An instance from what the flags hold: lists and sweeps are still text, None where they were
    not given.

    `given` are the options that were on the command line. Raises `UserError` where a list holds
    something that is no value.
    """
    values, sweep = dict(fields), {}
    for one in declared_options(cls):
        value = texts[one.name]
        if one.is_list:
            value = one.default if value is None else one.parse(value) if value else ()
        elif one.declaration.sweep and value is not None:
            several = one.parse(value)
            value = several[0]
            if len(several) > 1:
                sweep[one.name] = several
        values[one.name] = value
    return cls(**values, given=frozenset(given), sweep=sweep)
