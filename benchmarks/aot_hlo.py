"""A program that XLA has optimized for a GPU, as text: kernels, their traffic and predicted time, memory.

The prediction is a roofline: of each kernel the longest of traffic, matrix products and arithmetic, and a launch. Its
constants are those of an H100, and none was fitted to a run of this project.
"""

import collections
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

# FLOP/s of a large bfloat16 product (measured), and what products of a step reach of it; bytes/s and their share.
PEAK, _PRODUCTS, _TF32, _MEMORY, _MEMORY_SHARE = 795e12, 0.80, 400e12, 3.35e12, 0.85
_LAUNCH = 2e-6
_INSTRUCTIONS = 132 * 4 * 32 * 1.755e9 / 2
_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "s64": 8, "u64": 8, "f64": 8,
          "token": 0}
_FREE = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "after-all", "reshape", "broadcast", "iota"}
_COST = {"exponential": 6, "tanh": 16, "rsqrt": 4, "sqrt": 8, "divide": 8, "log": 10, "power": 30, "erf": 20}
# Kind of a kernel, by the first that matches its type, TensorFlow's name of its root, or its shape.
_KINDS = (("fused attention", r"fmha"), ("products", r"gemm|matmul"), ("random bits", r"StatelessRandom|u32\[|u64\["),
          ("dropout", r"dropout|SelectV2|pred\["), ("LayerNorm, residual", r"LayerNorm|AddN"),
          ("GELU", r"intermediate|PartitionedCall|tanh"), ("head, cross-entropy", r"masked_lm|,30522\]|Softmax|ArgMax"),
          ("attention without products", r"attention|transpose"), ("embeddings", r"embeddings|\[30522,"))


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
  """What is launched as one: its kind, bytes of memory traffic, FLOP of products, predicted seconds."""

  kind: str
  traffic: int
  flops: float
  seconds: float


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
      results = [(kind, [int(size) for size in sizes.split(",") if size])
                 for kind, sizes in re.findall(r"(\w+)\[([\d,]*)\]", shapes)]
      current.append(Instruction(
          found[2], results, sum(_BYTES.get(kind, 4) * math.prod(sizes) for kind, sizes in results), operation[1],
          re.findall(r"%([\w.\-]+)", rest[operation.end():end]), rest[end:], bool(found[1])))
  return computations, entry


def _closing(text: str, start: int) -> int:
  depth = 0
  for place in range(start, len(text)):
    depth += (text[place] == "(") - (text[place] == ")")
    if not depth:
      return place
  return len(text)


