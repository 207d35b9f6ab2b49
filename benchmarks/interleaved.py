"""Measuring several programs in one run: each in a process of its own, taking turns in shuffled
order.

Turns matter on a shared machine: whatever slows it down meets all programs alike, so ratios are
steady where seconds are not. A program that waits for its turn uses no processor. All programs have
the same number of threads and stay on the same cores. What else they share: device, precision and
the sizes of models.
"""

import contextlib
import dataclasses
import functools
import multiprocessing
import os
import pathlib
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import numpy as np

from bert_common import gpus
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.tables import named_table

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = "vocab/english_uncased/vocab.txt"
_RESAMPLES = 2000
_CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# What TensorFlow's, OpenMP's and MKL's thread pools are made by.
_THREAD_VARIABLES = (
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)
# Device → precision, unless --precision is given.
_PRECISIONS = {"cpu": "float32", "gpu": "bfloat16"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
    """Vocabulary."""

    vocab_file: str = option(
        str(PROJECT / VOCABULARY), "WordPiece vocabulary, uncased.", default_text=VOCABULARY
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TurnsOptions(Options):
    """Processes and results."""

    threads: int | None = option(
        None,
        "Threads of each program, and cores that it stays on.",
        minimum=1,
        default_text="one for every core",
    )
    clock: str = option(
        "wall",
        "What is counted: the time that passes, or (cpu) the processor time of a program, which others on the "
        "machine change less. With cpu give --threads=1: threads that wait for each other count, too.",
        choices=_CLOCKS,
    )
    one_process: bool = option(
        False,
        "All programs in this process, to see that they run: thread pools compete, so ratios mean nothing.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceOptions(TurnsOptions):
    """Device."""

    device: str = option("cpu", "What all of the programs compute on.", choices=tuple(_PRECISIONS))
    precision: str | None = option(
        None,
        "Of all of them.",
        choices=("float32", "bfloat16"),
        default_text="float32, on a GPU bfloat16",
    )

    @property
    def chosen_precision(self) -> str:
        return self.precision or _PRECISIONS[self.device]

    def set_up_device(self) -> None:
        """Sets what programs, which inherit the variables, find when they import their
        libraries."""
        if self.device == "cpu":
            # To TensorFlow and to PyTorch.
            os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
            return
        driver = gpus.read_driver()
        if driver is None or not driver.gpus:
            raise UserError("--device=gpu: there is no GPU with a driver; --device=cpu needs none")
        gpus.prepare(driver, os.environ)
        # float32 is float32 for all of them: PyTorch's is by default.
        os.environ |= {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "NVIDIA_TF32_OVERRIDE": "0"}


def find_config(size: str, vocab_size: int):
    """The `BertConfig` of --size: a published one, e.g. base or L4-H256, or of this form with heads
    of 32 units."""
    from modeling import PRESETS, BertConfig

    for name in (size, f"bert-{size}"):
        if name in PRESETS:
            return dataclasses.replace(PRESETS[name], vocab_size=vocab_size)
    numbers = re.fullmatch(r"L(\d+)-H(\d+)", size)
    layers, hidden_size = map(int, numbers.groups()) if numbers else (0, 0)
    if not layers or not hidden_size or hidden_size % 32:
        raise UserError(
            f"--size={size} is unknown: use base, large, or L<layers>-H<hidden> with a multiple of 32"
        )
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=hidden_size // 32,
        intermediate_size=4 * hidden_size,
    )


def take_turns(
    options: TurnsOptions, programs: Sequence[str], turns: int, build: Callable, *arguments: object
) -> dict[str, list[float]]:
    """Name → seconds of each turn; programs that could not start or broke off are left out, with a
    line that says why.

    Args:
      turns: of each program.
      build: function of a module, called with `arguments` and a name in the process of the program;
        returns a function that does the work of a turn, warmed up.
      arguments: what can be pickled.
    """
    usable = (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
    cores = usable[: options.threads]
    print(
        f"{len(cores)} thread{'s' * (len(cores) > 1)} on cores {', '.join(map(str, cores))} of {os.cpu_count()}; load "
        f"{os.getloadavg()[0]:.1f} before; {turns} turns in shuffled order"
        f"{', processor time' if options.clock == 'cpu' else ''}",
        flush=True,
    )
    running: dict[str, Callable[[], float]] = {}
    problems: dict[str, str] = {}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    shuffler = random.Random(0)
    with contextlib.ExitStack() as ends:

        def attempt(name: str, work: Callable) -> None:
            try:
                work()
            except Exception as error:
                if options.one_process:
                    raise
                problems[name] = (
                    str(error)
                    if isinstance(error, UserError)
                    else f"{type(error).__name__}: {error}"
                )

        def start(name: str) -> None:
            program = functools.partial(build, *arguments, name)
            if options.one_process:
                running[name] = functools.partial(_turn, options.clock, program())
                return
            pool = ends.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context("spawn")))
            pool.submit(_start, program).result()
            running[name] = lambda: pool.submit(_turn, options.clock).result()

        if not options.one_process:
            # Processes that are started now have as many threads, and stay on the cores.
            ends.enter_context(
                mock.patch.dict(os.environ, dict.fromkeys(_THREAD_VARIABLES, str(len(cores))))
            )
            if hasattr(os, "sched_setaffinity"):
                ends.callback(os.sched_setaffinity, 0, usable)
                os.sched_setaffinity(0, cores)
        # One at a time: building one program must not slow down another's warm-up.
        for name in programs:
            attempt(name, functools.partial(start, name))
        for _ in range(turns):
            order = [name for name in running if name not in problems]
            shuffler.shuffle(order)
            for name in order:
                attempt(name, lambda name=name: seconds[name].append(running[name]()))
    for name, problem in problems.items():
        print(f"{name}: not measured, it broke off after {len(seconds.pop(name))} turns: {problem}")
    return seconds


def ratio(
    slower: Sequence[float], faster: Sequence[float], share: float = 0.95
) -> tuple[float, float, float]:
    """(beginning, median, end) of the ratios of the turns; a share of bootstrapped medians lies in
    the interval."""
    ratios, chooser = [a / b for a, b in zip(slower, faster, strict=True)], random.Random(0)
    medians = sorted(
        statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES)
    )
    outside = round((1 - share) / 2 * _RESAMPLES)
    return medians[outside], statistics.median(ratios), medians[-1 - outside]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median, third quartile."""
    return tuple(map(float, np.percentile(values, [25, 50, 75])))


def print_rates(
    seconds: Mapping[str, Sequence[float]],
    amounts: Sequence[float],
    unit: str,
    columns: Mapping[str, tuple[str, Mapping[str, float]]] = {},
) -> None:  # noqa: B006
    """A table of what programs do in a second, and by how much the first one is faster.

    Args:
      seconds: program → time of each turn.
      amounts: what is done in each turn, in a unit (plural).
      columns: heading → format, program → number of further columns.
    """
    first = next(iter(seconds), None)
    if first is None:
        return
    rows = [
        ("program", f"{unit}/s", "quartiles", *columns, f"{first} is faster by", "95 % interval")
    ]
    for name, turns in seconds.items():
        low, middle, high = quartiles(
            [amount / turn for amount, turn in zip(amounts, turns, strict=True)]
        )
        begin, median, end = ratio(turns, seconds[first])
        rows.append(
            (
                name,
                f"{middle:,.1f}",
                f"{low:,.1f} to {high:,.1f}",
                *(
                    form.format(numbers[name]) if name in numbers else ""
                    for form, numbers in columns.values()
                ),
                f"{median:.2f}x",
                "" if name == first else f"{begin:.2f} to {end:.2f}",
            )
        )
    print(named_table(rows))


# Of a measured process: what does the work of a turn.
_measured: list[Callable[[], None]] = []


def _start(build: Callable[[], Callable[[], None]]) -> None:
    """Builds the program of this process; what libraries print goes nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    _measured.append(build())


def _turn(clock: str, measure: Callable[[], None] | None = None) -> float:
    """Seconds of a turn, of the program of this process by default."""
    measure, began = measure or _measured[0], _CLOCKS[clock]()
    measure()
    return _CLOCKS[clock]() - began
