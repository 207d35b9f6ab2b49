"""Compiles the training step for a GPU or TPU that is not here: memory, kernels, predicted speed.

  python benchmarks/aot.py --size=base --max_seq_length=128 --batch_size=256    # NVIDIA H100
  python benchmarks/aot.py --device=h200 --max_seq_length=512 --batch_size=64    # NVIDIA H200
  python benchmarks/aot.py --device=v5e --size=L2-H128 --batch_size=128         # a TPU
  python benchmarks/aot.py --check       # whether plans are still as in aot_golden.json

XLA's compilers need no device. `run_pretraining.py` has the same step, in bfloat16: TensorFlow
writes it as HLO, and JAX's compiler, which is the same one, plans it. Nothing is run, so that
milliseconds are a prediction, a roofline of each kernel. Against runs, GiB are right to 2 %.
Milliseconds have four constants that were fitted to runs on an H200: they are right to 3 % there,
and 3 to 15 % too high for runs on an H100 that the fit had not seen.
--compiler_python names the Python of a separate environment:

  python3.11 -m venv aot
  aot/bin/pip install -r benchmarks/aot_requirements.txt
"""

import dataclasses
import glob
import json
import math
import os
import pathlib
import re
import tempfile
from concurrent import futures
from typing import NamedTuple

from benchmarks import aot_golden
from benchmarks.interleaved import find_config
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import Options, option, option_class
from bert_tf.tables import named_table

# The numbers below belong to the card that the prediction was compared with: docs/devices.md shows
# what it predicts, and how far it was from the runs.
_GIB = 2**30
# Weight, gradient and two slots of a parameter, in float32.
_STATE_BYTES = 16
# GPU → published bytes per second of its memory.
BANDWIDTHS = {"h100": 3.35e12, "h200": 4.8e12}
# Published rates of both, which have the same chip: FLOP/s of bfloat16, and instructions
# (multiprocessors, lanes, clock). TF32 has half the rate of bfloat16.
_PEAK_FLOPS = 989.4e12
_PEAK_INSTRUCTIONS = 132 * 128 * 1.98e9
_TF32_SLOWDOWN = 2.0
# Bytes of an element; all other types have 4.
_ELEMENT_BYTES = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "bf16": 2,
    "f16": 2,
    "s16": 2,
    "u16": 2,
    "s64": 8,
    "u64": 8,
    "f64": 8,
    "token": 0,
}
# Operations that launch no kernel and compute nothing.
_FREE_OPERATIONS = {
    "parameter",
    "constant",
    "bitcast",
    "tuple",
    "get-tuple-element",
    "after-all",
    "reshape",
    "broadcast",
    "iota",
    "copy-done",
    "slice-done",
}
# Custom calls of a TPU that only name memory.
_FREE_CALLS = {"AllocateBuffer", "ConcatBitcast"}
# Operations that only move or convert numbers.
_MOVES = {
    "concatenate",
    "convert",
    "copy",
    "copy-start",
    "dynamic-slice",
    "fusion",
    "pad",
    "slice",
    "slice-start",
    "transpose",
}
# Instructions of an operation on one element; all others take one.
_INSTRUCTIONS = {
    "exponential": 6,
    "tanh": 16,
    "rsqrt": 4,
    "sqrt": 8,
    "divide": 8,
    "log": 10,
    "power": 30,
    "erf": 20,
}
# The kind of a kernel is the first whose pattern matches its custom call, TensorFlow's name of its
# root, or its shape.
_KINDS = {
    "fused attention": r"fmha",
    "products": r"gemm|matmul",
    "random bits": r"StatelessRandom|u32\[|u64\[",
    "dropout": r"dropout|SelectV2|pred\[",
    "LayerNorm, residual": r"LayerNorm|AddN",
    "GELU": r"intermediate|PartitionedCall|tanh",
    "head, cross-entropy": r"masked_lm|,30522\]|Softmax|ArgMax",
    "attention without products": r"attention|transpose",
    "embeddings": r"embeddings|\[30522,",
}


class Rates(NamedTuple):
    """Rates that a device reaches, per second, and the time of a launch.

    Attributes:
      products: FLOP of products in bfloat16.
      memory: bytes of memory traffic.
      instructions: instructions on single elements, infinite where the rate is not known.
      launch: seconds from one kernel to the next.
      attention: FLOP of fused attention for each token of a row; at most `products` in all.
    """

    products: float
    memory: float
    instructions: float = math.inf
    launch: float = 0.0
    attention: float = math.inf


