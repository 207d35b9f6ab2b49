"""Speed of one full pre-training step (forward, backward, clipping, AdamW) beside the peers', in
one run.

  python benchmarks/pretraining_step.py                                        # L4-H256, batch 32,
  128 tokens python benchmarks/pretraining_step.py --size=base --batch_size=8
  python benchmarks/pretraining_step.py --max_seq_length=512 --batch_size=8    # long inputs
  python benchmarks/pretraining_step.py --size=base --batch_size=4 --max_seq_length=384
  --programs=ours,ours_recomputed python benchmarks/pretraining_step.py --device=gpu --size=base
  --batch_size=256 --steps=20        # peers there, too

Same random batch without padding, predictions at 15 % of the positions, dropout on, float32 (on a
GPU bfloat16, and all TensorFlow programs with XLA and the options of our scripts). Compared: this
project, the Model Garden's BertPretrainerV2 with its AdamW, and KerasHub's BertBackbone and
MaskedLMHead with Keras' AdamW, all with and without XLA; and Hugging Face's BertForPreTraining on
PyTorch, its encoder and heads called one by one, the masked positions gathered in between
(`pytorch_gathered`; `pytorch_compiled` with torch.compile, whose compilation takes minutes).
KerasHub and PyTorch are in pyproject.toml's group peers.

"MiB of activations" is what a process has needed at most in the first steps beyond what it held
before them; PyTorch makes the optimizer's slots in these. `--programs=ours,ours_recomputed` shows
what `--recompute` saves, and costs. On a GPU it is the most memory in use, weights included.
"""

import dataclasses
import os
import pkgutil
import resource
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.interleaved import DeviceOptions, find_config, print_rates, quartiles, take_turns
from bert_common import cli, json_files
from bert_common.errors import UserError
from bert_common.options import option

if TYPE_CHECKING:
    from modeling.config import BertConfig

