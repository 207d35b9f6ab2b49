"""Options, each declared once, as a field of a class:

    @option_class
    class MyOptions(Options):
        input_file: str = option(None, "Text files, comma-separated globs.", required=True)
        max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)
        learning_rate: float = option(5e-5, "Peak learning rate.", above=0, sweep=True)

The flag of the same name, its part of `--help`, the checks, `flags.json` and the table in
TensorBoard all follow from the declaration. Options that several scripts share are in a class that
theirs inherit from. `bert_common/cli.py` makes flags of such a class and hands an instance to the
script's work; library code and tests make instances themselves.

Types of fields: bool, int, float, str, each also with `| None`; tuples of them, which are lists
with commas on the command line.
"""

import contextlib
import dataclasses
import functools
import math
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence

from bert_common import files, outputs
from bert_common.errors import UserError, did_you_mean

Class = typing.TypeVar("Class")
_KEY = "option"
# Bound of whole numbers without a declared maximum: tensors have no more rows.
LARGEST_INT = 2**31 - 1
LARGEST_INT64 = 2**63 - 1
# Values of `Option.path` for inputs, which must exist when the program starts: one file (or "-"),
# comma-separated paths and globs, one directory.
FILE = "file"
FILES = "files"
DIRECTORY = "directory"
# Value of `Option.path` for one file to write (or "-"), which must not replace an input.
OUTPUT = "output"
# Type of a value → its name in messages.
_TYPE_NAMES = {bool: "true or false", int: "whole number", float: "number", str: "value"}
# Type of a value → the types that Python code may give it as, numpy's included.
_TYPES: dict[type, typing.Any] = {bool: bool, int: numbers.Integral, float: numbers.Real, str: str}