class Constants(NamedTuple):
    """Shares of its published rates that a GPU reaches, and the time of a launch.

    Attributes:
      products: share of the peak of bfloat16.
      memory: share of the memory's bandwidth and of the peak of instructions.
      launch: seconds from one kernel to the next.
      attention: share of the peak that cuDNN's fused attention reaches with rows of 512 tokens.
    """

    products: float
    memory: float
    launch: float
    attention: float


# Least squares of the logarithms of predicted to measured time, over the steps that an H200 ran.
# What an H100 ran was not used: docs/results/predictions.json has both.
FITTED = Constants(products=0.757, memory=0.812, launch=6.84e-6, attention=0.187)


def gpu_rates(bandwidth: float, constants: Constants = FITTED) -> Rates:
    """Returns the rates of a GPU whose memory has a published rate of `bandwidth` bytes/s."""
    return Rates(
        products=_PEAK_FLOPS * constants.products,
        memory=bandwidth * constants.memory,
        instructions=_PEAK_INSTRUCTIONS * constants.memory,
        launch=constants.launch,
        attention=_PEAK_FLOPS * constants.attention / 512,
    )


def rates_of_kernel(rates: Rates, attention_length: int) -> Rates:
    """Returns the rates of a kernel: fused attention has its own for products.

    Args:
      rates: of the device.
      attention_length: tokens of a row that fused attention reads, 0 for all other kernels. What
        was measured has 128 and 512; for longer rows the rate is a guess.
    """
    if not attention_length:
        return rates
    return rates._replace(products=min(rates.attention * attention_length, rates.products))


RATES = {
    "h100": gpu_rates(BANDWIDTHS["h100"]),
    "h200": gpu_rates(BANDWIDTHS["h200"]),
    # Google's published peaks, as nothing was measured on a TPU.
    "v4": Rates(products=275e12, memory=1.2e12),
    "v5e": Rates(products=197e12, memory=0.819e12),
    "v6e": Rates(products=918e12, memory=1.64e12),
}


@option_class
class AotOptions(Options):
    """Options of the command."""

    device: str = option("h100", "Device to compile the step for.", choices=tuple(RATES))
    size: str = option("base", "Model size: L<layers>-H<hidden>, base or large.")
    max_seq_length: int = option(128, "Tokens per row.", minimum=8)
    batch_size: int = option(256, "Rows per step and device.", minimum=1)
    dropout: float = option(0.1, "Dropout rate of hidden units.", minimum=0, maximum=0.9)
    attention_dropout: float = option(
        0.1, "Dropout rate of attention probabilities.", minimum=0, maximum=0.9
    )
    fused_attention: bool = option(
        False, "Attention is one kernel of cuDNN; needs --attention_dropout=0."
    )
    recompute: bool = option(False, "Layers are recomputed in the backward pass.")
    packed: int = option(0, "Sequences packed into a row; 0 for one per row.", minimum=0)
    precision: str = option(
        "bfloat16", "Precision of the products.", choices=("bfloat16", "float16", "float32")
    )
    vocab_size: int = option(30522, "Vocabulary size.", minimum=1)
    compiler_python: str = option("aot/bin/python", "Python with JAX, see above.")
    check_golden: bool = option(
        False,
        "Compare the plans of some steps with aot_golden.json, in place of one step.",
        aliases=("check",),
    )
    update: bool = option(
        False, "Write aot_golden.json in place of comparing.", only_with=("check_golden",)
    )

    def check(self) -> None:
        super().check()
        if self.fused_attention and self.attention_dropout:
            raise UserError(
                "--fused_attention drops no attention probabilities: add --attention_dropout=0"
            )


