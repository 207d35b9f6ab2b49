"""Measures a full pre-training step (forward, backward, clipping, AdamW) beside other projects'.

  python benchmarks/pretraining_step.py                    # L4-H256, batch 32, 128 tokens
  python benchmarks/pretraining_step.py --size=base --batch_size=8
  python benchmarks/pretraining_step.py --max_seq_length=512 --batch_size=8
  python benchmarks/pretraining_step.py --size=base --batch_size=4 --max_seq_length=384 \\
      --programs=ours,ours_recomputed
  python benchmarks/pretraining_step.py --device=gpu --size=base --batch_size=256 --steps=20

All programs get the same random batch without padding, predictions at 15 % of the positions,
dropout, and float32 (on a GPU bfloat16, and XLA with the options of our scripts for all TensorFlow
programs). Compared: this project and the Model Garden's BertPretrainerV2 with its AdamW, both with
and without XLA; and Hugging Face's BertForPreTraining on PyTorch with the masked positions gathered
between encoder and heads (`pytorch_gathered`; `pytorch_compiled` with torch.compile, whose
compilation takes minutes). PyTorch is in pyproject.toml's group peers.

"MiB" is the maximum in the first steps beyond what the process held before them;
PyTorch makes the optimizer's slots in these. `--programs=ours,ours_recomputed` shows what
`--recompute` saves and costs. On a GPU it is the maximum of memory in use, weights included.
"""

import math
import os
import pkgutil
import resource
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.interleaved import (
    DeviceOptions,
    StepOptions,
    find_config,
    print_rates,
    quartiles,
    take_turns,
)
from bert_common import cli, json_files
from bert_common.options import option, option_class

if TYPE_CHECKING:
    from modeling.config import BertConfig

# The machine's peak is measured by products of square matrices of this size, so many per turn.
_MATMUL_SIZES = {"cpu": 2048, "gpu": 8192}
_MATMULS = 20
_MATMUL = "matmul"
# The first step compiles, the second one makes slots; the third is a usual one.
_WARM_UP_STEPS = 3
_MIB = 2**20
_DEFAULT_PROGRAMS = {
    "cpu": ("ours", "model_garden", "pytorch_gathered"),
    "gpu": (
        "ours_xla",
        "model_garden_xla",
        "pytorch_gathered",
        "pytorch_compiled",
    ),
}
# Module and function of each program, and the function's further arguments.
PROGRAMS = {
    "ours": ("tensorflow_programs:pretraining", {}),
    "ours_recomputed": ("tensorflow_programs:pretraining", {"recompute": True}),
    "ours_xla": ("tensorflow_programs:pretraining", {"jit_compile": True}),
    "model_garden": ("tensorflow_programs:model_garden_pretraining", {}),
    "model_garden_xla": ("tensorflow_programs:model_garden_pretraining", {"jit_compile": True}),
    "pytorch_gathered": ("pytorch_peers:pretraining", {}),
    "pytorch_compiled": ("pytorch_peers:pretraining", {"compiled": True}),
}


@option_class
class PretrainingStepOptions(DeviceOptions, StepOptions):
    """Options of the benchmark."""

    repetitions: int = option(7, "Turns of each program.", minimum=1)
    programs: tuple[str, ...] = option(
        (), "Programs to measure.", choices=tuple(PROGRAMS), default_text="by --device"
    )

    @property
    def num_predictions(self) -> int:
        return math.ceil(0.15 * self.max_seq_length)


def main(options: PretrainingStepOptions) -> None:
    options.set_up_device()
    config = find_config(options.size, options.vocab_size)
    config.check_sequence_length(options.max_seq_length)
    with tempfile.TemporaryDirectory() as folder:
        models = options.programs if options.programs else _DEFAULT_PROGRAMS[options.device]
        programs = (_MATMUL, *models)
        seconds = take_turns(
            options, programs, options.repetitions, _build, options, config, folder
        )
        memory = {}
        for name in seconds:
            memory[name] = f"{json_files.read(os.path.join(folder, name)):,.0f}"
    _print_results(options, config, seconds, memory)
    setting = (
        f"{options.size}, {options.batch_size} × {options.max_seq_length} tokens, "
        f"{options.device}, {options.precision}"
    )
    options.record("pre-training step", setting, seconds)


