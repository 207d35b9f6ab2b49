"""The step compiled for devices that are not here. What needs JAX's compilers is skipped without
them: the Python of their environment (see benchmarks/aot.py) is named by AOT_PYTHON."""

import os
import re

import pytest

from benchmarks import aot

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


def test_memory():
    assert aot.temporary_bytes(ASSIGNMENT) == 7000


@pytest.fixture(scope="module")
def compiler():
    path = os.environ.get("AOT_PYTHON", "")
    if not os.path.exists(path):
        pytest.skip("AOT_PYTHON names no Python with JAX's compilers, see benchmarks/aot.py")
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