class Instruction(NamedTuple):
    """A line of HLO.

    Attributes:
      name: name of its result.
      shapes: (element type, sizes) of each array in its result.
      sizes: bytes of each array; 0 in the memory on a TPU's chip.
      operation: such as "fusion".
      operands: names of its operands.
      attributes: text after the operands.
      is_root: whether it is the result of its computation.
    """

    name: str
    shapes: list[tuple[str, list[int]]]
    sizes: list[int]
    operation: str
    operands: list[str]
    attributes: str
    is_root: bool

    @property
    def size(self) -> int:
        """Bytes of its result."""
        return sum(self.sizes)

    @property
    def target(self) -> str:
        """Target of a custom call; empty for all other operations."""
        target = re.search(r'custom_call_target="([^"]*)"', self.attributes)
        return target[1] if target else ""

    @property
    def is_free(self) -> bool:
        """Whether it launches no kernel and makes no array."""
        return self.operation in _FREE_OPERATIONS or self.target in _FREE_CALLS


class Kernel(NamedTuple):
    """A kernel of a compiled program.

    Attributes:
      kind: part of the model, by the names of its layers.
      work: kind of its operations, which does not depend on the names of layers.
      traffic: bytes of memory read and written.
      flops: FLOP of its products.
      seconds: predicted time.
    """

    kind: str
    work: str
    traffic: int
    flops: float
    seconds: float


class CompiledStep(NamedTuple):
    """A training step on one device as a compiler plans it.

    Attributes:
      gib: maximum memory: temporary arrays, weights, gradients and both slots of AdamW.
      traffic: bytes read and written by forward and backward pass.
      flops: FLOP of forward and backward pass; on a GPU of the products only.
      seconds: predicted time; on a TPU without the update, as its compiler estimates.
      kernels: kernels in their order; none on a TPU.
      text: optimized HLO; empty on a TPU.
    """

    gib: float
    traffic: float
    flops: float
    seconds: float
    kernels: tuple[Kernel, ...] = ()
    text: str = ""

    def facts(self) -> dict[str, object]:
        """Returns its numbers for JSON: GiB, GB, TFLOP, ms, and these by kind of kernel."""
        # Kinds are listed in the order in which the step first needs them.
        kinds: dict[str, dict[str, float]] = {}
        for kernel in self.kernels:
            kind = kinds.setdefault(kernel.kind, {"kernels": 0, "ms": 0.0, "gb": 0.0})
            kind["kernels"] += 1
            kind["ms"] += kernel.seconds * 1e3
            kind["gb"] += kernel.traffic / 1e9
        return {
            "gib": self.gib,
            "gb": self.traffic / 1e9,
            "tflop": self.flops / 1e12,
            "ms": self.seconds * 1e3,
            "kinds": kinds,
        }


def main(options: AotOptions) -> int | None:
    if options.check_golden:
        return aot_golden.check(
            options.compiler_python, compile_golden_steps, update=options.update
        )
    step = compile_step(options)
    facts = step.facts()
    print(
        f"{options.size}, {options.max_seq_length} tokens x {options.batch_size} on "
        f"{options.device}, {options.precision}, dropout {options.dropout:g} and "
        f"{options.attention_dropout:g}: {step.gib:.2f} GiB"
    )
    print(
        f"{facts['gb']:.1f} GB of traffic, {facts['tflop']:.2f} TFLOP, {facts['ms']:.1f} ms "
        f"predicted, {options.batch_size / step.seconds:,.0f} sequences/s"
    )
    if options.device not in BANDWIDTHS:
        print("the update of the weights is not included")
        return None
    print(f"{step.flops / step.seconds / _PEAK_FLOPS:.0%} of the peak of products, predicted")
    rows = [("kind", "kernels", "ms", "GB")]
    for name, kind in facts["kinds"].items():
        rows.append((name, f"{kind['kernels']}", f"{kind['ms']:.2f}", f"{kind['gb']:.2f}"))
    print(named_table(rows))
    return None


def compile_golden_steps(compiler_python: str) -> dict[str, aot_golden.Plan]:
    """Returns the plan of every step of `aot_golden.py` on every device by their names."""
    plans = {}
    with tempfile.TemporaryDirectory() as folder:
        # libtpu holds a lock: its programs are compiled one after the other, beside the GPU's.
        gpu_queue = futures.ThreadPoolExecutor(1)
        tpu_queue = futures.ThreadPoolExecutor(1)
        pending = {}
        with gpu_queue, tpu_queue:
            for number, (name, values) in enumerate(aot_golden.STEPS.items()):
                program = f"{folder}/{number}.hlo"
                options = AotOptions(**values, compiler_python=compiler_python)
                size = export(options, program)
                for device in aot_golden.DEVICES:
                    if options.fused_attention and device not in BANDWIDTHS:
                        continue
                    queue = gpu_queue if device in BANDWIDTHS else tpu_queue
                    pending[f"{name}, {device}"] = queue.submit(
                        planned_step, compiler_python, program, device, *size
                    )
            for name, result in pending.items():
                step = result.result()
                plans[name] = aot_golden.plan_of(step.gib, step.kernels)
    return plans