def _print_results(
    options: PretrainingStepOptions,
    config: "BertConfig",
    seconds: dict[str, list[float]],
    memory: dict[str, str],
) -> None:
    """Prints the programs' speed and memory, and their share of the peak of matrix products."""
    from modeling.costs import training_flops

    matmul_flops = 2.0 * _MATMUL_SIZES[options.device] ** 3
    # Popped: the product is the baseline of "of peak", and no row of the table.
    _, matmul_seconds, _ = quartiles(seconds.pop(_MATMUL))
    peak = _MATMULS * matmul_flops / matmul_seconds
    sequence_flops = training_flops(config, options.max_seq_length, options.num_predictions)
    flops = options.batch_size * sequence_flops
    print(
        f"{options.size}, batch {options.batch_size}, {options.max_seq_length} tokens, "
        f"{options.num_predictions} predictions, vocabulary {options.vocab_size:,}, "
        f"{options.precision}: {flops / 1e9:,.0f} GFLOP a step; matrix product "
        f"{peak / 1e9:,.0f} GFLOP/s; medians of {options.repetitions} turns of {options.steps} "
        "steps"
    )
    # Medians: a turn that met other work on the machine counts no more than any other.
    milliseconds = {}
    shares = {}
    for name, turns in seconds.items():
        _, turn_seconds, _ = quartiles(turns)
        step_seconds = turn_seconds / options.steps
        milliseconds[name] = f"{step_seconds * 1e3:,.0f}"
        shares[name] = f"{flops / step_seconds / peak:.0%}"
    print_rates(
        seconds,
        [options.batch_size * options.steps] * options.repetitions,
        "sequences",
        {
            "ms/step": milliseconds,
            "of peak": shares,
            "MiB": memory,
        },
    )


def random_batch(size: int, length: int, num_predictions: int, vocab_size: int) -> dict:
    """Returns pre-training features without padding, [size, ...]: int64, weights float32."""
    import numpy as np

    generator = np.random.default_rng(0)
    shape = (size, length)
    predictions_shape = (size, num_predictions)
    return {
        "input_ids": generator.integers(0, vocab_size, shape),
        "input_mask": np.ones(shape, np.int64),
        "segment_ids": np.sort(generator.integers(0, 2, shape)),
        "masked_lm_positions": np.sort(generator.integers(1, length, predictions_shape)),
        "masked_lm_ids": generator.integers(0, vocab_size, predictions_shape),
        "masked_lm_weights": np.ones(predictions_shape, np.float32),
        "next_sentence_labels": generator.integers(0, 2, (size, 1)),
    }


def _build(
    options: PretrainingStepOptions, config: "BertConfig", folder: str, name: str
) -> Callable[[], None]:
    """Returns the function of a turn of a program, warmed up; writes the memory that it took."""
    num_steps = options.steps
    if name == _MATMUL:
        # Imported in the program's process only: the parent must not start TensorFlow.
        from benchmarks.tensorflow_programs import matmul

        num_steps = _MATMULS
        # The peak of a CPU is measured in float32, also for programs in bfloat16.
        dtype = "float32" if options.device == "cpu" else options.precision
        step = matmul(_MATMUL_SIZES[options.device], dtype)
    else:
        batch = random_batch(
            options.batch_size,
            options.max_seq_length,
            options.num_predictions,
            options.vocab_size,
        )
        path, arguments = PROGRAMS[name]
        make_step = pkgutil.resolve_name(f"benchmarks.{path}")
        step = make_step(config, batch, options.precision, **arguments)
    # Linux: pages that are resident now. `ru_maxrss` is the maximum of the process's life in KiB.
    with open("/proc/self/statm", encoding="utf-8") as file:
        bytes_before = int(file.read().split()[1]) * resource.getpagesize()
    for _ in range(_WARM_UP_STEPS):
        step()
    if options.device == "cpu":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 2**10 - bytes_before
    elif name.startswith("pytorch"):
        # ru_maxrss does not see the memory of a GPU.
        import torch

        peak = torch.cuda.max_memory_allocated()
    else:
        import tensorflow as tf

        peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
    json_files.write(os.path.join(folder, name), peak / _MIB)

    def turn() -> None:
        for _ in range(num_steps):
            step()

    return turn


if __name__ == "__main__":
    cli.run(PretrainingStepOptions, main)
