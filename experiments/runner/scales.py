"""Settings of each scale: model sizes, the length of pre-training, fine-tuning hyperparameters.

The paper's are in its sections 3, 4 and 5 and appendix A. On a laptop and on a GPU the settings
fit into hours, and the models have learned something by then.
"""

import dataclasses
import os
from collections.abc import Mapping

from bert_common.errors import UserError
from experiments.runner.experiment import (
    FEATURES,
    GLUE,
    GPU,
    LAPTOP,
    NER,
    PAPER,
    SQUAD,
    SQUAD_2,
    SWAG,
    TOY,
)
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class Size:
    """A model shape. Feed-forward layers have four times the hidden units.

    Attributes:
      layers, hidden, heads: number of layers, hidden units and attention heads.
      learning_rate: learning rate of its pre-training; None for the scale's.
      initializer_range: deviation of its initial weights; None for the scale's.
      directory: directory of a trained model that replaces a pre-training.
    """

    layers: int
    hidden: int
    heads: int
    learning_rate: float | None = None
    initializer_range: float | None = None
    directory: str | None = None


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of pre-training: sequence length, maximum of masked tokens, share of all steps."""

    length: int
    predictions: int
    share: float


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """Fine-tuning settings of a kind of task.

    Attributes:
      learning_rate: learning rate; the best of several on the development set is used.
      batch_size: examples per step.
      epochs: passes over the training set.
      length: maximum number of tokens per sequence.
      max_examples: maximum number of training examples; None for all.
      extra: further flags of the script.
    """

    learning_rate: float | tuple[float, ...]
    batch_size: int
    epochs: float
    length: int
    max_examples: int | None = None
    extra: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def flags(self, seed: int) -> dict[str, object]:
        """Returns the flags that all fine-tuning scripts share."""
        flags = {
            "max_seq_length": self.length,
            "train_batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "num_train_epochs": self.epochs,
            "seed": seed,
            **self.extra,
        }
        if self.max_examples is not None:
            flags["max_train_examples"] = self.max_examples
        return flags


@dataclasses.dataclass(frozen=True)
class Scale:
    """All settings that the experiments have in common.

    Attributes:
      sizes: shape of each size named in the experiments.
      steps, batch_size, learning_rate, phases: settings of pre-training.
      warmup_steps: warm-up steps of pre-training.
      dupe_factor: passes over the text, each masked differently.
      held_out: share of the documents that perplexities are measured on.
      config: further keys of bert_config.json.
      pretraining_flags: further flags of pre-training.
      fine_tuning: settings by kind of column, or by recipe.
      fine_tuning_flags: flags of every fine-tuning.
      seeds: seeds of the repetitions.
      pretraining_seeds: whether each repetition has its own pre-training; otherwise all share that
        of the first seed.
      members: number of models in an ensemble.
      checkpoints: number of checkpoints that a pre-training writes.
      cores: cores per job; None for all cores and one job at a time.
      eval_batch_size: examples per step of pre-training's evaluations.
    """

    vocab_size: int
    sizes: Mapping[str, Size]
    steps: int
    batch_size: int
    learning_rate: float
    warmup_steps: int
    phases: tuple[Phase, ...]
    dupe_factor: int
    held_out: float
    fine_tuning: Mapping[str, FineTuning]
    seeds: tuple[int, ...]
    pretraining_seeds: bool
    members: int
    checkpoints: int
    cores: int | None = None
    eval_batch_size: int = 64
    config: Mapping[str, object] = dataclasses.field(default_factory=dict)
    pretraining_flags: Mapping[str, object] = dataclasses.field(default_factory=dict)
    fine_tuning_flags: Mapping[str, object] = dataclasses.field(default_factory=dict)


_PAPER = Scale(
    vocab_size=30_522,
    sizes={
        "base": Size(12, 768, 12),
        "large": Size(24, 1024, 16),
        # Sizes of table 6.
        "3-768-12": Size(3, 768, 12),
        "6-768-3": Size(6, 768, 3),
        "6-768-12": Size(6, 768, 12),
        "12-768-12": Size(12, 768, 12),
        "12-1024-16": Size(12, 1024, 16),
        "24-1024-16": Size(24, 1024, 16),
    },
    # Section A.2: Adam with this rate, 90 % of the steps with 128 tokens, the rest with 512.
    steps=1_000_000,
    batch_size=256,
    learning_rate=1e-4,
    warmup_steps=10_000,
    phases=(Phase(128, 20, 0.9), Phase(512, 77, 0.1)),
    dupe_factor=10,
    # A thousandth of 3,300 million words is enough for a perplexity.
    held_out=0.001,
    # Sections 4.1 to 4.4; for named entities section 5.3 and appendix A.3.
    fine_tuning={
        GLUE: FineTuning((5e-5, 4e-5, 3e-5, 2e-5), 32, 3, 128),
        # Windows of long texts overlap by 256 tokens, as in the original script.
        SQUAD: FineTuning(5e-5, 32, 3, 384, extra={"doc_stride": 128}),
        SQUAD_2: FineTuning(5e-5, 48, 2, 384, extra={"doc_stride": 128}),
        SWAG: FineTuning(2e-5, 16, 3, 128),
        NER: FineTuning((5e-5, 3e-5, 2e-5), 32, 3, 512),
        # The paper does not state how its BiLSTM was trained: these are the script's defaults.
        FEATURES: FineTuning(1e-3, 32, 15, 512),
    },
    # Section 5.3 averages five restarts of fine-tuning. One pre-training costs days.
    seeds=(1, 2, 3, 4, 5),
    pretraining_seeds=False,
    # Section 4.2.
    members=7,
    checkpoints=100,
)

_LAPTOP_SQUAD = FineTuning(3e-4, 32, 3, 128, max_examples=3_000, extra={"doc_stride": 60})
# Models have a sixth or an eighth of the paper's hidden units, a third or a sixth of its layers.
_LAPTOP = Scale(
    vocab_size=4_000,
    sizes={
        "base": Size(2, 128, 2),
        "large": Size(4, 192, 3),
        "3-768-12": Size(1, 96, 3),
        "6-768-3": Size(2, 96, 1),
        "6-768-12": Size(2, 96, 3),
        "12-768-12": Size(4, 96, 3),
        "12-1024-16": Size(4, 128, 4),
        # At the rate and the initial weights of the other sizes, a deep model learns nothing but
        # token frequencies.
        "24-1024-16": Size(8, 128, 4, learning_rate=5e-4, initializer_range=0.04),
    },
    # A core takes ten minutes for 5,400 steps of masked LM. Models of 2 layers and 128 hidden units
    # leave its plateau on novels between steps 1,000 and 2,700.
    steps=5_400,
    batch_size=32,
    learning_rate=1e-3,
    warmup_steps=300,
    # 15 % of 64 tokens are predicted, as in the paper.
    phases=(Phase(64, 10, 1.0),),
    dupe_factor=3,
    held_out=0.02,
    # Three passes over the text need no dropout; fine-tuning on few examples does.
    config={
        "initializer_range": 0.08,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    },
    # The rate stays high until the last tenth: a model that leaves the plateau late still learns.
    pretraining_flags={"lr_schedule": "wsd"},
    fine_tuning_flags={"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    fine_tuning={
        # Small models need higher rates. Larger tasks are cut, so that a table takes hours.
        GLUE: FineTuning(3e-4, 32, 3, 96, max_examples=3_000),
        SQUAD: _LAPTOP_SQUAD,
        SQUAD_2: _LAPTOP_SQUAD,
        SWAG: FineTuning(3e-4, 16, 3, 64),
        NER: FineTuning(3e-4, 32, 4, 128),
        FEATURES: FineTuning(1e-3, 32, 6, 128, extra={"lstm_units": 128}),
    },
    # Small models differ more by the seed of pre-training than by the seed of fine-tuning.
    seeds=(1, 2, 3),
    pretraining_seeds=True,
    members=3,
    checkpoints=20,
    # The runner fills the machine with jobs side by side.
    cores=1,
)

_GPU_SQUAD = FineTuning(2e-4, 32, 3, 128, max_examples=20_000, extra={"doc_stride": 60})
# A pre-training takes some 100 seconds of an H200: 256 sequences, 10,000 times.
_GPU = Scale(
    # samples/mini_books was pre-trained with these settings.
    vocab_size=8_000,
    sizes={
        "base": Size(4, 256, 4),
        "large": Size(8, 384, 6, learning_rate=5e-4, initializer_range=0.03),
        "3-768-12": Size(1, 256, 4),
        "6-768-3": Size(2, 256, 1),
        "6-768-12": Size(2, 256, 4),
        "12-768-12": Size(4, 256, 4),
        "12-1024-16": Size(4, 384, 6, learning_rate=5e-4, initializer_range=0.03),
        "24-1024-16": Size(8, 384, 6, learning_rate=5e-4, initializer_range=0.03),
    },
    # After 2,500 steps one of three models without next sentences was on the plateau.
    steps=10_000,
    batch_size=256,
    learning_rate=1e-3,
    warmup_steps=1_000,
    phases=(Phase(128, 20, 1.0),),
    dupe_factor=3,
    held_out=0.01,
    config={
        "initializer_range": 0.04,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    },
    pretraining_flags={"optimizer_bias_correction": True},
    fine_tuning_flags={
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "optimizer_bias_correction": True,
    },
    fine_tuning={
        GLUE: FineTuning(2e-4, 32, 3, 128, max_examples=20_000),
        SQUAD: _GPU_SQUAD,
        SQUAD_2: _GPU_SQUAD,
        SWAG: FineTuning(2e-4, 16, 3, 128, max_examples=20_000),
        NER: FineTuning(2e-4, 32, 4, 128),
        FEATURES: FineTuning(1e-3, 32, 6, 128, extra={"lstm_units": 256}),
    },
    seeds=(1, 2, 3),
    pretraining_seeds=True,
    members=3,
    checkpoints=20,
    # A small model leaves most of a GPU's cores idle; each job takes two of the machine's.
    cores=2,
)

# Everything is as small as the scripts allow; scores mean nothing.
_TOY_TASK = FineTuning(1e-3, 8, 1, 32, max_examples=16)
_TOY_SQUAD = FineTuning(
    1e-3,
    8,
    1,
    48,
    max_examples=16,
    extra={"doc_stride": 16, "max_query_length": 16},
)
_TOY = Scale(
    vocab_size=300,
    sizes={
        **dict.fromkeys(_PAPER.sizes, Size(1, 16, 2)),
        "large": Size(2, 16, 2),
        # Table 7 reads the last four layers.
        "12-768-12": Size(4, 16, 2),
    },
    steps=4,
    batch_size=4,
    learning_rate=1e-3,
    warmup_steps=1,
    phases=(Phase(32, 5, 1.0),),
    dupe_factor=1,
    held_out=0.2,
    fine_tuning={
        GLUE: _TOY_TASK,
        SQUAD: _TOY_SQUAD,
        SQUAD_2: _TOY_SQUAD,
        SWAG: FineTuning(1e-3, 4, 1, 32, max_examples=8),
        NER: _TOY_TASK,
        FEATURES: FineTuning(
            1e-3,
            8,
            1,
            32,
            max_examples=16,
            extra={"lstm_units": 4, "lstm_layers": 1},
        ),
    },
    seeds=(1, 2),
    pretraining_seeds=True,
    members=2,
    checkpoints=4,
    cores=1,
    eval_batch_size=8,
)
_SCALES = {PAPER: _PAPER, LAPTOP: _LAPTOP, GPU: _GPU, TOY: _TOY}


def find_scale(name: str, checkpoint_directories: Mapping[str, str]) -> Scale:
    """Returns a scale in which trained models replace the pre-training of some sizes.

    Args:
      name: value of --scale.
      checkpoint_directories: directory of the trained model, by size.

    Raises:
      UserError: there is no such size, or no configuration in the directory.
    """
    scale = _SCALES[name]
    # A trained model has its own shape, whatever the scale.
    sizes = dict(scale.sizes)
    for size, directory in checkpoint_directories.items():
        if size not in sizes:
            raise UserError(
                f"--checkpoints={size}:{directory}: there is no such size: use one of "
                f"{', '.join(sizes)}"
            )
        config = BertConfig.from_file(os.path.join(directory, "bert_config.json"))
        sizes[size] = Size(
            config.num_hidden_layers,
            config.hidden_size,
            config.num_attention_heads,
            directory=directory,
        )
    return dataclasses.replace(scale, sizes=sizes)