def compile_step(options: AotOptions) -> CompiledStep:
    """Writes the step as HLO, compiles it and reads the compiler's output.

    Raises:
      UserError: there is no such Python, or the compiler refuses the program.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "step.hlo")
        num_parameters, num_variables = export(options, program)
        # A TPU's compiler reports costs of the whole program, and no kernels.
        if options.device not in BANDWIDTHS:
            output = run_compiler(options.compiler_python, program, options.device, folder)
            costs = json.loads(output.splitlines()[-1])
            return CompiledStep(
                gib=(costs["temp"] + _STATE_BYTES * num_parameters) / _GIB,
                traffic=costs["bytes"],
                flops=costs["flops"],
                # The compiler adds -1 s for an operation whose time it does not know.
                seconds=costs["optimal_seconds"] % 1,
            )
        return planned_step(
            options.compiler_python, program, options.device, num_parameters, num_variables
        )


def planned_step(
    compiler_python: str, program: str, device: str, num_parameters: int, num_variables: int
) -> CompiledStep:
    """Compiles a program as far as its plan and predicts memory and time from that.

    Machine code is not made, which for a TPU takes minutes. What its compiler reckons for the whole
    program is then missing: memory is the largest sum of live arrays, and time a roofline.

    Args:
      compiler_python: a Python with JAX.
      program: path of the step, from `export`.
      device: one of `RATES`.
      num_parameters, num_variables: results of `export`.
    """
    with tempfile.TemporaryDirectory() as folder:
        run_compiler(compiler_python, program, device, folder, only_plan=True)
        if device in BANDWIDTHS:
            text = _read_dump(folder, "after_optimizations")
            temporary = temporary_bytes(_read_dump(folder, "buffer-assignment"))
        else:
            text = _read_dump(folder, "TLP-hlo")
            temporary = live_bytes(*parse(text))
    kernels = kernels_of(*parse(text), RATES[device])
    # The norm reads the gradients. AdamW reads them again with weights and slots, and writes these.
    update = roofline(RATES[device], 32 * num_parameters, launches=2 * num_variables)
    return CompiledStep(
        gib=(temporary + _STATE_BYTES * num_parameters) / _GIB,
        traffic=sum(kernel.traffic for kernel in kernels),
        flops=sum(kernel.flops for kernel in kernels),
        seconds=sum(kernel.seconds for kernel in kernels) + update,
        kernels=tuple(kernels),
        text=text,
    )


def run_compiler(
    compiler_python: str, program: str, device: str, folder: str, only_plan: bool = False
) -> str:
    """Runs `aot_compile.py` with the other Python; returns its output."""
    script = os.path.join(os.path.dirname(__file__), "aot_compile.py")
    extent = "plan" if only_plan else "costs"
    return aot_golden.run_python(
        compiler_python,
        [script, program, device, folder, extent],
        lambda line: f"the compiler refuses the program: {line[:300]}",
    )


def _read_dump(folder: str, name: str) -> str:
    """Returns the last of the compiler's text files of a kind: the earlier ones are small parts."""
    paths = sorted(glob.glob(os.path.join(folder, f"*{name}.txt")))
    return pathlib.Path(paths[-1]).read_text("utf-8")


