"""The training step compiled for a GPU or TPU that is not here: its memory, its kernels, its predicted speed.

  python benchmarks/aot.py --size=base --max_seq_length=128 --batch_size=256               # NVIDIA H100
  python benchmarks/aot.py --device=v5e --size=L2-H128 --batch_size=128                      # a TPU

XLA's compilers need no device. The step is the one that `run_pretraining.py` runs, in bfloat16: TensorFlow writes it as
HLO, and the compiler of JAX, which is the same one, plans it. Nothing is run, so milliseconds are a prediction, a
roofline of each kernel: against runs on an H100 GiB are right to 1 % and milliseconds of Base and Large 3 to 9 % too
low, of small models 20 to 35 %. --compiler_python names the Python of an environment of its own:

  python3.11 -m venv aot
  aot/bin/pip install jax==0.7.1 jaxlib==0.7.1 jax-cuda12-plugin==0.7.1 jax-cuda12-pjrt==0.7.1   # 0.7 GB
  aot/bin/pip install libtpu==0.0.52                                                               # TPUs: 0.5 GB
"""

import collections
import dataclasses
import glob
import json
import os
import subprocess
import tempfile
from typing import NamedTuple

from benchmarks import aot_hlo
from benchmarks.machine import find_config
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.tables import print_table

DEVICES = ("h100", "v4", "v5e", "v6e")
_GIB = 2**30


@dataclasses.dataclass(frozen=True, kw_only=True)
class AotOptions(Options):
  """Options of the command."""

  device: str = option("h100", "What the step is compiled for.", choices=DEVICES)
  size: str = option("base", "L<layers>-H<hidden>, base or large.")
  max_seq_length: int = option(128, "Tokens of a row.", minimum=8)
  batch_size: int = option(256, "Rows of a step, on each device.", minimum=1)
  num_hidden_layers: int | None = option(None, "Instead of the size's.", minimum=1)
  replicas: int = option(1, "Devices, whose gradients are added up within the program.", minimum=1, maximum=4)
  dropout: float = option(0.1, "Of hidden units.", minimum=0, maximum=0.9)
  attention_dropout: float = option(0.1, "Of attention probabilities.", minimum=0, maximum=0.9)
  fused_attention: bool = option(False, "Attention as one kernel of cuDNN; needs --attention_dropout=0.")
  recompute: bool = option(False, "Layers are computed again for their gradients.")
  packed: int = option(0, "Sequences packed into a row; 0 for rows of one sequence.", minimum=0)
  precision: str = option("bfloat16", "Of the products.", choices=("bfloat16", "float16", "float32"))
  vocab_size: int = option(30522, "Entries of the vocabulary.", minimum=1)
  compiler_python: str = option("aot/bin/python", "Python with JAX, see above.")

  def check(self) -> None:
    super().check()
    if self.fused_attention and self.attention_dropout:
      raise UserError("--fused_attention drops no attention probabilities: add --attention_dropout=0")


class Plan(NamedTuple):
  """What a compiler has made of forward and backward pass, on one device.

  Attributes:
    gib: memory at most: what is neither argument nor result, and weights, gradients and both slots of AdamW.
    costs: of a TPU, as its compiler says.
    seconds: of an H100, predicted for a step with its update.
    kernels, alive, text: of an H100; (bytes, number, shape) of arrays at the peak of memory, the optimized HLO.
  """

  gib: float
  costs: dict | None = None
  seconds: float = 0.0
  kernels: tuple[aot_hlo.Kernel, ...] = ()
  alive: tuple[tuple[int, int, str], ...] = ()
  text: str = ""


def main(options: AotOptions) -> None:
  made = plan(options)
  print(f"{options.size}, {options.max_seq_length} tokens x {options.batch_size} on {options.device}, "
        f"{options.precision}, dropout {options.dropout:g} and {options.attention_dropout:g}: {made.gib:.2f} GiB")
  if made.costs:
    print(f"{made.costs['bytes'] / 1e9:.1f} GB of traffic, {made.costs['flops'] / 1e12:.2f} TFLOP, "
          f"{made.costs['code'] / 1e6:.1f} MB of code, compiled in {made.costs['seconds']} s")
    # There an operation whose time the compiler does not know counts as -1 s.
    seconds = made.costs["optimal_seconds"] % 1
    print(f"{seconds * 1e3:.1f} ms without the update, as the compiler reckons: at most "
          f"{options.batch_size / seconds:,.0f} sequences/s")
    return
  share = sum(one.flops for one in made.kernels) / made.seconds / aot_hlo.PEAK
  print(f"{made.seconds * 1e3:.1f} ms predicted, {options.batch_size / made.seconds:,.0f} sequences/s, {share:.0%} of "
        f"{aot_hlo.PEAK / 1e12:.0f} TFLOP/s")
  kinds = collections.defaultdict(list)
  for one in made.kernels:
    kinds[one.kind].append(one)
  rows = [(sum(one.seconds for one in found), sum(one.traffic for one in found), len(found), kind)
          for kind, found in kinds.items()]
  print_table([("kind", "kernels", "ms", "GB"), *((kind, f"{count}", f"{seconds * 1e3:.2f}", f"{traffic / 1e9:.2f}")
                                                  for seconds, traffic, count, kind in sorted(rows, reverse=True))])
  print_table([("alive at the peak", "arrays", "GiB"), *((shape, f"{count}", f"{size / _GIB:.2f}")
                                                         for size, count, shape in made.alive[:8])])