def kernels(computations: dict[str, list[Instruction]], name: str) -> Iterator[Kernel]:
  """The kernels of a computation, in its order."""
  by_name = {one.name: one for one in computations[name]}
  for one in computations[name]:
    if one.operation in _FREE:
      continue
    if one.operation in ("call", "while", "conditional", "async-start"):
      for called in re.findall(r"(?:to_apply|calls|body)=%?([\w.\-]+)", one.rest):
        repeated = re.search(r'known_trip_count":\{"n":"(\d+)', one.rest)
        yield from list(kernels(computations, called)) * int(repeated[1] if repeated else 1)
      continue
    operands = [by_name[operand] for operand in dict.fromkeys(one.operands) if operand in by_name]
    traffic, flops, instructions, target = one.size + sum(value.size for value in operands), 0.0, 0.0, ""
    if one.operation == "fusion":
      fused = computations[re.search(r"calls=%?([\w.\-]+)", one.rest)[1]]
      traffic = _traffic(fused)
      instructions = sum(math.prod(part.shapes[0][1]) * _COST.get(part.operation, 1) for part in fused
                         if part.operation not in _FREE and part.shapes)
    elif one.operation == "custom-call":
      target = re.search(r'custom_call_target="([^"]*)"', one.rest)[1]
      left = operands[0].shapes[0] if operands else ("", [])
      if "gemm" in target or "matmul" in target:
        axes = re.findall(r"\d+", re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', one.rest)[1])
        flops = 2.0 * math.prod(one.shapes[0][1]) * math.prod(left[1][int(axis)] for axis in axes)
      elif "fmha" in target:
        # [B, S, N, D] or [B, N, S, D]: two products forward, five backward; at 45 % of the peak.
        scores = re.search(r'intermediate_tensor_shape.*?dimensions\D*([\d", ]*)', one.rest)[1]
        length = int(re.findall(r"\d+", scores)[-1])
        flops = 4.0 * math.prod(left[1]) * length * (2.5 if "Backward" in target else 1.0) * _PRODUCTS / 0.45
      flops *= 1.0 if left[0] in ("bf16", "f16") else PEAK / _TF32
    where = re.search(r'op_name="([^"]*)"', one.rest)
    shapes = " ".join(f"{kind}[{','.join(map(str, sizes))}]" for kind, sizes in one.shapes)
    described = f"{target} {where[1] if where else ''} {shapes}"
    kind = next((kind for kind, pattern in _KINDS if re.search(pattern, described)), "other")
    yield Kernel(kind, traffic, flops, seconds(traffic, flops, instructions))


def seconds(traffic: float, flops: float = 0.0, instructions: float = 0.0, launches: int = 1) -> float:
  """The roofline."""
  return launches * _LAUNCH + max(
      traffic / (_MEMORY * _MEMORY_SHARE), flops / (PEAK * _PRODUCTS), instructions / _INSTRUCTIONS)


def _traffic(fused: list[Instruction]) -> int:
  """Bytes that a fused computation reads and writes: of what is only sliced or looked up, only that."""
  by_name, users = {one.name: one for one in fused}, collections.defaultdict(list)
  for one in fused:
    for place, operand in enumerate(one.operands):
      users[operand].append((one, place))

  def read(name: str, whole: int) -> int:
    total = 0
    for user, place in users[name]:
      if user.operation in ("slice", "dynamic-slice") or (user.operation == "gather" and place == 0):
        total += user.size
      elif user.operation in ("bitcast", "reshape"):
        total += read(user.name, whole)
      elif not (user.operation in ("dynamic-update-slice", "scatter") and place == 0):
        return whole
    return min(total, whole)

  def written(one: Instruction) -> int:
    if one.operation == "tuple":
      return sum(written(by_name[name]) for name in one.operands)
    if one.operation in ("bitcast", "scatter", "dynamic-update-slice") and one.operands[0] in by_name:
      part = {"bitcast": 0, "scatter": -1, "dynamic-update-slice": 1}[one.operation]
      inner = by_name[one.operands[part]]
      return written(inner) if part == 0 else inner.size * (2 if part == -1 else 1)
    return one.size

  return sum(read(one.name, one.size) for one in fused if one.operation == "parameter") + sum(
      written(one) for one in fused if one.is_root)


def memory(assignment: str) -> tuple[int, list[tuple[int, int, str]]]:
  """From the buffer assignment: bytes of what is neither argument nor result, and what is alive when most is.

  Returns:
    the bytes; (bytes, number, shape), the largest first.
  """
  most = sum(map(int, re.findall(r"allocation \d+: size (\d+)(?:, group \d+)?(?:, color \d+)?, preallocated-temp",
                                 assignment)))
  begin = assignment.index("preallocated-temp")
  section = assignment[begin:assignment.find("\nallocation ", begin)]
  sizes = {found[1]: (int(found[2]), found[3]) for found in re.finditer(
      r"value: <\d+ (\S+) @\d+> \(size=(\d+),offset=\d+\): (\w+\[[\d,]*\])", section)}
  alive = {found[1] + found[2].replace("{}", ""): (int(found[3]), int(found[4])) for found in re.finditer(
      r"^\s+(\S+?)(\{[\d,]*\}):(\d+)-(\d+)$", assignment[assignment.index("BufferLiveRange"):], re.M)}
  changes = collections.Counter()
  for name in sizes.keys() & alive.keys():
    changes[alive[name][0]] += sizes[name][0]
    changes[alive[name][1] + 1] -= sizes[name][0]
  total, peak, at = 0, 0, 0
  for moment in sorted(changes):
    total += changes[moment]
    if total > peak:
      peak, at = total, moment
  groups = collections.defaultdict(lambda: [0, 0])
  for name in sizes.keys() & alive.keys():
    if alive[name][0] <= at <= alive[name][1]:
      groups[sizes[name][1]][0] += sizes[name][0]
      groups[sizes[name][1]][1] += 1
  return most, sorted(((size, count, shape) for shape, (size, count) in groups.items()), reverse=True)