def export(options: AotOptions, path: str) -> tuple[int, int]:
    """Writes forward and backward pass as HLO.

    TensorFlow compiles no function with variables for a device that this machine lacks: the weights
    are arguments.

    Returns:
      The numbers of parameters and of variables.
    """
    # A GPU of this machine would change what TensorFlow writes.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    import modeling
    from bert_tf.tasks.pretraining.task import pretraining_loss
    from modeling.dropout import stream_key

    config = dataclasses.replace(
        find_config(options.size, options.vocab_size),
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.attention_dropout,
    )
    if options.precision == "float32":
        policy = "float32"
    else:
        policy = f"mixed_{options.precision}"
    model = modeling.BertForPreTraining(config, dtype=policy)
    model.encoder.recompute = options.recompute
    model.encoder.fused_attention = options.fused_attention
    loss = pretraining_loss(model)
    features = _features(options)
    # Only shapes and types of the arguments matter.
    weights = [tf.zeros(variable.shape, variable.dtype) for variable in model.trainable_variables]
    gradients = _gradients_function(model, loss)
    program = gradients.experimental_get_compiler_ir(
        weights,
        features,
        loss.counts(features),
        stream_key(0, tf.constant(0, tf.int64)),
    )(stage="hlo_serialized", platform_name="GPU")
    with open(path, "wb") as file:
        file.write(program)
    return sum(int(tf.size(weight)) for weight in weights), len(weights)


def _features(options: AotOptions) -> dict:
    """Returns a random batch of records, packed if --packed says so, as tensors."""
    import numpy as np
    import tensorflow as tf

    from benchmarks.pretraining_step import random_batch

    rows = options.batch_size
    length = options.max_seq_length
    num_predictions = math.ceil(0.15 * length)
    batch = random_batch(rows, length, num_predictions, options.vocab_size)
    if options.packed:
        # Every row has as many sequences, of random lengths; all but the numbers is as in records.
        generator = np.random.default_rng(0)
        sequence_ids = generator.integers(1, options.packed + 1, (rows, length))
        batch["sequence_ids"] = np.sort(sequence_ids)
        batch["position_ids"] = np.tile(np.arange(length), (rows, 1))
        batch["next_sentence_positions"] = np.tile(np.arange(options.packed), (rows, 1))
        batch["next_sentence_labels"] = np.zeros((rows, options.packed), np.int64)
        batch["next_sentence_weights"] = np.ones((rows, options.packed))
    features = {}
    for name, value in batch.items():
        dtype = np.float32 if name.endswith("_weights") else np.int32
        features[name] = tf.constant(value.astype(dtype))
    return features


def _gradients_function(model, loss):
    """Returns a `tf.function` of (weights, features, counts, dropout key): gradients and sums."""
    import keras
    import tensorflow as tf

    from modeling.dropout import stream_of_key
    from modeling.xla import jit_compile_scope

    variables = model.trainable_variables
    # The function must not read a variable, only its arguments and constants.
    # Keras' seed generators: nothing draws from them, but recomputation looks at them.
    constants = [(variable, variable.numpy()) for variable in model.non_trainable_variables]

    @tf.function(autograph=False, jit_compile=True)
    def gradients(weights, features, counts, key):
        state = list(zip(variables, weights, strict=True))
        state += [(variable, tf.constant(value)) for variable, value in constants]
        with keras.StatelessScope(state_mapping=state):
            # The scripts do the same: layers then choose the forms that XLA fuses well.
            with jit_compile_scope():
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(weights)
                    dropout = stream_of_key(key, tf.constant(0, tf.int64))
                    sums = loss.sums(model(features, dropout=dropout), features)
                    total = loss.total(sums, counts)
                # A weight that no loss reads must have a gradient, too.
                weight_gradients = tape.gradient(
                    total, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO
                )
        # The gradient of a lookup has indices; the update takes a whole matrix.
        dense = [tf.convert_to_tensor(gradient) for gradient in weight_gradients]
        return dense, dict(sums)

    return gradients


def parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """Parses HLO.

    Returns:
      The instructions of each computation by its name, and the name of the entry computation.
    """
    computations: dict[str, list[Instruction]] = {}
    instructions: list[Instruction] = []
    entry = ""
    for line in text.splitlines():
        # Such as `ENTRY %main (p: bf16[64,128]) -> bf16[64,128] {`.
        heading = re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$", line)
        if heading:
            instructions = []
            computations[heading[2]] = instructions
            if heading[1]:
                entry = heading[2]
            continue
        instruction = _parse_instruction(line)
        if instruction is not None:
            instructions.append(instruction)
    return computations, entry


