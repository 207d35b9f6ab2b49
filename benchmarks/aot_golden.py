"""Compares what XLA's compilers make of some steps with aot_golden.json: `aot.py --check`.

Compilers are exact: the same step gives the same plan, on any machine. A float32 array that is
kept, a fusion that is lost or a transpose that is added changes it, and is otherwise seen only in
the speed of a device that is not here. Kernels are grouped by what they compute, so that a layer
may be renamed.

Two layers show what a layer costs. All programs together take some minutes on two cores.
"""

import json
import pathlib
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bert_common.errors import UserError

GOLDEN = pathlib.Path(__file__).with_name("aot_golden.json")
# Difference that is reported, as a share of the number; or of the whole step for a small kind.
_TOLERANCE = 0.02
_SMALL_SHARE = 0.002
_BASE = {"size": "L2-H768", "max_seq_length": 128, "batch_size": 256}
_BASE_512 = {"size": "L2-H768", "max_seq_length": 512, "batch_size": 64}
_LARGE_PACKED = {"size": "L2-H1024", "max_seq_length": 512, "batch_size": 32, "packed": 3}
_FUSED = {"fused_attention": True, "attention_dropout": 0.0}
# Name → options of `aot.py`.
STEPS: dict[str, dict] = {
    "L2-H128, 128 tokens": {"size": "L2-H128", "max_seq_length": 128, "batch_size": 512},
    "Base, 128 tokens": _BASE,
    "Base, 128 tokens, recomputed": {**_BASE, "recompute": True},
    "Base, 512 tokens": _BASE_512,
    "Large, 512 tokens packed": _LARGE_PACKED,
    # A TPU has no such kernel.
    "Base, 512 tokens, fused": {**_BASE_512, **_FUSED},
}
DEVICES = ("h100", "v5e", "v6e")
_UNITS = ("kernels", "GB", "ms")
# Prints the versions of the packages that decide about the plans.
_SHOW_VERSIONS = """
import importlib.metadata, json
names = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt", "libtpu")
print(json.dumps({name: importlib.metadata.version(name) for name in names}))
"""


class Plan(NamedTuple):
    """The plan that a compiler makes of a step.

    Attributes:
      gib: memory in GiB.
      work: kernels, GB of memory traffic and predicted milliseconds by what kernels compute.
    """

    gib: float
    work: dict[str, list[float]]

    def totals(self) -> list[float]:
        """Returns the sums over all kinds of work."""
        return [sum(column) for column in zip(*self.work.values(), strict=True)]


def plan_of(gib: float, kernels: Iterable) -> Plan:
    """Returns the plan of a step by its kernels, with numbers rounded as the file has them."""
    work: dict[str, list[float]] = {}
    for kernel in sorted(kernels, key=lambda kernel: kernel.work):
        numbers = work.setdefault(kernel.work, [0, 0.0, 0.0])
        numbers[0] += 1
        numbers[1] += kernel.traffic / 1e9
        numbers[2] += kernel.seconds * 1e3
    rounded = {name: [round(number, 4) for number in numbers] for name, numbers in work.items()}
    return Plan(round(gib, 4), rounded)


def differences(name: str, golden: Plan, plan: Plan) -> list[str]:
    """Returns a line for each kind of work that differs from the golden plan, and for the memory.

    Args:
      name: of the step and the device.
      golden: the plan as it was.
      plan: the plan as it is.
    """
    lines = []
    if abs(plan.gib - golden.gib) > _TOLERANCE * golden.gib:
        lines.append(f"{name}: {golden.gib:.2f} GiB before, {plan.gib:.2f} GiB now")
    totals = golden.totals()
    for work in sorted({*golden.work, *plan.work}):
        before = golden.work.get(work, [0, 0.0, 0.0])
        after = plan.work.get(work, [0, 0.0, 0.0])
        differs = False
        for old, new, total in zip(before, after, totals, strict=True):
            differs |= abs(new - old) > max(_TOLERANCE * old, _SMALL_SHARE * total)
        if differs:
            lines.append(f"{name}: {work}: {_text(before)} before, {_text(after)} now")
    return lines


