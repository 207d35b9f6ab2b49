"""The step compiled for devices that are not here. What needs JAX's compilers is skipped without
them: the Python of their environment (see benchmarks/aot.py) is named by AOT_PYTHON, or is where
`make aot` puts it."""

import json
import math
import os
import re
import sys

import pytest

from benchmarks import aot, aot_golden
from bert_common.errors import UserError
from tests.page_commands import PROJECT

PROGRAM = """HloModule step

%multiplied (a: bf16[64,128], b: bf16[64,128]) -> bf16[64,128] {
  %a = bf16[64,128]{1,0} parameter(0)
  %b = bf16[64,128]{1,0} parameter(1)
  ROOT %product = bf16[64,128]{1,0} multiply(%a, %b)
}

%first_row (x: f32[32,256]) -> f32[1,256] {
  %x = f32[32,256]{1,0} parameter(0)
  ROOT %row = f32[1,256]{1,0} slice(%x), slice={[0:1], [0:256]}
}

ENTRY %main (p: bf16[64,128], q: bf16[128,512], r: f32[32,256]) -> (bf16[64,512], bf16[64,128], f32[1,256]) {
  %p = bf16[64,128]{1,0} parameter(0)
  %q = bf16[128,512]{1,0} parameter(1)
  %r = f32[32,256]{1,0} parameter(2)
  %gemm = (bf16[64,512]{1,0}, s8[4194304]{0}) custom-call(%p, %q), custom_call_target="__cublas$gemm", \
backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  %fused = bf16[64,128]{1,0} fusion(%p, %p), kind=kLoop, calls=%multiplied, metadata={op_name="layer_0/dropout/mul"}
  %sliced = f32[1,256]{1,0} fusion(%r), kind=kLoop, calls=%first_row
  ROOT %all = (bf16[64,512], bf16[64,128], f32[1,256]) tuple(%gemm, %fused, %sliced)
}
"""
ASSIGNMENT = """BufferAssignment:
allocation 0: size 300, parameter 0
allocation 1: size 7000, preallocated-temp:
 value: <3 one @0> (size=4000,offset=0): f32[1000]{0}
 value: <4 two @0> (size=3000,offset=4000): bf16[1500]{0}
 value: <5 three @0> (size=2000,offset=0): bf16[1000]{0}

  Live ranges at 3 (peak):
    one{}: 4000 bytes (cumulative: 4000 bytes)
    two{}: 3000 bytes (cumulative: 7000 bytes)
"""


def test_kernels_of_a_program():
    product, dropout, sliced = kernels = aot.kernels_of(*aot.parse(PROGRAM))
    assert [kernel.work for kernel in kernels] == ["products", "element-wise", "copies, transposes"]
    assert product.kind == "products" and product.flops == 2 * 64 * 128 * 512
    assert dropout.kind == "dropout" and dropout.traffic == 3 * 64 * 128 * 2
    # Of what is only sliced that part is read.
    assert sliced.traffic == 2 * 256 * 4
    assert all(kernel.seconds > 2e-6 for kernel in kernels)


def test_facts_of_a_step():
    kernels = aot.kernels_of(*aot.parse(PROGRAM))
    step = aot.CompiledStep(1.5, 2e9, 3e12, 0.25, kernels=(*kernels, kernels[1]))
    facts = step.facts()
    assert (facts["gib"], facts["gb"], facts["tflop"], facts["ms"]) == (1.5, 2.0, 3.0, 250.0)
    assert facts["kinds"]["dropout"]["kernels"] == 2
    assert facts["kinds"]["dropout"]["gb"] == 2 * kernels[1].traffic / 1e9