def _parse_instruction(line: str) -> Instruction | None:
    """Parses a line such as `ROOT %c = bf16[64,128]{1,0} multiply(%a, %b), metadata={…}`."""
    assignment = re.match(r"^\s+(ROOT )?%?([\w.\-]+) = (.*)$", line)
    if assignment is None:
        return None
    # Long tuples have comments with the index of an element.
    text = re.sub(r"/\*.*?\*/", "", assignment[3])
    shapes_end = _closing_parenthesis(text, 0) + 1 if text.startswith("(") else text.index(" ")
    call = text[shapes_end:].lstrip()
    # Lines of the header have an equals sign, too, but no call.
    operation = re.match(r"([\w\-]+)\(", call)
    if operation is None:
        return None
    shapes = []
    sizes = []
    # Such as `bf16[64,128]{1,0:T(8,128)S(1)}`, with the memory space at the end of the layout.
    arrays = re.findall(r"(\w+)\[([\d,]*)\](\{[^}]*\})?", text[:shapes_end])
    for element_type, axes_text, layout in arrays:
        axes = [int(axis_size) for axis_size in axes_text.split(",") if axis_size]
        shapes.append((element_type, axes))
        is_on_chip = re.search(r"S\([1-9]\)", layout) is not None
        sizes.append(0 if is_on_chip else array_bytes(element_type, axes))
    operands_end = _closing_parenthesis(call, operation.end() - 1)
    return Instruction(
        name=assignment[2],
        shapes=shapes,
        sizes=sizes,
        operation=operation[1],
        operands=re.findall(r"%([\w.\-]+)", call[operation.end() : operands_end]),
        attributes=call[operands_end:],
        is_root=bool(assignment[1]),
    )


def array_bytes(element_type: str, axes: list[int]) -> int:
    """Returns the bytes of an array."""
    return _ELEMENT_BYTES.get(element_type, 4) * math.prod(axes)


def _closing_parenthesis(text: str, start: int) -> int:
    """Returns the position of the parenthesis that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return len(text)


def kernels_of(
    computations: dict[str, list[Instruction]], name: str, rates: Rates = RATES["h100"]
) -> list[Kernel]:
    """Returns the kernels of a computation in their order, the kernels of its loops repeated."""
    instructions = {instruction.name: instruction for instruction in computations[name]}
    kernels = []
    for instruction in computations[name]:
        if instruction.is_free:
            continue
        if instruction.operation in ("call", "while", "conditional", "async-start"):
            # A loop whose number of iterations XLA does not know counts once.
            attributes = instruction.attributes
            trip_count = re.search(r'known_trip_count":\{"n":"(\d+)', attributes)
            repetitions = int(trip_count[1]) if trip_count else 1
            for body in re.findall(r"(?:to_apply|calls|body)=%?([\w.\-]+)", attributes):
                kernels += kernels_of(computations, body, rates) * repetitions
        else:
            kernels.append(_kernel(instruction, instructions, computations, rates))
    return kernels


def _kernel(
    instruction: Instruction,
    instructions: dict[str, Instruction],
    computations: dict[str, list[Instruction]],
    rates: Rates,
) -> Kernel:
    """Returns the kernel of an instruction with its roofline."""
    parts = [instruction]
    num_instructions = 0
    if instruction.operation == "fusion":
        called = re.search(r"calls=%?([\w.\-]+)", instruction.attributes)
        parts = computations[called[1]]
        for part in parts:
            if part.operation not in _FREE_OPERATIONS and part.shapes:
                elements = math.prod(part.shapes[0][1])
                num_instructions += elements * _INSTRUCTIONS.get(part.operation, 1)
    # A parameter of the computation may be an operand twice; it is read once.
    names = dict.fromkeys(instruction.operands)
    operands = [instructions[name] for name in names if name in instructions]
    traffic = _traffic(instruction, operands, parts)
    if instruction.operation == "custom-call":
        flops = _custom_call_flops(instruction, instruction.target, operands)
    else:
        flops = 0.0
    for part in parts:
        if part.operation == "convolution":
            flops += _convolution_flops(part, [*instructions.values(), *parts])
    tensorflow_name = re.search(r'op_name="([^"]*)"', instruction.attributes)
    description = [instruction.target, tensorflow_name[1] if tensorflow_name else ""]
    for element_type, sizes in instruction.shapes:
        description.append(f"{element_type}[{','.join(str(size) for size in sizes)}]")
    kind = "other"
    for name, pattern in _KINDS.items():
        if re.search(pattern, " ".join(description)):
            kind = name
            break
    rates = rates_of_kernel(rates, _attention_length(instruction))
    seconds = roofline(rates, traffic, flops, num_instructions)
    return Kernel(kind, _work(parts), traffic, flops, seconds)


def _traffic(
    instruction: Instruction, operands: list[Instruction], parts: list[Instruction]
) -> int:
    """Returns the bytes that a kernel reads and writes."""
    if instruction.operation == "fusion":
        return _fusion_traffic(parts)
    if instruction.operation == "copy-start":
        # Its result has both the copy and the original.
        return instruction.size
    if instruction.operation == "slice-start":
        return array_bytes(*instruction.shapes[1])
    return instruction.size + sum(operand.size for operand in operands)


def _work(parts: list[Instruction]) -> str:
    """Returns the kind of the operations of a kernel."""
    operations = {part.operation for part in parts}
    targets = " ".join(part.target for part in parts)
    if "fmha" in targets:
        return "fused attention"
    if re.search("gemm|matmul", targets) or operations & {"convolution", "dot"}:
        return "products"
    # Nothing else in a step shifts bits than the hash of dropout.
    if "shift-right-logical" in operations:
        return "dropout"
    if operations & {"tanh", "exponential"}:
        return "tanh, exponentials"
    if operations & {"reduce", "reduce-window"}:
        return "sums"
    if operations & {"gather", "scatter", "dynamic-update-slice", "sort"}:
        return "lookups"
    if operations <= _MOVES | _FREE_OPERATIONS:
        return "copies, transposes"
    return "element-wise"


def _convolution_flops(convolution: Instruction, instructions: list[Instruction]) -> float:
    """Returns the FLOP of a product, which a TPU's compiler writes as a convolution."""
    axes = {other.name: other.shapes[0][1] for other in instructions if other.shapes}
    left_axes = axes[convolution.operands[0]]
    kernel_axes = axes[convolution.operands[1]]
    labels = re.search(r"dim_labels=(\w+)_(\w+)->", convolution.attributes)
    summed = kernel_axes[labels[2].index("i")]
    window = re.search(r"window=\{size=([\dx]+)([^}]*)\}", convolution.attributes)
    # A batch of products has a dilated window, of which one element is used.
    if window and "dilate" not in window[2]:
        for axis, size in enumerate(window[1].split("x")):
            # The rest of a window that is larger than the axis is over padding.
            summed *= min(int(size), left_axes[labels[1].index(str(axis))])
    return 2.0 * math.prod(convolution.shapes[0][1]) * summed


