"""The training step compiled for a GPU or TPU that is not here: its memory, its kernels, its
predicted speed.

  python benchmarks/aot.py --size=base --max_seq_length=128 --batch_size=256               # NVIDIA
  H100 python benchmarks/aot.py --device=v5e --size=L2-H128 --batch_size=128                      #
  a TPU

XLA's compilers need no device. The step is the one that `run_pretraining.py` runs, in bfloat16:
TensorFlow writes it as HLO, and the compiler of JAX, which is the same one, plans it. Nothing is
run, so milliseconds are a prediction, a roofline of each kernel: against runs on an H100 GiB are
right to 1 % and milliseconds of Base and Large 3 to 9 % too low, of small models 20 to 35 %.
--compiler_python names the Python of an environment of its own:

  python3.11 -m venv aot
  aot/bin/pip install jax==0.7.1 jaxlib==0.7.1 jax-cuda12-plugin==0.7.1 jax-cuda12-pjrt==0.7.1   #
  0.7 GB aot/bin/pip install libtpu==0.0.52
  # TPUs: 0.5 GB
"""

import collections
import dataclasses
import glob
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.interleaved import find_config
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.tables import named_table

_GIB = 2**30
# The roofline of an H100, nothing of which was fitted to a run of this project: FLOP/s of a large
# bfloat16 product (measured), and what products of a step reach of it; bytes/s and their share.
_PEAK, _PRODUCTS, _TF32, _MEMORY, _MEMORY_SHARE = 795e12, 0.80, 400e12, 3.35e12, 0.85
_LAUNCH = 2e-6
_INSTRUCTIONS = 132 * 4 * 32 * 1.755e9 / 2
_BYTES = {
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
_FREE = {
    "parameter",
    "constant",
    "bitcast",
    "tuple",
    "get-tuple-element",
    "after-all",
    "reshape",
    "broadcast",
    "iota",
}
_COST = {
    "exponential": 6,
    "tanh": 16,
    "rsqrt": 4,
    "sqrt": 8,
    "divide": 8,
    "log": 10,
    "power": 30,
    "erf": 20,
}
# Kind of a kernel, by the first that matches its type, TensorFlow's name of its root, or its shape.
_KINDS = (
    ("fused attention", r"fmha"),
    ("products", r"gemm|matmul"),
    ("random bits", r"StatelessRandom|u32\[|u64\["),
    ("dropout", r"dropout|SelectV2|pred\["),
    ("LayerNorm, residual", r"LayerNorm|AddN"),
    ("GELU", r"intermediate|PartitionedCall|tanh"),
    ("head, cross-entropy", r"masked_lm|,30522\]|Softmax|ArgMax"),
    ("attention without products", r"attention|transpose"),
    ("embeddings", r"embeddings|\[30522,"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AotOptions(Options):
    """Options of the command."""

    device: str = option(
        "h100", "What the step is compiled for.", choices=("h100", "v4", "v5e", "v6e")
    )
    size: str = option("base", "L<layers>-H<hidden>, base or large.")
    max_seq_length: int = option(128, "Tokens of a row.", minimum=8)
    batch_size: int = option(256, "Rows of a step, on each device.", minimum=1)
    replicas: int = option(
        1, "Devices, whose gradients are added up within the program.", minimum=1, maximum=4
    )
    dropout: float = option(0.1, "Of hidden units.", minimum=0, maximum=0.9)
    attention_dropout: float = option(0.1, "Of attention probabilities.", minimum=0, maximum=0.9)
    fused_attention: bool = option(
        False, "Attention as one kernel of cuDNN; needs --attention_dropout=0."
    )
    recompute: bool = option(False, "Layers are computed again for their gradients.")
    packed: int = option(0, "Sequences packed into a row; 0 for rows of one sequence.", minimum=0)
    precision: str = option(
        "bfloat16", "Of the products.", choices=("bfloat16", "float16", "float32")
    )
    vocab_size: int = option(30522, "Entries of the vocabulary.", minimum=1)
    compiler_python: str = option("aot/bin/python", "Python with JAX, see above.")

    def check(self) -> None:
        super().check()
        if self.fused_attention and self.attention_dropout:
            raise UserError(
                "--fused_attention drops no attention probabilities: add --attention_dropout=0"
            )


class Instruction(NamedTuple):
    """A line of HLO; `shapes` are (element type, sizes) of its results, `size` their bytes."""

    name: str
    shapes: list[tuple[str, list[int]]]
    size: int
    operation: str
    operands: list[str]
    rest: str
    is_root: bool


class Kernel(NamedTuple):
    """What is launched as one: its kind, bytes of memory traffic, FLOP of products, predicted
    seconds."""

    kind: str
    traffic: int
    flops: float
    seconds: float


class Plan(NamedTuple):
    """What a compiler has made of forward and backward pass, on one device.

    Attributes:
      gib: memory at most: what is neither argument nor result, and weights, gradients and both
        slots of AdamW.
      costs: of a TPU, as its compiler says.
      seconds: of an H100, predicted for a step with its update.
      kernels, alive, text: of an H100; (bytes, number, shape) of arrays at the peak of memory, the
        optimized HLO.
    """

    gib: float
    costs: dict | None = None
    seconds: float = 0.0
    kernels: tuple[Kernel, ...] = ()
    alive: tuple[tuple[int, int, str], ...] = ()
    text: str = ""


def main(options: AotOptions) -> None:
    made = plan(options)
    print(
        f"{options.size}, {options.max_seq_length} tokens x {options.batch_size} on {options.device}, "
        f"{options.precision}, dropout {options.dropout:g} and {options.attention_dropout:g}: {made.gib:.2f} GiB"
    )
    if made.costs:
        print(
            f"{made.costs['bytes'] / 1e9:.1f} GB of traffic, {made.costs['flops'] / 1e12:.2f} TFLOP, "
            f"{made.costs['code'] / 1e6:.1f} MB of code, compiled in {made.costs['seconds']} s"
        )
        # There an operation whose time the compiler does not know counts as -1 s.
        seconds = made.costs["optimal_seconds"] % 1
        print(
            f"{seconds * 1e3:.1f} ms without the update, as the compiler reckons: at most "
            f"{options.batch_size / seconds:,.0f} sequences/s"
        )
        return
    share = sum(one.flops for one in made.kernels) / made.seconds / _PEAK
    print(
        f"{made.seconds * 1e3:.1f} ms predicted, {options.batch_size / made.seconds:,.0f} sequences/s, {share:.0%} of "
        f"{_PEAK / 1e12:.0f} TFLOP/s"
    )
    kinds = collections.defaultdict(list)
    for one in made.kernels:
        kinds[one.kind].append(one)
    rows = [
        (sum(one.seconds for one in found), sum(one.traffic for one in found), len(found), kind)
        for kind, found in kinds.items()
    ]
    print(
        named_table(
            [
                ("kind", "kernels", "ms", "GB"),
                *(
                    (kind, f"{count}", f"{seconds * 1e3:.2f}", f"{traffic / 1e9:.2f}")
                    for seconds, traffic, count, kind in sorted(rows, reverse=True)
                ),
            ]
        )
    )
    print(
        named_table(
            [
                ("alive at the peak", "arrays", "GiB"),
                *(
                    (shape, f"{count}", f"{size / _GIB:.2f}")
                    for size, count, shape in made.alive[:8]
                ),
            ]
        )
    )


def plan(options: AotOptions) -> Plan:
    """Writes the step, compiles it, reads what the compiler wrote.

    Raises:
      UserError: there is no such Python, or the compiler refuses the program.
    """
    with tempfile.TemporaryDirectory() as folder:
        program, script = (
            os.path.join(folder, "step.hlo"),
            os.path.join(os.path.dirname(__file__), "aot_compile.py"),
        )
        parameters, variables = export(options, program)
        try:
            done = subprocess.run(
                [
                    options.compiler_python,
                    script,
                    program,
                    options.device,
                    str(options.replicas),
                    folder,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise UserError(
                f"--compiler_python={options.compiler_python}: {error.strerror}; --help shows how to make one"
            ) from None
        if done.returncode:
            raise UserError(
                f"the compiler refuses the program: {done.stderr.strip().splitlines()[-1][:300]}"
            )
        # Weights, gradients and two slots, float32.
        state = 16 * parameters
        if options.device != "h100":
            costs = json.loads(done.stdout.splitlines()[-1])
            return Plan((costs["temp"] + state) / _GIB, costs)
        text, assignment = (
            pathlib.Path(sorted(glob.glob(os.path.join(folder, f"*{name}.txt")))[-1]).read_text(
                "utf-8"
            )
            for name in ("after_optimizations", "buffer-assignment")
        )
    kernels, (most, alive) = tuple(kernels_of(*parse(text))), memory(assignment)
    # The norm reads the gradients; AdamW reads them again with weights and slots, and writes these.
    update = roofline(32 * parameters, launches=2 * variables)
    return Plan(
        (most + state) / _GIB,
        None,
        sum(one.seconds for one in kernels) + update,
        kernels,
        tuple(alive),
        text,
    )


def export(options: AotOptions, path: str) -> tuple[int, int]:
    """Writes forward and backward pass as HLO; returns the numbers of parameters and of variables.

    For another device than this machine's TensorFlow takes no functions with variables: the weights
    are arguments.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import keras
    import numpy as np
    import tensorflow as tf

    import modeling
    from benchmarks.pretraining_step import random_batch
    from bert_tf.tasks.pretraining.task import pretraining_loss
    from modeling.dropout import stream_key, stream_of_key
    from modeling.xla import jit_compile_scope

    config = dataclasses.replace(
        find_config(options.size, options.vocab_size),
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.attention_dropout,
    )
    rows, length = options.batch_size, options.max_seq_length
    batch = random_batch(rows, length, -(-length * 15 // 100), options.vocab_size)
    if options.packed:
        places = np.arange(options.packed)
        batch |= {
            "sequence_ids": np.sort(
                np.random.default_rng(0).integers(1, options.packed + 1, (rows, length))
            ),
            "position_ids": np.tile(np.arange(length), (rows, 1)),
            "next_sentence_positions": np.tile(places, (rows, 1)),
            "next_sentence_labels": np.zeros((rows, options.packed), np.int64),
            "next_sentence_weights": np.ones((rows, options.packed)),
        }
    features = {
        name: tf.constant(value.astype(np.float32 if name.endswith("_weights") else np.int32))
        for name, value in batch.items()
    }
    policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
    model = modeling.BertForPreTraining(config, dtype=policy)
    model.encoder.recompute, model.encoder.fused_attention = (
        options.recompute,
        options.fused_attention,
    )
    loss_of, variables = pretraining_loss(model), model.trainable_variables
    # Keras' generators, which nothing draws from; `--recompute` looks at them.
    others = [(one, one.numpy()) for one in model.non_trainable_variables]

    @tf.function(autograph=False, jit_compile=True)
    def gradients_of(weights, features, counts, key):
        with keras.StatelessScope(
            state_mapping=[
                *zip(variables, weights, strict=True),
                *((one, tf.constant(value)) for one, value in others),
            ]
        ):
            with jit_compile_scope(), tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(weights)
                dropout = stream_of_key(key, tf.constant(0, tf.int64))
                sums = loss_of.sums(model(features, dropout=dropout), features)
                loss = loss_of.total(sums, counts)
            gradients = tape.gradient(
                loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO
            )
        results = [tf.convert_to_tensor(one) for one in gradients], dict(sums)
        if options.replicas > 1:
            from tensorflow.compiler.tf2xla.ops import gen_xla_ops

            group = tf.constant([list(range(options.replicas))])
            results = tf.nest.map_structure(
                lambda one: gen_xla_ops.xla_all_reduce(
                    input=one, group_assignment=group, reduce_op="Add", mode="CrossReplica"
                ),
                results,
            )
        return results

    weights = [tf.zeros(one.shape, one.dtype) for one in variables]
    program = gradients_of.experimental_get_compiler_ir(
        weights, features, loss_of.counts(features), stream_key(0, tf.constant(0, tf.int64))
    )(stage="hlo_serialized", platform_name="GPU")
    with open(path, "wb") as file:
        file.write(program)
    return sum(int(tf.size(one)) for one in weights), len(weights)


def parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """Name of a computation → its instructions, and the name of the program's entry."""
    computations, current, entry = {}, None, ""
    for line in text.splitlines():
        if heading := re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$", line):
            current = computations[heading[2]] = []
            entry = heading[2] if heading[1] else entry
            continue
        found = re.match(r"^\s+(ROOT )?%?([\w.\-]+) = (.*)$", line)
        if current is None or not found:
            continue
        rest = re.sub(r"/\*.*?\*/", "", found[3])
        end = _closing(rest, 0) + 1 if rest.startswith("(") else rest.index(" ")
        shapes, rest = rest[:end], rest[end:].lstrip()
        if operation := re.match(r"([\w\-]+)\(", rest):
            end = _closing(rest, operation.end() - 1)
            results = [
                (kind, [int(size) for size in sizes.split(",") if size])
                for kind, sizes in re.findall(r"(\w+)\[([\d,]*)\]", shapes)
            ]
            current.append(
                Instruction(
                    found[2],
                    results,
                    sum(_BYTES.get(kind, 4) * math.prod(sizes) for kind, sizes in results),
                    operation[1],
                    re.findall(r"%([\w.\-]+)", rest[operation.end() : end]),
                    rest[end:],
                    bool(found[1]),
                )
            )
    return computations, entry


def _closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return len(text)


def kernels_of(computations: dict[str, list[Instruction]], name: str) -> Iterator[Kernel]:
    """The kernels of a computation, in its order."""
    by_name = {one.name: one for one in computations[name]}
    for one in computations[name]:
        if one.operation in _FREE:
            continue
        if one.operation in ("call", "while", "conditional", "async-start"):
            for called in re.findall(r"(?:to_apply|calls|body)=%?([\w.\-]+)", one.rest):
                repeated = re.search(r'known_trip_count":\{"n":"(\d+)', one.rest)
                yield from list(kernels_of(computations, called)) * int(
                    repeated[1] if repeated else 1
                )
            continue
        operands = [
            by_name[operand] for operand in dict.fromkeys(one.operands) if operand in by_name
        ]
        traffic, flops, instructions, target = (
            one.size + sum(value.size for value in operands),
            0.0,
            0.0,
            "",
        )
        if one.operation == "fusion":
            fused = computations[re.search(r"calls=%?([\w.\-]+)", one.rest)[1]]
            traffic = _traffic(fused)
            instructions = sum(
                math.prod(part.shapes[0][1]) * _COST.get(part.operation, 1)
                for part in fused
                if part.operation not in _FREE and part.shapes
            )
        elif one.operation == "custom-call":
            target = re.search(r'custom_call_target="([^"]*)"', one.rest)[1]
            left = operands[0].shapes[0] if operands else ("", [])
            if "gemm" in target or "matmul" in target:
                axes = re.findall(
                    r"\d+", re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', one.rest)[1]
                )
                flops = (
                    2.0
                    * math.prod(one.shapes[0][1])
                    * math.prod(left[1][int(axis)] for axis in axes)
                )
            elif "fmha" in target:
                # [B, S, N, D] or [B, N, S, D]: two products forward, five backward; at 45 % of the
                # peak.
                scores = re.search(
                    r'intermediate_tensor_shape.*?dimensions\D*([\d", ]*)', one.rest
                )[1]
                length = int(re.findall(r"\d+", scores)[-1])
                flops = (
                    4.0
                    * math.prod(left[1])
                    * length
                    * (2.5 if "Backward" in target else 1.0)
                    * _PRODUCTS
                    / 0.45
                )
            flops *= 1.0 if left[0] in ("bf16", "f16") else _PEAK / _TF32
        where = re.search(r'op_name="([^"]*)"', one.rest)
        shapes = " ".join(f"{kind}[{','.join(map(str, sizes))}]" for kind, sizes in one.shapes)
        described = f"{target} {where[1] if where else ''} {shapes}"
        kind = next((kind for kind, pattern in _KINDS if re.search(pattern, described)), "other")
        yield Kernel(kind, traffic, flops, roofline(traffic, flops, instructions))


def roofline(
    traffic: float, flops: float = 0.0, instructions: float = 0.0, launches: int = 1
) -> float:
    """Seconds."""
    return launches * _LAUNCH + max(
        traffic / (_MEMORY * _MEMORY_SHARE),
        flops / (_PEAK * _PRODUCTS),
        instructions / _INSTRUCTIONS,
    )


def _traffic(fused: list[Instruction]) -> int:
    """Bytes that a fused computation reads and writes: of what is only sliced or looked up, only
    that."""
    by_name, users = {one.name: one for one in fused}, collections.defaultdict(list)
    for one in fused:
        for place, operand in enumerate(one.operands):
            users[operand].append((one, place))

    def read(name: str, whole: int) -> int:
        total = 0
        for user, place in users[name]:
            if user.operation in ("slice", "dynamic-slice") or (
                user.operation == "gather" and place == 0
            ):
                total += user.size
            elif user.operation in ("bitcast", "reshape"):
                total += read(user.name, whole)
            elif not (user.operation in ("dynamic-update-slice", "scatter") and place == 0):
                return whole
        return min(total, whole)

    def written(one: Instruction) -> int:
        if one.operation == "tuple":
            return sum(written(by_name[name]) for name in one.operands)
        if (
            one.operation in ("bitcast", "scatter", "dynamic-update-slice")
            and one.operands[0] in by_name
        ):
            part = {"bitcast": 0, "scatter": -1, "dynamic-update-slice": 1}[one.operation]
            inner = by_name[one.operands[part]]
            return written(inner) if part == 0 else inner.size * (2 if part == -1 else 1)
        return one.size

    return sum(read(one.name, one.size) for one in fused if one.operation == "parameter") + sum(
        written(one) for one in fused if one.is_root
    )


def memory(assignment: str) -> tuple[int, list[tuple[int, int, str]]]:
    """From the buffer assignment: bytes of what is neither argument nor result, and what is alive
    when most is.

    Returns:
      the bytes; (bytes, number, shape), the largest first.
    """
    most = sum(
        map(
            int,
            re.findall(
                r"allocation \d+: size (\d+)(?:, group \d+)?(?:, color \d+)?, preallocated-temp",
                assignment,
            ),
        )
    )
    shapes = dict(
        re.findall(r"value: <\d+ (\S+) @\d+> \(size=\d+,offset=\d+\): (\w+\[[\d,]*\])", assignment)
    )
    peak = re.search(r"Live ranges at \d+ \(peak\):\n((?:    .*\n)*)", assignment)[1]
    sizes = collections.defaultdict(list)
    for name, size in re.findall(r"^    (\S+?)(?:\{\})?: (\d+) bytes", peak, re.M):
        # Of tuples there are only the addresses.
        sizes[shapes.get(name, "tuple")].append(int(size))
    return most, sorted(
        ((sum(found), len(found), shape) for shape, found in sizes.items()), reverse=True
    )


if __name__ == "__main__":
    cli.run(AotOptions, main)