TPU_PROGRAM = """HloModule step, is_scheduled=true

%product (a: bf16[64,128], b: bf16[12,64,128]) -> bf16[64,12,64] {
  %a = bf16[64,1,128]{2,1,0:T(8,128)(2,1)S(1)} parameter(0)
  %b = bf16[12,64,128]{2,1,0:T(8,128)(2,1)} parameter(1)
  ROOT %c = bf16[64,12,64]{2,1,0:T(8,128)} convolution(%a, %b), window={size=12 pad=11_11 rhs_reversal=1}, \
dim_labels=b0f_0oi->b0f
}

%batched (a: bf16[8,64,128], b: bf16[8,128,32]) -> bf16[8,64,32] {
  %a = bf16[8,64,128]{2,1,0:T(8,128)} parameter(0)
  %b = bf16[8,128,32]{2,1,0:T(8,128)} parameter(1)
  ROOT %c = bf16[8,64,32]{2,1,0:T(8,128)} convolution(%a, %b), window={size=8 stride=7 lhs_dilate=8}, \
dim_labels=0bf_0io->0bf
}

ENTRY %main (p: bf16[64,1,128], q: bf16[12,64,128]) -> (bf16[64,12,64]) {
  %p = bf16[64,1,128]{2,1,0:T(8,128)} parameter(0)
  %q = bf16[12,64,128]{2,1,0:T(8,128)} parameter(1)
  %start = (bf16[64,1,128]{2,1,0:T(8,128)S(1)}, bf16[64,1,128]{2,1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%p)
  %done = bf16[64,1,128]{2,1,0:T(8,128)S(1)} copy-done(%start)
  %one = bf16[64,12,64]{2,1,0:T(8,128)} fusion(%done, %q), kind=kOutput, calls=%product
  %two = bf16[8,64,32]{2,1,0:T(8,128)} fusion(%one, %one), kind=kOutput, calls=%batched
  %three = bf16[64,12,64]{2,1,0:T(8,128)} negate(%two)
  ROOT %all = (bf16[64,12,64]{2,1,0:T(8,128)}) tuple(%three)
}
"""


def test_kernels_and_memory_of_a_tpu():
    computations, entry = aot.parse(TPU_PROGRAM)
    copy, product, batched, _ = aot.kernels_of(computations, entry, aot.RATES["v5e"])
    # Arrays on the chip are not memory traffic.
    assert copy.traffic == 64 * 128 * 2 and copy.work == "copies, transposes"
    assert product.traffic == (12 * 64 * 128 + 64 * 12 * 64) * 2
    # Of a window of 12 over an axis of 1, 11 are over padding; a batch has a dilated one.
    assert product.flops == 2 * (64 * 12 * 64) * 128 and product.work == "products"
    assert batched.flops == 2 * (8 * 64 * 32) * 128
    assert product.seconds == pytest.approx(product.traffic / 0.819e12)
    # The results of both products are alive at once, that of the program does not count.
    assert aot.live_bytes(computations, entry) == (64 * 12 * 64 + 8 * 64 * 32) * 2


PLAN = aot_golden.Plan(
    2.0, {"products": [10, 5.0, 4.0], "sums": [4, 1.0, 0.5], "lookups": [1, 0.001, 0.001]}
)


@pytest.mark.parametrize(
    ("gib", "changes", "lines"),
    [
        (2.03, {"products": [10, 5.09, 4.07]}, []),
        # 2 % of a kind that is small beside the step say nothing.
        (2.0, {"lookups": [1, 0.002, 0.002]}, []),
        (2.05, {}, ["step: 2.00 GiB before, 2.05 GiB now"]),
        (
            2.0,
            {"sums": [5, 1.2, 0.5]},
            ["step: sums: 4 kernels, 1.00 GB, 0.50 ms before, 5 kernels, 1.20 GB, 0.50 ms now"],
        ),
        (
            2.0,
            {"copies": [2, 0.3, 0.2]},
            ["step: copies: 0 kernels, 0.00 GB, 0.00 ms before, 2 kernels, 0.30 GB, 0.20 ms now"],
        ),
    ],
)
def test_differences_are_explained(gib, changes, lines):
    plan = aot_golden.Plan(gib, {**PLAN.work, **changes})
    assert aot_golden.differences("step", PLAN, plan) == lines


def test_the_file_holds_what_was_written(tmp_path):
    path = tmp_path / "golden.json"
    aot_golden.write(path, {"jax": "1"}, {"step": PLAN, "another": PLAN})
    content = json.loads(path.read_text("utf-8"))
    assert content["versions"] == {"jax": "1"}
    assert aot_golden.Plan(*content["plans"]["another"]) == PLAN


def test_a_python_without_compilers_is_refused():
    with pytest.raises(UserError, match="compiler_python=nowhere"):
        aot_golden.compiler_versions("nowhere")
    with pytest.raises(UserError, match="No package metadata was found for jax"):
        aot_golden.compiler_versions(sys.executable)


def test_a_compiler_that_was_killed_is_refused():
    with pytest.raises(UserError, match="compiling: exit status -9"):
        aot_golden.run_python(
            sys.executable,
            ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
            lambda line: f"compiling: {line}",
        )