def _custom_call_flops(instruction: Instruction, target: str, operands: list[Instruction]) -> float:
    """Returns the FLOP of a call of cuBLAS or cuDNN, as many as take its time in bfloat16."""
    if not operands:
        return 0.0
    element_type, left_sizes = operands[0].shapes[0]
    attributes = instruction.attributes
    flops = 0.0
    if "gemm" in target or "matmul" in target:
        contracting = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', attributes)
        # A multiplication and an addition for each element of the result and of the summed axes.
        flops = 2.0 * math.prod(instruction.shapes[0][1])
        for axis in re.findall(r"\d+", contracting[1]):
            flops *= left_sizes[int(axis)]
    elif "fmha" in target:
        # Queries are [B, S, N, D] or [B, N, S, D], scores [B, N, S, S]: two products forward, five
        # backward.
        flops = 4.0 * math.prod(left_sizes) * _attention_length(instruction)
        if "Backward" in target:
            flops *= 2.5
    # Products of float32 take the tensor cores' slower TF32, expressed in bfloat16 FLOP.
    if element_type not in ("bf16", "f16"):
        flops *= _TF32_SLOWDOWN
    return flops


def _attention_length(instruction: Instruction) -> int:
    """Returns the tokens of a row that fused attention reads; 0 for all other kernels."""
    if "fmha" not in instruction.target:
        return 0
    scores = re.search(
        r'intermediate_tensor_shape.*?dimensions\D*([\d", ]*)', instruction.attributes
    )
    return int(re.findall(r"\d+", scores[1])[-1])


