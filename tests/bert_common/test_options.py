import dataclasses
import pathlib

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_common.options import Options, declared_options, from_texts, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shared(Options):
    """Shared options."""

    output_dir: str = option(None, "Where it goes.", required=True)
    keep: int = option(5, "How many.", minimum=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(Shared):
    """Options of the script.

    This is for those who read the code.
    """

    files: tuple[str, ...] = option(None, "Files.", required=True)
    rate: float = option(5e-5, "Peak.", above=0, maximum=1, sweep=True)
    epochs: float | None = option(
        None, "Passes.", minimum=0, sweep=True, default_text="3 on large sets"
    )
    layers: tuple[int, ...] = option((-1, -2), "Layers.", minimum=-12, below=12)
    trackers: tuple[str, ...] = option(("report",), "Trackers.", may_be_empty=True)
    rows: tuple[int, ...] | None = option(None, "Rows.")
    precision: str = option("auto", "Of products.", choices=("auto", "float32"))
    lower: bool | None = option(None, "Casing.")
    keep: int = option(1, "How many, here.", minimum=0)
    seed: int | None = option(None, "Of the random numbers.", minimum=0, maximum=2**32 - 1)


def make(**changes) -> Own:
    return Own(**{"output_dir": "out", "files": ("a",), **changes})


def parse(**texts) -> Own:
    """As the command line gives it: text for lists and sweeps."""
    defaults = {
        one.name: None
        if one.is_list or one.default is None
        else str(one.default)
        if one.sweep
        else one.default
        for one in declared_options(Own)
    }
    return from_texts(Own, {**defaults, **texts}, list(texts), script="test.py")


def test_own_options_come_first_then_the_shared_ones():
    assert [one.name for one in declared_options(Own)] == [
        "keep",
        "files",
        "rate",
        "epochs",
        "layers",
        "trackers",
        "rows",
        "precision",
        "lower",
        "seed",
        "output_dir",
    ]
    groups = {one.name: one.group for one in declared_options(Own)}
    assert (
        groups["files"] == groups["keep"] == "Options of the script."
        and groups["output_dir"] == "Shared options."
    )
    assert [one.name for one in declared_options(Shared)] == ["output_dir", "keep"]


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"output_dir": "", "files": None},
            "--files, --output_dir must be given (--help explains)",
        ),
        ({"keep": -1}, "--keep is -1, it must be at least 0"),
        ({"rate": 0.0}, "--rate is 0.0, it must be above 0"),
        ({"rate": float("nan")}, "--rate is nan, a finite number is expected"),
        ({"layers": (-1, -13)}, "--layers is -13, it must be at least -12"),
        ({"layers": (12,)}, "--layers is 12, it must be below 12"),
        ({"seed": 2**32}, "--seed is 4294967296, it must be at most 4294967295"),
        ({"keep": 2**31}, "--keep is 2147483648, it must be at most 2147483647"),
        ({"keep": "5"}, "--keep is 5, of type str: int is expected"),
        ({"keep": 2.0}, "--keep is 2.0, of type float: int is expected"),
        ({"keep": True}, "--keep is True, of type bool: int is expected"),
        ({"layers": ()}, "--layers is empty: give at least one value, or leave it out for -1,-2"),
        ({"files": "abc"}, "--files is abc, of type str: a tuple is expected"),
        (
            {"output_dir": pathlib.PurePath("out")},
            "--output_dir is out, of type PurePosixPath: str is expected",
        ),
        (
            {"precision": "float8"},
            "--precision=float8 is unknown: did you mean float32? Use one of auto, float32",
        ),
        ({"rate": 0.1, "sweep": {"rate": (0.1, 2.0)}}, "--rate is 2.0, it must be at most 1"),
    ],
)
def test_values_out_of_range(changes, message):
    with pytest.raises(UserError) as error:
        make(**changes).check()
    assert str(error.value) == message


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dependent(Options):
    """Options of which some count only with others."""

    kind: str = option("plain", "Kind.")
    rank: int = option(0, "Rank.", sweep=True)
    alpha: float = option(
        1.0, "Of the rank, or of the fancy kind.", only_with=("rank", "kind=fancy"), sweep=True
    )