def plan(options: AotOptions) -> Plan:
  """Writes the step, compiles it, reads what the compiler wrote.

  Raises:
    UserError: there is no such Python, or the compiler refuses the program.
  """
  with tempfile.TemporaryDirectory() as folder:
    program, script = os.path.join(folder, "step.hlo"), os.path.join(os.path.dirname(__file__), "aot_compile.py")
    parameters, variables = export(options, program)
    try:
      done = subprocess.run([options.compiler_python, script, program, options.device, str(options.replicas), folder],
                            capture_output=True, text=True, check=False)
    except OSError as error:
      raise UserError(f"--compiler_python={options.compiler_python}: {error.strerror}; --help shows how to make one"
                      ) from None
    if done.returncode:
      raise UserError(f"the compiler refuses the program: {done.stderr.strip().splitlines()[-1][:300]}")
    # Weights, gradients and two slots, float32.
    state = 16 * parameters
    if options.device != "h100":
      costs = json.loads(done.stdout.splitlines()[-1])
      return Plan((costs["temp"] + state) / _GIB, costs)
    text, assignment = (_read(folder, f"*{name}.txt") for name in ("after_optimizations", "buffer-assignment"))
  kernels, (most, alive) = tuple(aot_hlo.kernels(*aot_hlo.parse(text))), aot_hlo.memory(assignment)
  # The norm reads the gradients; AdamW reads them again with weights and slots, and writes these.
  update = aot_hlo.seconds(32 * parameters, launches=2 * variables)
  return Plan((most + state) / _GIB, None, sum(one.seconds for one in kernels) + update, kernels, tuple(alive), text)


def _read(folder: str, pattern: str) -> str:
  with open(sorted(glob.glob(os.path.join(folder, pattern)))[-1], encoding="utf-8") as file:
    return file.read()


def export(options: AotOptions, path: str) -> tuple[int, int]:
  """Writes forward and backward pass as HLO; returns the numbers of parameters and of variables.

  For another device than this machine's TensorFlow takes no functions with variables: the weights are arguments.
  """
  os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
  import keras
  import numpy as np
  import tensorflow as tf

  import modeling
  from benchmarks.pretraining_step import random_batch
  from bert_tf.tasks.pretraining.task import make_objective
  from modeling.dropout import stream_key, stream_of_key
  from modeling.layers import compiled_whole

  config = dataclasses.replace(
      find_config(options.size, options.vocab_size), hidden_dropout_prob=options.dropout,
      attention_probs_dropout_prob=options.attention_dropout)
  if options.num_hidden_layers:
    config = dataclasses.replace(config, num_hidden_layers=options.num_hidden_layers)
  rows, length = options.batch_size, options.max_seq_length
  batch = random_batch(rows, length, -(-length * 15 // 100), options.vocab_size)
  if options.packed:
    places = np.arange(options.packed)
    batch |= {"sequence_ids": np.sort(np.random.default_rng(0).integers(1, options.packed + 1, (rows, length))),
              "position_ids": np.tile(np.arange(length), (rows, 1)),
              "next_sentence_positions": np.tile(places, (rows, 1)),
              "next_sentence_labels": np.zeros((rows, options.packed), np.int64),
              "next_sentence_weights": np.ones((rows, options.packed))}
  features = {name: tf.constant(value.astype(np.float32 if name.endswith("_weights") else np.int32))
              for name, value in batch.items()}
  policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
  model = modeling.BertForPreTraining(config, dtype=policy)
  model.encoder.recompute, model.encoder.fused_attention = options.recompute, options.fused_attention
  objective, variables = make_objective(model), model.trainable_variables

  @tf.function(autograph=False, jit_compile=True)
  def gradients_of(weights, features, counts, key):
    with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
      with compiled_whole(), tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(weights)
        sums = objective.sums(features, stream_of_key(key, tf.constant(0, tf.int64)))
        loss = tf.add_n([sums[f"{name}_loss_sum"] / counts[f"{name}_count"] for name in objective.losses])
      gradients = tape.gradient(loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    results = [tf.convert_to_tensor(one) for one in gradients], dict(sums)
    if options.replicas > 1:
      from tensorflow.compiler.tf2xla.ops import gen_xla_ops

      group = tf.constant([list(range(options.replicas))])
      results = tf.nest.map_structure(lambda one: gen_xla_ops.xla_all_reduce(
          input=one, group_assignment=group, reduce_op="Add", mode="CrossReplica"), results)
    return results

  weights = [tf.zeros(one.shape, one.dtype) for one in variables]
  program = gradients_of.experimental_get_compiler_ir(
      weights, features, objective.counts(features), stream_key(0, tf.constant(0, tf.int64)))(
          stage="hlo_serialized", platform_name="GPU")
  with open(path, "wb") as file:
    file.write(program)
  return sum(int(tf.size(one)) for one in weights), len(weights)


if __name__ == "__main__":
  cli.run(AotOptions, main)