def test_requirements_and_plans_are_of_the_same_versions():
    versions = json.loads(aot_golden.GOLDEN.read_text("utf-8"))["versions"]
    requirements = (PROJECT / "benchmarks/aot_requirements.txt").read_text("utf-8").splitlines()
    assert [f"{name}=={version}" for name, version in versions.items()] == requirements[1:]


PREDICTIONS = json.loads((PROJECT / "docs/results/predictions.json").read_text("utf-8"))["rows"]


def predicted_ms(row: dict, constants: aot.Constants = aot.FITTED) -> float:
    """Returns the milliseconds of a step by the kernels of its plan."""
    rates = aot.gpu_rates(aot.BANDWIDTHS[row["device"]], constants)
    seconds = aot.roofline(rates, row["other_bytes"], 0, row["instructions"], row["other_launches"])
    for count, traffic, flops in row["products"]:
        seconds += count * aot.roofline(rates, traffic, flops)
    for count, traffic, flops in row["attention"]:
        of_attention = aot.rates_of_kernel(rates, row["options"]["max_seq_length"])
        seconds += count * aot.roofline(of_attention, traffic, flops)
    return seconds * 1e3


def relative_error(row: dict, constants: aot.Constants = aot.FITTED) -> float:
    return predicted_ms(row, constants) / row["measured_ms"] - 1


def test_the_page_has_the_predictions_of_the_file():
    page = (PROJECT / "docs/devices.md").read_text("utf-8")
    for row in PREDICTIONS:
        line = (
            f"| {row['device'].upper()} | {row['step']} | {row['measured_ms']} | "
            f"{predicted_ms(row):.1f} | {relative_error(row):+.1%} |".replace("%", " %")
        )
        assert line in page


def test_the_constants_are_fitted_to_the_h200():
    """Least squares of the logarithms: a step up or down with any constant is no better."""

    def squares(constants: aot.Constants) -> float:
        return sum(
            math.log1p(relative_error(row, constants)) ** 2
            for row in PREDICTIONS
            if row["device"] == "h200"
        )

    least = squares(aot.FITTED)
    assert len(aot.FITTED) == 4
    for name, value in aot.FITTED._asdict().items():
        for factor in (0.99, 1.01):
            assert squares(aot.FITTED._replace(**{name: value * factor})) > least


def test_memory():
    assert aot.temporary_bytes(ASSIGNMENT) == 7000


@pytest.fixture(scope="module")
def compiler():
    path = os.environ.get("AOT_PYTHON", str(PROJECT / "aot/bin/python"))
    if not os.path.exists(path):
        pytest.skip("no Python with JAX's compilers: run make aot, or name one by AOT_PYTHON")
    return path


TINY = {"size": "L2-H128", "max_seq_length": 32, "batch_size": 8, "vocab_size": 500}


def test_the_step_with_recomputed_layers_is_written(tmp_path, monkeypatch):
    """It reads no variable that is not an argument, which TensorFlow refuses."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    parameters, variables = aot.export(
        aot.AotOptions(**TINY, recompute=True), str(tmp_path / "step.hlo")
    )
    assert (
        parameters > 400_000
        and variables == 46
        and (tmp_path / "step.hlo").stat().st_size > 100_000
    )


def test_a_tpu_takes_the_step(compiler):
    step = aot.compile_step(aot.AotOptions(**TINY, device="v5e", compiler_python=compiler))
    assert step.gib > 0 and step.flops > 0


def test_two_layers_of_base_for_an_h100(compiler):
    """Memory, and the arrays that once cost most: the tanh of GELU in float32, and the encoder laid
    out batch-minor."""
    step = aot.compile_step(aot.AotOptions(size="L2-H768", compiler_python=compiler))
    assert step.gib <= 3.6
    assert not re.search(
        r"f32\[(?:256,128|32768),3072\]",
        "".join(line for line in step.text.splitlines() if "fusion(" in line and "calls=" in line),
    )
    assert not re.search(r"bf16\[128,768,256\]", step.text)


def test_other_versions_than_those_of_the_plans_are_refused(compiler, tmp_path):
    path = tmp_path / "golden.json"
    aot_golden.write(path, {"jax": "1"}, {"step": PLAN})
    with pytest.raises(UserError, match=r"golden\.json is of jax==1: install these"):
        aot_golden.check(compiler, aot.compile_golden_steps, path=path)


def test_the_plans_are_those_of_the_file(compiler, capsys):
    assert aot_golden.check(compiler, aot.compile_golden_steps) == 0, capsys.readouterr().out