def _text(numbers: list[float]) -> str:
    """Returns the numbers of a kind of work with their units."""
    kernels, gigabytes, milliseconds = numbers
    return f"{kernels:.0f} kernels, {gigabytes:.2f} GB, {milliseconds:.2f} ms"


def check(
    compiler_python: str,
    compile_steps: Callable[[str], dict[str, Plan]],
    update: bool = False,
    path: pathlib.Path = GOLDEN,
) -> int:
    """Compiles all steps and compares their plans with the file; returns the exit status.

    Args:
      compiler_python: a Python with the compilers, of the versions of the file.
      compile_steps: makes the plans of all steps, by their names, with that Python.
      update: write the file in place of comparing.
      path: of the file.

    Raises:
      UserError: the compilers are not there, or have other versions.
    """
    versions = compiler_versions(compiler_python)
    golden: dict[str, Plan] = {}
    if not update:
        content = json.loads(path.read_text("utf-8"))
        if versions != content["versions"]:
            raise UserError(
                f"--compiler_python={compiler_python} has {_listed(versions)}, and {path.name} is "
                f"of {_listed(content['versions'])}: install these, or add --update"
            )
        golden = {name: Plan(*numbers) for name, numbers in content["plans"].items()}
    plans = compile_steps(compiler_python)
    if update:
        write(path, versions, plans)
        print(f"{path}: {len(plans)} plans")
        return 0
    lines = []
    for name, plan in plans.items():
        if name not in golden:
            lines.append(f"{name}: not in {path.name}")
        else:
            lines += differences(name, golden[name], plan)
    for line in lines:
        print(line)
    if lines:
        print(f"{len(lines)} differences; if they are meant, add --update")
        return 1
    print(f"{len(plans)} plans as in {path.name}")
    return 0


def compiler_versions(compiler_python: str) -> dict[str, str]:
    """Returns package → version of the compilers.

    Raises:
      UserError: there is no such Python, or it has no compilers.
    """
    output = run_python(
        compiler_python,
        ["-c", _SHOW_VERSIONS],
        lambda line: f"--compiler_python={compiler_python}: {line}; --help shows how to install it",
    )
    return json.loads(output)


def run_python(compiler_python: str, arguments: Sequence[str], fault: Callable[[str], str]) -> str:
    """Runs the Python that has the compilers; returns its output.

    Args:
      fault: makes the message of an error from the last line of its standard error.

    Raises:
      UserError: there is no such Python, or the process fails.
    """
    try:
        process = subprocess.run(
            [compiler_python, *arguments], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UserError(
            f"--compiler_python={compiler_python}: {error.strerror}; --help shows how to make one"
        ) from None
    if process.returncode:
        # A process that is killed, as for its memory, prints nothing.
        printed = process.stderr.strip() or f"exit status {process.returncode}"
        raise UserError(fault(printed.splitlines()[-1]))
    return process.stdout


def _listed(versions: dict[str, str]) -> str:
    """Returns versions as pip takes them."""
    return " ".join(f"{name}=={version}" for name, version in versions.items())


def write(path: pathlib.Path, versions: dict[str, str], plans: dict[str, Plan]) -> None:
    """Writes the file, with few numbers a line so that a diff shows what changed."""
    lines = [
        f'{{"versions": {json.dumps(versions)},',
        f'"units": {json.dumps(_UNITS)},',
        '"plans": {',
    ]
    for number, (name, plan) in enumerate(plans.items()):
        comma = "," if number < len(plans) - 1 else ""
        lines.append(f"{json.dumps(name)}: [{plan.gib},")
        lines.append(f"  {json.dumps(plan.work)}]{comma}")
    lines.append("}}")
    path.write_text("\n".join(lines) + "\n", "utf-8")
