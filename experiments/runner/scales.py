"""What a scale is: the sizes of models, the length of their training, the settings of fine-tuning.

The paper's are those of its sections 3, 4, 5 and its appendix A; the others are chosen for their
time, and to have models that have learnt something in it.
"""

import dataclasses
import os
from collections.abc import Mapping

from bert_common.errors import UserError
from experiments.runner import experiment as columns
from experiments.runner.experiment import LAPTOP, PAPER, TOY
from modeling.config import BertConfig

# Recipes in `Scale.fine_tuning` beside those of the kinds of columns: of SQuAD v2.0; of
# `score_per_flop.py`, which fine-tunes many checkpoints; of a teacher, of students on its outputs,
# and on the labels after it.
SQUAD_2, SHORT = f"{columns.SQUAD} v2.0", "short"
TEACHER, DISTILLATION, STUDENT = "teacher", "distillation", "student"


@dataclasses.dataclass(frozen=True)
class Size:
    """A shape: layers, hidden units, attention heads; feed-forward layers have four times the
    hidden units.

    Attributes:
      learning_rate, initializer_range: of its pre-training; None for the scale's.
      directory: of a trained model that is taken instead of pre-training one.
    """

    layers: int
    hidden: int
    heads: int
    learning_rate: float | None = None
    initializer_range: float | None = None
    directory: str | None = None


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of pre-training: tokens of a sequence, masked ones at most, share of all steps."""

    length: int
    predictions: int
    share: float


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """How a kind of task is fine-tuned.

    Attributes:
      grid: of several learning rates the best on the development set is taken.
      length: tokens of a sequence at most.
      most_examples: of the training set; None for all.
    """

    learning_rate: float
    batch_size: int
    epochs: float
    length: int
    grid: tuple[float, ...] = ()
    most_examples: int | None = None
    flags: Mapping[str, object] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Scale:
    """All settings that are not what an experiment varies.

    Attributes:
      sizes: name of a size in the experiments → what it is here.
      steps, batch_size, learning_rate, phases: of pre-training.
      warmup_steps: of pre-training, at most a quarter of its steps.
      dupe_factor: passes over the text in which it is cut, and masked, differently.
      held_out: share of the documents that perplexities are measured on.
      config: further keys of bert_config.json.
      fine_tuning_flags: of every fine-tuning.
      pretraining_seeds: whether a repetition has a pre-training of its own; if not all share the
        first seed's.
      checkpoints: that a pre-training writes.
      snapshots: names of sizes whose checkpoints are all kept, for curves; of the others the last
        one is.
      members: of an ensemble, at most.
      cores: that a job computes on; None for all the machine has, and one job at a time.
    """

    name: str
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
    snapshots: tuple[str, ...] = ("base", "2-128", "4-256", "4-512")
    cores: int | None = None
    eval_batch_size: int = 64
    config: Mapping[str, object] = dataclasses.field(default_factory=dict)
    fine_tuning_flags: Mapping[str, object] = dataclasses.field(default_factory=dict)


PAPER_SIZES = {
    "base": Size(12, 768, 12),
    "large": Size(24, 1024, 16),
    # Table 6.
    "3-768-12": Size(3, 768, 12),
    "6-768-3": Size(6, 768, 3),
    "6-768-12": Size(6, 768, 12),
    "12-768-12": Size(12, 768, 12),
    "12-1024-16": Size(12, 1024, 16),
    "24-1024-16": Size(24, 1024, 16),
    # The miniatures.
    **{
        f"{layers}-{hidden}": Size(layers, hidden, hidden // 64)
        for layers in (2, 4, 6, 8, 10, 12)
        for hidden in (128, 256, 512, 768)
    },
}

_PAPER_GRID = (5e-5, 4e-5, 3e-5, 2e-5)
# Two rates of the paper of distillation. With 3e-4 alone Mini predicts one class in most runs; Tiny
# learns with both.
_STUDENT_GRID = (3e-4, 1e-4)
_TOY = FineTuning(1e-3, 8, 1, 32, most_examples=16)
_SCALES = {
    PAPER: Scale(
        PAPER,
        vocab_size=30_522,
        sizes=PAPER_SIZES,
        steps=1_000_000,
        batch_size=256,
        learning_rate=1e-4,
        warmup_steps=10_000,
        phases=(Phase(128, 20, 0.9), Phase(512, 77, 0.1)),
        dupe_factor=10,
        held_out=0.001,
        fine_tuning={
            columns.GLUE: FineTuning(2e-5, 32, 3, 128, _PAPER_GRID),
            columns.SQUAD: FineTuning(5e-5, 32, 3, 384, flags={"doc_stride": 128}),
            SQUAD_2: FineTuning(5e-5, 48, 2, 384, flags={"doc_stride": 128}),
            columns.SWAG: FineTuning(2e-5, 16, 3, 128),
            columns.NER: FineTuning(5e-5, 32, 3, 512, (5e-5, 3e-5, 2e-5)),
            columns.FEATURES: FineTuning(1e-3, 32, 15, 512),
            SHORT: FineTuning(1e-4, 32, 3, 128),
            TEACHER: FineTuning(2e-5, 32, 3, 128, _PAPER_GRID),
            DISTILLATION: FineTuning(3e-4, 64, 4, 128),
        },
        seeds=(1, 2, 3, 4, 5),
        pretraining_seeds=False,
        members=7,
        checkpoints=100,
    ),
    # Hidden units a sixth or an eighth of the paper's, layers a third or a sixth.
    LAPTOP: Scale(
        LAPTOP,
        vocab_size=4_000,
        sizes={
            "base": Size(2, 128, 2),
            "large": Size(4, 192, 3),
            "3-768-12": Size(1, 96, 3),
            "6-768-3": Size(2, 96, 1),
            "6-768-12": Size(2, 96, 3),
            "12-768-12": Size(4, 96, 3),
            "12-1024-16": Size(4, 128, 4),
            # With the rate and the initial weights of the others deep and wide ones learn nothing
            # but frequencies.
            "24-1024-16": Size(8, 128, 4, 5e-4, 0.04),
            "2-128": PAPER_SIZES["2-128"],
            "4-128": PAPER_SIZES["4-128"],
            "2-256": Size(2, 256, 4, 5e-4, 0.04),
            "4-256": Size(4, 256, 4, 5e-4, 0.04),
            "4-512": Size(4, 512, 8, 2.5e-4, 0.03),
            "8-512": Size(8, 512, 8, 2.5e-4, 0.03),
        },
        # Tiny leaves the plateau of masked LM on novels at 1,300.
        steps=3_000,
        batch_size=32,
        learning_rate=1e-3,
        warmup_steps=300,
        phases=(Phase(64, 10, 1.0),),
        dupe_factor=3,
        held_out=0.02,
        config={
            "initializer_range": 0.08,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        },
        fine_tuning_flags={"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
        fine_tuning={
            columns.GLUE: FineTuning(3e-4, 32, 3, 96, most_examples=3_000),
            columns.SQUAD: FineTuning(
                3e-4, 32, 3, 128, most_examples=3_000, flags={"doc_stride": 60}
            ),
            columns.SWAG: FineTuning(3e-4, 16, 3, 64),
            columns.NER: FineTuning(3e-4, 32, 4, 128),
            columns.FEATURES: FineTuning(1e-3, 32, 6, 128, flags={"lstm_units": 128}),
            SHORT: FineTuning(3e-4, 32, 3, 96, most_examples=1_000),
            TEACHER: FineTuning(1e-4, 32, 3, 96, most_examples=1_000),
            # Of all texts there are, see `Recipes._taught`.
            DISTILLATION: FineTuning(3e-4, 32, 1, 96, _STUDENT_GRID, most_examples=1_000),
            STUDENT: FineTuning(3e-4, 32, 3, 96, _STUDENT_GRID, most_examples=1_000),
        },
        seeds=(1, 2, 3),
        pretraining_seeds=True,
        members=3,
        checkpoints=20,
        cores=1,
    ),
    TOY: Scale(
        TOY,
        vocab_size=300,
        sizes=dict.fromkeys(PAPER_SIZES, Size(1, 16, 2))
        | {
            "large": Size(2, 16, 2),
            "12-768-12": Size(4, 16, 2),
            "3-768-12": Size(1, 12, 2),
            "6-768-3": Size(1, 16, 1),
            "6-768-12": Size(2, 16, 1),
            "12-1024-16": Size(1, 20, 2),
            "24-1024-16": Size(2, 20, 2),
            "2-128": Size(1, 8, 1),
            "2-256": Size(1, 12, 1),
            "4-128": Size(2, 8, 1),
            "4-512": Size(2, 12, 1),
        },
        steps=4,
        batch_size=4,
        learning_rate=1e-3,
        warmup_steps=1,
        phases=(Phase(32, 5, 1.0),),
        dupe_factor=1,
        held_out=0.2,
        fine_tuning=dict.fromkeys((columns.GLUE, columns.NER, SHORT, TEACHER), _TOY)
        | dict.fromkeys((DISTILLATION, STUDENT), dataclasses.replace(_TOY, grid=_STUDENT_GRID))
        | {
            columns.SQUAD: dataclasses.replace(
                _TOY, length=48, flags={"doc_stride": 16, "max_query_length": 16}
            ),
            columns.SWAG: dataclasses.replace(_TOY, batch_size=4, most_examples=8),
            columns.FEATURES: dataclasses.replace(_TOY, flags={"lstm_units": 4, "lstm_layers": 1}),
        },
        seeds=(1, 2),
        pretraining_seeds=True,
        members=2,
        checkpoints=4,
        cores=1,
        eval_batch_size=8,
    ),
}


def find_scale(name: str, given_models: Mapping[str, str] | None = None) -> Scale:
    """The scale of --scale, with directories of trained models for some sizes.

    Raises:
      UserError: there is no such size, or no configuration in the directory.
    """
    scale, sizes = _SCALES[name], {}
    for size, directory in (given_models or {}).items():
        if size not in scale.sizes:
            raise UserError(
                f"--checkpoints={size}:{directory}: --scale={name} has no such size: take one of "
                f"{', '.join(scale.sizes)}"
            )
        config = BertConfig.from_file(os.path.join(directory, "bert_config.json"))
        sizes[size] = Size(
            config.num_hidden_layers,
            config.hidden_size,
            config.num_attention_heads,
            directory=directory,
        )
    return dataclasses.replace(scale, sizes={**scale.sizes, **sizes})