@dataclasses.dataclass(frozen=True)
class Option:
    """An option as it is declared, and as flags, help and checks see it.

    Attributes:
      help: text of `--help`.
      default: value of an option that is not given.
      minimum, maximum: inclusive bounds of a number. Whole numbers have at most 31 bits unless a
        maximum is declared.
      above, below: exclusive bounds of a number.
      former_choices: names that choices had in earlier versions → today's.
      default_text: the default as `--help` shows it, where the program works it out.
      sweep: several values may be given, separated by commas: one run for each combination. Not
        for bool and tuples.
      common: `--help` shows the option also where the script has many.
      path: the value is a path: True, `FILE`, `FILES` or `DIRECTORY` for an input, or `OUTPUT`.
      affects_result: metrics and weights of a run depend on the value; false for reports, output
        paths and speed.
      only_with: options of which at least one must be set for this one to have an effect:
        "lora_rank", or "task_name=pairs" for a certain value.
      name: name of the field and of the flag.
      kind: bool, int, float or str: type of the value, or of each value of a tuple.
      counts: a flag that is true or false may also be a number from 2 on.
      is_list: whether the value is a tuple.
      may_be_empty: a tuple without values stands for none, not for a mistake.
      group: first line of the docstring of the class that declares the option.
    """

    help: str
    default: object = None
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
    counts: bool = False
    may_be_empty: bool = False
    # `declared_options` fills these in from the class.
    name: str = ""
    kind: type = str
    is_list: bool = False
    group: str = ""

    def parse(self, text: str) -> tuple:
        """Returns the values of a comma-separated list.

        Raises:
          UserError: a value of another type, none at all, or the same one twice in a sweep.
        """
        try:
            values = tuple(self.kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            values = ()
        if not values:
            raise UserError(
                f"--{self.name}={text}: a {_TYPE_NAMES[self.kind]} is expected, or several "
                "separated by commas"
            )
        if self.sweep and len(set(values)) < len(values):
            raise UserError(f"--{self.name}={text}: the same value is given twice")
        return values

    def check(self, value: typing.Any) -> None:
        """Raises `UserError` for a value of another type or out of range; None passes."""
        if value is None:
            return
        if not self.is_list:
            self._check_single(value)
            return
        if isinstance(value, str):
            raise UserError(f"--{self.name} is {value}, of type str: a tuple is expected")
        if self.default and not value and not self.may_be_empty:
            raise UserError(
                f"--{self.name} is empty: give at least one value, or leave it out for "
                f"{self.text_of_default()}"
            )
        for item in value:
            if item is not None:
                self._check_single(item)

    def _check_single(self, value: typing.Any) -> None:
        if self.counts and isinstance(value, numbers.Integral) and int(value) >= 0:
            return
        # In Python True is an int: it must not pass as a number.
        is_wrong_bool = isinstance(value, bool) and self.kind is not bool
        if is_wrong_bool or not isinstance(value, _TYPES[self.kind]):
            raise UserError(
                f"--{self.name} is {value}, of type {type(value).__name__}: {self.kind.__name__} "
                "is expected"
            )
        if self.kind in (int, float):
            problem = self._range_problem(value)
            if problem is not None:
                raise UserError(f"--{self.name} is {value}, {problem}")
        if self.choices and value not in self.choices and value not in self.former_choices:
            raise unknown_choice(self.name, value, self.choices)

    def _range_problem(self, value: typing.Any) -> str | None:
        """Returns why a number is out of range; None for one in range."""
        if self.maximum is None and isinstance(value, int) and abs(value) > LARGEST_INT:
            if value > 0:
                return f"it must be at most {LARGEST_INT}"
            return f"it must be at least {-LARGEST_INT}"
        if not math.isfinite(value):
            return "a finite number is expected"
        if self.minimum is not None and value < self.minimum:
            return f"it must be at least {self.minimum:.15g}"
        if self.above is not None and value <= self.above:
            return f"it must be above {self.above:.15g}"
        if self.maximum is not None and value > self.maximum:
            return f"it must be at most {self.maximum:.15g}"
        if self.below is not None and value >= self.below:
            return f"it must be below {self.below:.15g}"
        return None

    def range_text(self) -> str:
        """Returns the range as help shows it, e.g. "at least 1"; "" without one."""
        bounds = [
            ("at least", self.minimum),
            ("above", self.above),
            ("at most", self.maximum),
            ("below", self.below),
        ]
        texts = []
        for words, bound in bounds:
            # The bound of int64 only lifts the one of 31 bits; nobody needs to read it.
            if bound is not None and bound != LARGEST_INT64:
                texts.append(f"{words} {bound:.15g}")
        return ", ".join(texts)

    def text_of_default(self) -> str:
        """Returns the default as written on a command line; "" without one."""
        if self.default is None:
            return ""
        if self.kind is bool:
            return str(self.default).lower()
        return str(as_flag(self.default))


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
def option_class(cls: type[Class]) -> type[Class]:
    """Makes a class whose fields are options: a frozen dataclass, all of its arguments by name."""
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def option(default: object, help: str, **properties: typing.Any) -> typing.Any:
    """Declares a field of an `Options` class; the properties are attributes of `Option`."""
    return dataclasses.field(default=default, metadata={_KEY: Option(help, default, **properties)})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all classes of options.

    Attributes:
      given: names of the options that were on the command line, for values that follow something
        else than a default unless they are given.
      sweep: option → its values, for options that were given several.
      script: name of the running script, e.g. "run_squad.py".
    """

    given: frozenset[str] = dataclasses.field(default=frozenset(), repr=False, compare=False)
    sweep: Mapping[str, tuple] = dataclasses.field(default_factory=dict)
    script: str = dataclasses.field(default="", repr=False, compare=False)

    def check(self) -> None:
        """Checks every value by its declaration; subclasses check combinations of options.

        Raises:
          UserError: the first option that is wrong, or all required ones that are missing.
        """
        missing = [f"--{name}" for name in self.required() if getattr(self, name) in (None, "", ())]
        if missing:
            raise UserError(f"{', '.join(missing)} must be given (--help explains)")
        # A program may read the output of one call in the next, and write it again later. The
        # command line of a script begins the register itself, with its configuration files.
        if not self.script:
            files.register.begin()
        self._note_inputs()
        for declared in declared_options(type(self)):
            declared.check(getattr(self, declared.name))
            if declared.path == OUTPUT and getattr(self, declared.name) not in (None, "", "-"):
                outputs.check_output_file(getattr(self, declared.name), declared.name)
            for value in self.sweep.get(declared.name, ()):
                declared.check(value)
            if declared.only_with and self.is_chosen(declared.name):
                self._check_has_effect(declared)

    def _note_inputs(self) -> None:
        """Registers the files that the options name, see `files.register.note`."""
        for declared in declared_options(type(self)):
            value = getattr(self, declared.name)
            if declared.path not in (FILE, FILES) or not value or value == "-":
                continue
            patterns = value.split(",") if declared.path == FILES else [value]
            for pattern in patterns:
                pattern = pattern.strip()
                # Remote patterns are expanded when they are read: it takes TensorFlow.
                if files.is_remote(pattern) or files.exists(pattern):
                    paths = [pattern]
                else:
                    paths = files.glob_files(pattern)
                for path in paths:
                    files.register.note(path, declared.name)

    def _check_has_effect(self, declared: Option) -> None:
        """Raises `UserError` unless one of the options in `only_with` is set."""
        for requirement in declared.only_with:
            name, _, expected = requirement.partition("=")
            values = [getattr(self, name), *self.sweep.get(name, ())]
            if expected:
                is_met = expected in [str(value).lower() for value in values]
            else:
                is_met = any(values)
            if is_met:
                return
        raise UserError(
            f"--{declared.name} has no effect without --{' or --'.join(declared.only_with)}: "
            "leave it out, or set that too"
        )

    def is_chosen(self, name: str) -> bool:
        """Whether an option was given: on the command line, or in Python as another value than the
        default."""
        if name in self.given or name in self.sweep:
            return True
        return getattr(self, name) != getattr(type(self), name)

    def check_inputs(self) -> None:
        """Checks that the files, directories and patterns to read exist.

        Scripts call it before anything slow is imported.

        Raises:
          UserError: the first that is missing.
        """
        for declared in declared_options(type(self)):
            value = getattr(self, declared.name)
            if declared.path and value:
                for path in value if declared.is_list else (value,):
                    check_there(declared.name, declared.path, path)

    def required(self) -> list[str]:
        """Returns the names of the options that must be given."""
        return [declared.name for declared in declared_options(type(self)) if declared.required]

    def values(self) -> dict[str, object]:
        """Returns name → value of every option, sorted, as `flags.json` keeps them."""
        values: dict[str, object] = {}
        for declared in declared_options(type(self)):
            value = self.sweep.get(declared.name, getattr(self, declared.name))
            values[declared.name] = list(value) if isinstance(value, tuple) else value
        return dict(sorted(values.items()))

    def path_options(self) -> dict[str, typing.Any]:
        """Returns name → value of the options that are paths and have a value."""
        paths = {}
        for declared in declared_options(type(self)):
            value = getattr(self, declared.name)
            if declared.path and value:
                paths[declared.name] = value
        return paths

    @classmethod
    def options_in_help(cls, flag_values: Mapping[str, object]) -> Sequence[Option]:
        """Returns the options that `--help` shows, in order; a subclass may choose.

        Args:
          flag_values: values of the other flags on the command line.
        """
        return declared_options(cls)

    def replace(self, **changes: typing.Any) -> "typing.Self":
        """Returns a copy with other values."""
        return dataclasses.replace(self, **changes)


def _declared_options(cls: type[Options]) -> tuple[Option, ...]:
    hints = typing.get_type_hints(cls)
    positions = {}
    declared = []
    for field in dataclasses.fields(cls):
        if _KEY not in field.metadata:
            continue
        owner = _declaring_class(cls, field.name)
        positions[field.name] = cls.__mro__.index(owner)
        kind, is_list = _value_type(hints[field.name])
        completed = dataclasses.replace(
            field.metadata[_KEY],
            default=field.default,
            name=field.name,
            kind=kind,
            is_list=is_list,
            group=docstring_of(owner).split("\n")[0],
        )
        declared.append(completed)
    return tuple(sorted(declared, key=lambda option: positions[option.name]))


def _declaring_class(cls: type, field: str) -> type:
    """Returns the class in the MRO of `cls` whose annotations have the field."""
    for base in cls.__mro__:
        if field in base.__dict__.get("__annotations__", {}):
            return base
    raise TypeError(f"{cls} has no field {field}")


def _value_type(hint: typing.Any) -> tuple[type, bool]:
    """Returns the type of a field's value, or of the items of a tuple, and whether it is a tuple.

    Raises:
      TypeError: no type that an option can have.
    """
    if isinstance(hint, types.UnionType):
        kind = next(part for part in typing.get_args(hint) if part is not types.NoneType)
    else:
        kind = hint
    is_list = typing.get_origin(kind) is tuple
    if is_list:
        kind = typing.get_args(kind)[0]
    # A list of flags that are true or false has no form on a command line.
    if kind not in _TYPES or (is_list and kind is bool):
        raise TypeError(f"{hint} can't be the type of an option")
    return kind, is_list


# The options of a class and its bases, first the options of the class itself, in the order of their
# declaration. Cached, because `typing.get_type_hints` is slow.
declared_options: Callable[[type[Options]], tuple[Option, ...]] = functools.cache(_declared_options)  # type: ignore[assignment]


def check_there(name: str, kind: bool | str, path: str) -> None:
    """Raises `UserError` if an input that an option names is missing.

    Paths on remote file systems pass: only TensorFlow reaches them, which is not imported here.
    """
    if any(files.is_remote(part) for part in path.split(",")):
        return
    if kind == FILES:
        files.expand_patterns(path, name)
    elif kind == FILE and path != "-":
        files.check_readable(path, name)
    elif kind == DIRECTORY and not files.is_directory(path):
        if files.exists(path):
            raise UserError(f"--{name}: {path} is not a directory")
        raise UserError(f"--{name}: {path} does not exist{files.similar(path)}")


def unknown_choice(
    name: str, value: str, choices: Iterable[str], closest: float = 0.6
) -> UserError:
    """Returns the error for a value that is none of the choices, with the most similar one.

    Args:
      closest: smallest similarity, from 0 to 1, of a choice that is suggested.
    """
    listed = ", ".join(choices)
    suggestion = did_you_mean(value, choices, closest)
    if suggestion:
        return UserError(f"--{name}={value} is unknown{suggestion} Use one of {listed}")
    return UserError(f"--{name}={value} is unknown: use one of {listed}")


def docstring_of(owner: object) -> str:
    """Returns a docstring without white space around it; "" if Python has left it out (-OO)."""
    if owner.__doc__ is None:
        return ""
    return owner.__doc__.strip()


def as_flag(value: object) -> object:
    """Returns a value as it is written on a command line: the items of a list, with commas."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return value


def plain(value: object) -> object:
    """Returns a flag's value in the form in which values of two runs are compared.

    Older runs wrote numbers in lists as text, and a single value as a list.
    """
    if isinstance(value, list):
        return plain(value[0]) if len(value) == 1 else [plain(item) for item in value]
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return float(value)
    return value


def from_texts(
    cls: type[Options],
    texts: Mapping[str, typing.Any],
    given_names: Sequence[str],
    /,
    **fields: typing.Any,
) -> Options:
    """Makes an instance from the values of flags.

    Args:
      texts: option → value. Lists and sweeps are still text, None where they were not given.
      given_names: options that were on the command line.

    Raises:
      UserError: a list holds something that is no value.
    """
    values = dict(fields)
    sweep = {}
    for declared in declared_options(cls):
        value = texts[declared.name]
        if declared.is_list:
            if value is None:
                value = declared.default
            else:
                value = declared.parse(value) if value else ()
        elif declared.sweep and value is not None:
            several = declared.parse(value)
            value = several[0]
            if len(several) > 1:
                sweep[declared.name] = several
        values[declared.name] = value
    return cls(**values, given=frozenset(given_names), sweep=sweep)