_MATMUL_SIZES, _MATMULS = {"cpu": 2048, "gpu": 8192}, 20
_MATMUL = "matmul"
_WARM_UP_STEPS = 3
_BY_DEFAULT = {
    "cpu": ("ours", "model_garden", "keras_hub", "pytorch_gathered"),
    "gpu": (
        "ours_xla",
        "model_garden_xla",
        "keras_hub_xla",
        "pytorch_gathered",
        "pytorch_compiled",
    ),
}
_MEMORY = {"cpu": "MiB of activations", "gpu": "MiB at most"}
# Program → module and function, and the function's arguments.
PROGRAMS = {
    "ours": ("tensorflow_programs:pretraining", {}),
    "ours_recomputed": ("tensorflow_programs:pretraining", {"recompute": True}),
    "ours_xla": ("tensorflow_programs:pretraining", {"jit_compile": True}),
    "ours_fused_xla": (
        "tensorflow_programs:pretraining",
        {"jit_compile": True, "fused_attention": True},
    ),
    "model_garden": ("tensorflow_programs:model_garden_pretraining", {}),
    "model_garden_xla": ("tensorflow_programs:model_garden_pretraining", {"jit_compile": True}),
    "keras_hub": ("tensorflow_programs:keras_hub_pretraining", {}),
    "keras_hub_xla": ("tensorflow_programs:keras_hub_pretraining", {"jit_compile": True}),
    "pytorch_gathered": ("pytorch_peers:pretraining", {}),
    "pytorch_compiled": ("pytorch_peers:pretraining", {"compiled": True}),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingStepOptions(DeviceOptions):
    """Options of the benchmark."""

    size: str = option("L4-H256", "L<layers>-H<hidden>, or base or large.")
    batch_size: int = option(32, "Examples of a step.", minimum=1)
    max_seq_length: int = option(128, "Tokens of an example.", minimum=8)
    max_predictions_per_seq: int | None = option(
        None, "Predictions of an example.", minimum=1, default_text="15 % of the tokens, rounded up"
    )
    vocab_size: int = option(30522, "Entries of the vocabulary.", minimum=1)
    repetitions: int = option(7, "Turns of each program.", minimum=1)
    steps: int = option(3, "Steps of a turn.", minimum=1)
    attention_dropout: float = option(
        0.1,
        "Of the probabilities, but for KerasHub, which has one rate for all; ours_fused_xla needs 0.",
        minimum=0,
        maximum=0.9,
    )
    programs: tuple[str, ...] = option(
        (), "What is measured.", choices=tuple(PROGRAMS), default_text="by --device"
    )


def main(options: PretrainingStepOptions) -> None:
    options.set_up_device()
    predictions = options.max_predictions_per_seq or -(-options.max_seq_length * 15 // 100)
    config = dataclasses.replace(
        find_config(options.size, options.vocab_size),
        attention_probs_dropout_prob=options.attention_dropout,
    )
    config.check_sequence_length(options.max_seq_length)
    if "ours_fused_xla" in options.programs:
        from modeling.fused_attention import check_fused_attention

        if options.attention_dropout:
            raise UserError(
                "--programs=ours_fused_xla drops no attention probabilities: add --attention_dropout=0, for all"
            )
        check_fused_attention(config, options.chosen_precision)
    with tempfile.TemporaryDirectory() as folder:
        programs = (_MATMUL, *(options.programs or _BY_DEFAULT[options.device]))
        seconds = take_turns(
            options, programs, options.repetitions, _build, options, config, predictions, folder
        )
        mib = {
            name: json_files.read(os.path.join(folder, name)) for name in seconds if name != _MATMUL
        }
    from modeling.costs import training_flops

    peak = _MATMULS * 2.0 * _MATMUL_SIZES[options.device] ** 3 / quartiles(seconds.pop(_MATMUL))[1]
    flops = options.batch_size * training_flops(config, options.max_seq_length, predictions)
    print(
        f"{options.size}, batch {options.batch_size}, {options.max_seq_length} tokens, {predictions} "
        f"predictions, vocabulary {options.vocab_size:,}, {options.chosen_precision}: {flops / 1e9:,.0f} GFLOP a step; "
        f"matrix product {peak / 1e9:,.0f} GFLOP/s; medians of {options.repetitions} turns of {options.steps} steps"
    )
    steps = {name: quartiles(turns)[1] / options.steps for name, turns in seconds.items()}
    print_rates(
        seconds,
        [options.batch_size * options.steps] * options.repetitions,
        "sequences",
        {
            "ms/step": ("{:,.0f}", {name: step * 1e3 for name, step in steps.items()}),
            "of peak": ("{:.0%}", {name: flops / step / peak for name, step in steps.items()}),
            _MEMORY[options.device]: ("{:,.0f}", mib),
        },
    )


def random_batch(size: int, length: int, predictions: int, vocab_size: int) -> dict:
    """Features of `size` pre-training examples without padding, [size, ...] each: int64, weights
    float32."""
    import numpy as np

    generator = np.random.default_rng(0)
    shape, predicted = (size, length), (size, predictions)
    return {
        "input_ids": generator.integers(0, vocab_size, shape),
        "input_mask": np.ones(shape, np.int64),
        "segment_ids": np.sort(generator.integers(0, 2, shape)),
        "masked_lm_positions": np.sort(generator.integers(1, length, predicted)),
        "masked_lm_ids": generator.integers(0, vocab_size, predicted),
        "masked_lm_weights": np.ones(predicted, np.float32),
        "next_sentence_labels": generator.integers(0, 2, (size, 1)),
    }


def _build(
    options: PretrainingStepOptions, config: "BertConfig", predictions: int, folder: str, name: str
) -> Callable[[], None]:
    """A turn of the program, which is warmed up and has written how much memory it took."""
    if name == _MATMUL:
        # Beside programs in bfloat16 on a CPU, too, float32.
        from benchmarks.tensorflow_programs import matmul

        step = matmul(
            _MATMUL_SIZES[options.device],
            "float32" if options.device == "cpu" else options.chosen_precision,
        )
    else:
        batch = random_batch(
            options.batch_size, options.max_seq_length, predictions, options.vocab_size
        )
        path, arguments = PROGRAMS[name]
        step = pkgutil.resolve_name(f"benchmarks.{path}")(
            config, batch, options.chosen_precision, **arguments
        )
    # Linux; in MiB what this process has resident now, and then the most that it has had.
    with open("/proc/self/statm", encoding="utf-8") as file:
        before = int(file.read().split()[1]) * resource.getpagesize() / 2**20
    for _ in range(_WARM_UP_STEPS):
        step()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10 - before
    if options.device == "gpu" and name.startswith("pytorch"):
        import torch

        most = torch.cuda.max_memory_allocated() / 2**20
    elif options.device == "gpu":
        import tensorflow as tf

        most = tf.config.experimental.get_memory_info("GPU:0")["peak"] / 2**20
    json_files.write(os.path.join(folder, name), most)

    def turn() -> None:
        for _ in range(_MATMULS if name == _MATMUL else options.steps):
            step()

    return turn


if __name__ == "__main__":
    cli.run(PretrainingStepOptions, main)