@pytest.mark.parametrize(
    "changes, refused",
    [
        ({}, False),
        ({"alpha": 2.0}, True),
        ({"given": frozenset({"alpha"})}, True),
        ({"alpha": 2.0, "rank": 1}, False),
        ({"alpha": 2.0, "kind": "Fancy"}, False),
        ({"sweep": {"alpha": (1.0, 2.0)}}, True),
        ({"sweep": {"alpha": (1.0, 2.0), "rank": (0, 1)}}, False),
    ],
)
def test_an_option_without_effect_is_refused(changes, refused):
    if refused:
        with pytest.raises(
            UserError,
            match="--alpha has no effect without --rank or --kind=fancy",
        ):
            Dependent(**changes).check()
    else:
        Dependent(**changes).check()


def test_values_in_range():
    make().check()
    make(layers=[3], rate=1, keep=np.int64(3), epochs=np.float32(2)).check()
    make(
        trackers=(), rows=None, lower=False, seed=0, epochs=0.0, rate=1.0, precision="float32"
    ).check()


def test_lists_and_sweeps_from_text():
    parsed = parse(files=" a.txt, b c.txt,,é", output_dir="ü", layers="-1,2", rate="1e-5,2e-5")
    assert (
        parsed.files == ("a.txt", "b c.txt", "é")
        and parsed.layers == (-1, 2)
        and parsed.output_dir == "ü"
    )
    assert parsed.rate == 1e-5 and parsed.sweep == {"rate": (1e-5, 2e-5)}
    assert parsed.given == {"files", "output_dir", "layers", "rate"} and parsed.script == "test.py"
    # What is not given has its default, also where the default is no text.
    assert (
        parsed.rows is None and parsed.epochs is None and parsed.keep == 1 and parsed.seed is None
    )
    assert parse(trackers="").trackers == () and parse().layers == (-1, -2) and parse().sweep == {}
    assert parse(rate="0.5").rate == 0.5
    # The same file twice does no harm.
    assert parse(files="a,a").files == ("a", "a")


@pytest.mark.parametrize(
    "texts, message",
    [
        (
            {"layers": "1,x"},
            "--layers=1,x: a whole number is expected, or several separated by commas",
        ),
        ({"files": ", ,"}, "--files=, ,: a value is expected, or several separated by commas"),
        ({"rate": ""}, "--rate=: a number is expected, or several separated by commas"),
        ({"rate": "1e-5,0.00001"}, "--rate=1e-5,0.00001: "),
    ],
)
def test_text_that_is_no_value(texts, message):
    with pytest.raises(UserError) as error:
        parse(**texts)
    assert str(error.value).startswith(message)


def test_defaults_and_ranges_as_help_shows_them():
    declared = {one.name: one for one in declared_options(Own)}
    assert {name: one.text_of_default() for name, one in declared.items()} == {
        "output_dir": "",
        "keep": "1",
        "files": "",
        "rate": "5e-05",
        "epochs": "",
        "layers": "-1,-2",
        "trackers": "report",
        "rows": "",
        "precision": "auto",
        "lower": "",
        "seed": "",
    }
    assert declared["rate"].range_text() == "above 0, at most 1"
    assert declared["layers"].range_text() == "at least -12, below 12"
    assert declared["seed"].range_text() == "at least 0, at most 4294967295"
    assert declared["lower"].range_text() == ""


def test_a_flag_that_may_be_a_number():
    from absl import flags

    from bert_common import cli

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Counting(Options):
        skip: bool = option(False, "Skip rows.", counts=True)

    expected = {"--skip": True, "--noskip": False, "--skip=20": 20, "--skip=false": False}
    for argument, value in expected.items():
        values = flags.FlagValues()
        cli._define_all(Counting, values)
        values(["program", argument])
        assert values["skip"].value == value and type(values["skip"].value) is type(value)
        Counting(skip=value).check()
    for wrong in (-1, 1.5, "x"):
        with pytest.raises(UserError, match="--skip is"):
            Counting(skip=wrong).check()
