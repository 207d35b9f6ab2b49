"""Measures several programs in one run: each in its own process, taking turns in shuffled order.

On a shared machine, whatever slows it down meets all programs alike, so that ratios are steady
where seconds are not. A program that waits for its turn uses no processor. All programs have the
same number of threads and stay on the same cores, which needs Linux. The module also has the
options that benchmarks share: device, precision and model sizes.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import numpy as np

from benchmarks.history import HistoryOptions
from bert_common import gpus
from bert_common.errors import UserError, listed
from bert_common.options import Options, option, option_class
from bert_tf.tables import named_table

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = "vocab/english_uncased/vocab.txt"
# Bootstrap samples of a ratio's interval.
_RESAMPLES = 2000
_CONFIDENCE = 0.95
_CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# Sizes of the thread pools of TensorFlow, OpenMP and MKL.
_THREAD_VARIABLES = (
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)
# Precision of all programs on each device.
_PRECISIONS = {"cpu": "float32", "gpu": "bfloat16"}


@option_class
class VocabularyOptions(Options):
    """Vocabulary."""

    vocab_file: str = option(
        str(PROJECT / VOCABULARY), "WordPiece vocabulary, uncased.", default_text=VOCABULARY
    )


@option_class
class TurnsOptions(HistoryOptions):
    """Processes and results."""

    threads: int | None = option(
        None,
        "Threads of each program, and cores that it stays on.",
        minimum=1,
        default_text="one for every core",
    )
    clock: str = option(
        "wall",
        "Clock: wall, or cpu for the processor time of a program, which is less affected by other "
        "programs on the machine. Combine cpu with --threads=1: threads that wait for each other "
        "count, too.",
        choices=_CLOCKS,
    )
    one_process: bool = option(
        False,
        "Run all programs in this process, as a test: their thread pools compete, so that ratios "
        "mean nothing.",
    )


@option_class
class DeviceOptions(TurnsOptions):
    """Device."""

    device: str = option("cpu", "Device of all programs.", choices=tuple(_PRECISIONS))

    @property
    def precision(self) -> str:
        return _PRECISIONS[self.device]

    def set_up_device(self) -> None:
        """Sets the environment variables that programs inherit and their libraries read."""
        if self.device == "cpu":
            # Hides GPUs from TensorFlow and PyTorch.
            os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
            return
        driver = gpus.read_driver()
        if driver is None or not driver.gpus:
            raise UserError("--device=gpu: there is no GPU with a driver; --device=cpu needs none")
        gpus.prepare(driver, os.environ)
        os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        # TensorFlow would compute float32 in TF32; PyTorch does not by default.
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"


@option_class
class StepOptions(Options):
    """Model and batch."""

    size: str = option("L4-H256", "Model size: L<layers>-H<hidden>, base or large.")
    batch_size: int = option(32, "Sequences per step.", minimum=1)
    max_seq_length: int = option(128, "Tokens per sequence.", minimum=8)
    vocab_size: int = option(30522, "Vocabulary size.", minimum=1)
    steps: int = option(3, "Steps per turn.", minimum=1)


def find_config(size: str, vocab_size: int):
    """Returns the `BertConfig` of --size: a preset, or layers and hidden units with 32 per head."""
    from modeling import PRESETS, BertConfig

    for name in (size, f"bert-{size}"):
        if name in PRESETS:
            return dataclasses.replace(PRESETS[name], vocab_size=vocab_size)
    match = re.fullmatch(r"L([1-9]\d*)-H([1-9]\d*)", size)
    if match is None or int(match[2]) % 32:
        raise UserError(
            f"--size={size} is unknown: use base, large, or L<layers>-H<hidden> with a multiple "
            "of 32"
        )
    hidden_size = int(match[2])
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=int(match[1]),
        num_attention_heads=hidden_size // 32,
        intermediate_size=4 * hidden_size,
    )


def take_turns(
    options: TurnsOptions,
    programs: Sequence[str],
    num_turns: int,
    build: Callable,
    *arguments: object,
) -> dict[str, list[float]]:
    """Measures programs in turns.

    Args:
      options: threads and clock.
      programs: names of the programs.
      num_turns: turns of each program.
      build: function of a module, called with `arguments` and a name in the process of the program;
        returns a function that does the work of a turn, warmed up.
      *arguments: picklable arguments of `build`.

    Returns:
      The seconds of each turn by program. A program that could not start or broke off is left out,
      with a line that says why.
    """
    available = sorted(os.sched_getaffinity(0))
    cores = available[: options.threads]
    print(
        f"{len(cores)} threads on cores {listed(cores)} of {os.cpu_count()}; load "
        f"{os.getloadavg()[0]:.1f} before; {num_turns} turns in shuffled order; "
        f"{options.clock} time",
        flush=True,
    )
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    turns: dict[str, Callable[[], float]] = {}
    # Shuffled, so that no program always runs after the same other one; with a seed, so that a
    # comparison can be repeated.
    shuffler = random.Random(0)

    def leave_out(name: str, error: Exception) -> None:
        # A test must fail with the program's error.
        if options.one_process:
            raise error
        if isinstance(error, UserError):
            reason = str(error)
        else:
            reason = f"{type(error).__name__}: {error}"
        count = len(seconds.pop(name))
        turns.pop(name, None)
        print(f"{name}: not measured, it broke off after {count} turns: {reason}", flush=True)

    with contextlib.ExitStack() as stack:
        if not options.one_process:
            stack.enter_context(_children_on(cores, available))
        # One at a time: building one program must not slow down another's warm-up.
        for name in programs:
            program = functools.partial(build, *arguments, name)
            try:
                turns[name] = _start_program(program, options, stack)
            except Exception as error:
                leave_out(name, error)
        for _ in range(num_turns):
            # Programs that broke off are no longer in `turns`.
            order = list(turns)
            shuffler.shuffle(order)
            for name in order:
                try:
                    seconds[name].append(turns[name]())
                except Exception as error:
                    leave_out(name, error)
    return seconds


@contextlib.contextmanager
def _children_on(cores: list[int], available: list[int]) -> Iterator[None]:
    """Makes processes that start in the block stay on some cores, with a thread for each."""
    # Children inherit affinity and variables. Libraries read both when they are imported.
    variables = dict.fromkeys(_THREAD_VARIABLES, str(len(cores)))
    with mock.patch.dict(os.environ, variables):
        os.sched_setaffinity(0, cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, available)


def _start_program(
    program: Callable[[], Callable[[], None]],
    options: TurnsOptions,
    stack: contextlib.ExitStack,
) -> Callable[[], float]:
    """Builds a program in its process, which ends with `stack`; returns a function of a turn."""
    if options.one_process:
        return functools.partial(_time, options.clock, program())
    # "spawn": a forked process would share the state of libraries that are imported here.
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    stack.enter_context(pool)
    pool.submit(_build_in_child, program).result()
    return lambda: pool.submit(_time_in_child, options.clock).result()


# The function of a turn in a measured process: it can't be pickled, so that it stays there.
_turn_of_child: list[Callable[[], None]] = []


def _build_in_child(program: Callable[[], Callable[[], None]]) -> None:
    # Libraries print more than a pipe holds.
    with open(os.devnull, "w", encoding="utf-8") as null:
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    _turn_of_child.append(program())


def _time_in_child(clock: str) -> float:
    return _time(clock, _turn_of_child[0])


def _time(clock: str, turn: Callable[[], None]) -> float:
    """Returns the seconds of a turn."""
    start = _CLOCKS[clock]()
    turn()
    return _CLOCKS[clock]() - start


def ratio(slower: Sequence[float], faster: Sequence[float]) -> tuple[float, float, float]:
    """Returns (low, median, high) of the turns' ratios, with a bootstrapped 95 % interval."""
    # Turn by turn: the two programs' turns of a round met the same load.
    ratios = [a / b for a, b in zip(slower, faster, strict=True)]
    generator = random.Random(0)
    medians = []
    for _ in range(_RESAMPLES):
        sample = generator.choices(ratios, k=len(ratios))
        medians.append(statistics.median(sample))
    medians.sort()
    outside = round((1 - _CONFIDENCE) / 2 * _RESAMPLES)
    return medians[outside], statistics.median(ratios), medians[-1 - outside]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the first quartile, the median and the third quartile."""
    low, median, high = np.percentile(values, [25, 50, 75])
    return float(low), float(median), float(high)


def print_rates(
    seconds: Mapping[str, Sequence[float]],
    amounts: Sequence[float],
    unit: str,
    columns: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Prints what programs do per second, and by how much the first one is faster.

    Args:
      seconds: time of each turn, by program.
      amounts: amount of work in each turn.
      unit: unit of the amounts, plural.
      columns: further columns: their cells by program, by heading.
    """
    if not seconds:
        return
    first = next(iter(seconds))
    further = {} if columns is None else columns
    heading = ["program", f"{unit}/s", "quartiles", *further]
    rows = [[*heading, f"{first} is faster by", "95 % interval"]]
    for name, turns in seconds.items():
        rates = [amount / turn for amount, turn in zip(amounts, turns, strict=True)]
        low, median, high = quartiles(rates)
        row = [name, f"{median:,.1f}", f"{low:,.1f} to {high:,.1f}"]
        for cells in further.values():
            row.append(cells[name])
        begin, middle, end = ratio(turns, seconds[first])
        interval = "" if name == first else f"{begin:.2f} to {end:.2f}"
        rows.append([*row, f"{middle:.2f}x", interval])
    print(named_table(rows))