def roofline(
    rates: Rates,
    traffic: float,
    flops: float = 0.0,
    num_instructions: float = 0.0,
    launches: int = 1,
) -> float:
    """Returns the seconds of a kernel: its launch, memory or products, and instructions."""
    # The kernels of products load while they multiply. The others have no such pipeline.
    return (
        launches * rates.launch
        + max(traffic / rates.memory, flops / rates.products)
        + num_instructions / rates.instructions
    )


def _fusion_traffic(fused: list[Instruction]) -> int:
    """Returns the bytes that a fused computation reads and writes."""
    instructions = {instruction.name: instruction for instruction in fused}
    # (user, index of the operand) by the operand's name.
    users: dict[str, list[tuple[Instruction, int]]] = {name: [] for name in instructions}
    for instruction in fused:
        for index, operand in enumerate(instruction.operands):
            if operand in users:
                users[operand].append((instruction, index))
    total = 0
    for instruction in fused:
        if instruction.operation == "parameter":
            total += _bytes_read(instruction.name, instruction.size, users)
        if instruction.is_root:
            total += _bytes_written(instruction, instructions)
    return total


def _bytes_read(name: str, size: int, users: dict[str, list[tuple[Instruction, int]]]) -> int:
    """Returns the bytes that are read of an array of `size` bytes."""
    total = 0
    for user, index in users[name]:
        if user.operation in ("slice", "dynamic-slice"):
            total += user.size
        elif user.operation == "gather" and index == 0:
            # Only the rows that are looked up.
            total += user.size
        elif user.operation in ("bitcast", "reshape"):
            # The same array under another name.
            total += _bytes_read(user.name, size, users)
        elif user.operation in ("dynamic-update-slice", "scatter") and index == 0:
            # It is updated in place, so that only the update is written.
            continue
        else:
            return size
    # Overlapping slices are read once.
    return min(total, size)


def _bytes_written(instruction: Instruction, instructions: dict[str, Instruction]) -> int:
    """Returns the bytes that the result of an instruction writes to memory."""
    if instruction.operation == "tuple":
        return sum(
            _bytes_written(instructions[name], instructions) for name in instruction.operands
        )
    if instruction.operands and instruction.operands[0] in instructions:
        if instruction.operation == "bitcast":
            return _bytes_written(instructions[instruction.operands[0]], instructions)
        if instruction.operation == "scatter":
            # It also reads the rows that it adds to.
            return 2 * instructions[instruction.operands[-1]].size
        if instruction.operation == "dynamic-update-slice":
            return instructions[instruction.operands[1]].size
    return instruction.size


def temporary_bytes(assignment: str) -> int:
    """Returns the bytes of a buffer assignment that are neither arguments nor results."""
    pattern = r"allocation \d+: size (\d+)(?:, group \d+)?(?:, color \d+)?, preallocated-temp"
    return sum(int(size) for size in re.findall(pattern, assignment))


def live_bytes(computations: dict[str, list[Instruction]], name: str) -> int:
    """Returns the largest sum of the arrays that are alive at once in a scheduled computation.

    Arguments and results do not count. An array that is updated in place counts twice.
    """
    instructions = computations[name]
    # Instruction → those whose arrays its result names.
    owners: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    last_uses: dict[str, int] = {}
    for index, instruction in enumerate(instructions):
        owned = []
        for operand in instruction.operands:
            owned += owners.get(operand, [])
        for owner in owned:
            last_uses[owner] = index
        if instruction.is_root:
            results = set(owned)
        elif instruction.operation in ("parameter", "constant"):
            owned = []
        elif not instruction.is_free:
            owned = [instruction.name]
            # The original is a part of the result of an asynchronous copy.
            is_copy = instruction.operation in ("copy-start", "slice-start")
            copied = 1 if instruction.operation == "slice-start" else 0
            sizes[instruction.name] = instruction.sizes[copied] if is_copy else instruction.size
            last_uses[instruction.name] = index
        owners[instruction.name] = owned
    ends: dict[int, int] = {}
    live = 0
    peak = 0
    for index, instruction in enumerate(instructions):
        if instruction.name in sizes and instruction.name not in results:
            live += sizes[instruction.name]
            end = last_uses[instruction.name]
            ends[end] = ends.get(end, 0) + sizes[instruction.name]
        peak = max(peak, live)
        live -= ends.get(index, 0)
    return peak


if __name__ == "__main__":
    cli.run(AotOptions, main)
