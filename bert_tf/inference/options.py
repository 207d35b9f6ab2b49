"""The options of `predict.py`, `export_model.py`, `extract_features.py` and `fill_mask.py`, and two
tables: the tasks that a trained model can be used for, a class each, and the formats of exports.

No TensorFlow here until a class is needed: `--help` and wrong flags answer at once. The class of a
task (`bert_tf/tasks/inference.py`) gets all `InferenceSettings` and reads those that concern it.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bert_common import files, outputs
from bert_common.errors import UserError
from bert_common.options import (
    DIRECTORY,
    FILE,
    DeclaredOption,
    Options,
    declared_options,
    option,
    unknown_choice,
)
from bert_common.plugins import Plugins
from bert_tf.runs.options import CheckpointOptions, DeviceOptions
from bert_tf.tasks.question_answering.options import SquadSettings
from modeling.checkpoints.companion_files import FORMER_TASK_NAMES
from modeling.config import POOLINGS

if TYPE_CHECKING:
    from bert_tf.tasks.inference import TaskInference
    from modeling.checkpoints.load import Checkpoint

MASK = "[MASK]"
# --task → module and subclass of `tasks.inference.TaskInference`.
TASKS = {
    "classification": "bert_tf.tasks.classification.inference:ClassificationInference",
    "multiple_choice": "bert_tf.tasks.multiple_choice.inference:MultipleChoiceInference",
    "question_answering": "bert_tf.tasks.question_answering.inference:QuestionAnsweringInference",
    "sentence_embedding": "bert_tf.tasks.sentence_embedding.inference:SentenceEmbeddingInference",
    "token_classification": "bert_tf.tasks.token_classification.inference:TokenClassificationInference",
    "token_classification_from_features": "bert_tf.tasks.token_classification.inference:FeatureTaggerInference",
    "fill_mask": "bert_tf.inference.fill_mask:MaskInference",
    "features": "bert_tf.inference.features:FeatureInference",
}
# What every checkpoint has.
ENCODER_TASK = "features"
# A head of pre-training that is no task.
_NO_TASK = "next_sentence"
SIGNATURES, TFHUB = "signatures", "tfhub"
# --format, or tfhub of --api → a subclass of `export.ExportFormat`.
FORMATS = Plugins(
    "export format",
    {
        "saved_model": "bert_tf.inference.saved_model:SavedModelFormat",
        TFHUB: "bert_tf.extras.tfhub:TfHubFormat",
        "onnx": "bert_tf.extras.onnx_format:OnnxFormat",
        "litert": "bert_tf.extras.litert:LiteRtFormat",
        "hub": "bert_tf.extras.hub:HubFormat",
    },
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModelOptions(CheckpointOptions):
    """Checkpoint."""

    init_checkpoint: str = option(None, "The checkpoint, of any format.", required=True, path=True)

    def companions(self) -> dict[str, str | bool | None]:
        """The other arguments of `open_checkpoint`."""
        return {
            name: getattr(self, name)
            for name in ("bert_config_file", "vocab_file", "do_lower_case")
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class InputOptions(Options):
    """Inputs."""

    max_seq_length: int | None = option(
        None,
        "Most tokens that the model sees at once. Longer inputs are truncated; contexts of questions are read in "
        "windows.",
        minimum=3,
        default_text="as it was fine-tuned; else 512, for question answering 384, or as many as it has positions",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CandidateOptions(Options):
    """Candidates."""

    top_k: int = option(5, "Candidates for each mask; of questions, answers in nbest.", minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolingOptions(Options):
    """Vectors."""

    pooling: str | None = option(
        None,
        "A text's vector: that of [CLS], or the mean or maximum over all tokens.",
        choices=POOLINGS,
        default_text="that of a directory of sentence-transformers; else mean",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorOptions(PoolingOptions):
    """Vectors."""

    layer: int = option(-1, "Number of the layer, from 0; -1 is the last one.")


# Task → the options that not every task reads.
_OPTIONS_OF_TASK: dict[str, tuple[type[Options], ...]] = {
    "question_answering": (SquadSettings, CandidateOptions),
    "fill_mask": (CandidateOptions,),
    "features": (VectorOptions,),
}
# What predictions give and exports do not.
_NOT_EXPORTED = {("question_answering", "top_k")}


def tasks_reading(name: str, exported: bool = False) -> list[str]:
    """The tasks that alone read an option, for predictions or for an export; empty where all read
    it."""
    if name in {one.name for one in declared_options(InputOptions)}:
        return []
    return [
        task
        for task, classes in _OPTIONS_OF_TASK.items()
        if any(name == one.name for cls in classes for one in declared_options(cls))
        and not (exported and (task, name) in _NOT_EXPORTED)
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InferenceSettings(InputOptions, CandidateOptions, VectorOptions, SquadSettings):
    """Batches."""

    batch_size: int = option(32, "Most inputs of a batch.", minimum=1)

    def check_read_by(self, task: str, exported: bool = False) -> None:
        """Raises `UserError` for an option that was given and that the task, or its export, does
        not read."""
        for name in sorted(self.given):
            readers = tasks_reading(name, exported)
            if readers and task not in readers:
                raise UserError(
                    f"--{name} is not read with --task={task}, only with --task={' or --task='.join(readers)}: "
                    "leave it out"
                )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskOptions(Options):
    """Task."""

    task: str | None = option(
        None,
        "What the model is used for; needed only where it has heads for several. --help beside it lists the flags "
        "of this task.",
        choices=tuple(TASKS),
        former_choices=FORMER_TASK_NAMES,
    )
    # Whether the script exports.
    exported = False

    @classmethod
    def options_in_help(cls, given: Mapping[str, object]) -> list[DeclaredOption]:
        """Those of all tasks, then those that only some read; of a task that is given, those that
        it reads."""
        common, special = [], []
        for one in declared_options(cls):
            readers = tasks_reading(one.name, cls.exported)
            if not readers:
                common.append(one)
            elif given.get("task") in (None, *readers):
                special.append(
                    dataclasses.replace(one, group=f"With --task={' or --task='.join(readers)}.")
                )
        return common + sorted(special, key=lambda one: one.group)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileOptions(TrainedModelOptions):
    """Files."""

    input_file: str = option("-", "One input per line; - is standard input.", path=FILE)
    output_file: str = option(
        "-", "JSON lines; a file appears when it is complete. - is standard output.", path=True
    )

    def check(self) -> None:
        """Checks also that no output takes the place of something that is read, or of a part of a
        checkpoint."""
        super().check()
        if self.input_file != "-":
            files.check_readable(self.input_file, "input_file")
        if self.output_file == "-":
            return
        outputs.check_output_file(
            self.output_file,
            "output_file",
            {
                name: [path]
                for name, path in self.path_options().items()
                if name != "output_file" and path != "-"
            },
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictOptions(FileOptions, TaskOptions, InferenceSettings):
    """Predictions."""

    def check(self) -> None:
        super().check()
        if self.task:
            self.check_read_by(FORMER_TASK_NAMES.get(self.task, self.task))


# Option → the formats that read it, where not all do.
_READ_BY_FORMATS = {
    **{
        one.name: ("saved_model",)
        for cls in (CandidateOptions, SquadSettings)
        for one in declared_options(cls)
        if one.name not in InputOptions.__dataclass_fields__
    },
    "check_file": ("saved_model", TFHUB),
    "api": ("saved_model", TFHUB),
    **dict.fromkeys(
        ("quantize", "dev_file", "data_dir", "max_score_loss", "pooling"),
        ("hub", "onnx", "litert"),
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportOptions(
    TaskOptions, TrainedModelOptions, InputOptions, CandidateOptions, PoolingOptions, SquadSettings
):
    """Export."""

    exported = True
    export_dir: str = option(
        None, "Directory of the export; it must not exist.", required=True, path=True
    )
    format: str = option(
        "saved_model",
        "saved_model: takes strings, for TensorFlow. hub: one directory for transformers, "
        "sentence-transformers, transformers.js, fastembed and others, with an ONNX model. onnx: that model alone, of "
        "token ids, with a tokenizer.json. litert: the same, one text of --max_seq_length tokens at a time, for phones.",
        choices=tuple(name for name in FORMATS.targets if name != TFHUB),
    )
    quantize: str = option(
        "none",
        "float16: half the size, for GPUs. int8: a quarter, for CPUs; weights are rounded for each of their "
        "columns, activations for each call.",
        choices=("none", "float16", "int8"),
    )
    dev_file: str | None = option(
        None,
        "Of a run directory that is quantized: the development set on which the loss of score is measured.",
        path=FILE,
        default_text="that of the run",
    )
    data_dir: str | None = option(
        None,
        "The same, where the run read a directory.",
        path=DIRECTORY,
        default_text="that of the run",
    )
    max_score_loss: float | None = option(
        None,
        "The largest share of its score that a model may lose when it is quantized; beyond, nothing is written.",
        minimum=0,
        maximum=1,
        default_text="0.01",
    )
    api: str = option(
        SIGNATURES,
        "Names of inputs and outputs. signatures: strings to answers, for TensorFlow Serving and Keras. "
        "tfhub: a preprocessor (128 tokens, or --max_seq_length) and an encoder that can be trained, as on TF-Hub.",
        choices=(SIGNATURES, TFHUB),
    )
    check_file: str | None = option(
        None,
        "Text, line by line, to compare the tokenizer in the graph with the exact one on, besides the built-in "
        "sample.",
        path=FILE,
    )

    def check(self) -> None:
        super().check()
        files.refuse_existing(self.export_dir, "export_dir")
        given = "--api=tfhub" if self.format_name == TFHUB else f"--format={self.format}"
        for name in sorted(self.given & _READ_BY_FORMATS.keys()):
            if self.format_name not in (readers := _READ_BY_FORMATS[name]):
                raise UserError(
                    f"--{name} is not read with {given}, only with --format="
                    f"{' or --format='.join(one for one in readers if one != TFHUB)}: leave it out"
                )
        for name in sorted(
            self.given & {"dev_file", "data_dir", "max_score_loss"}
            if self.quantize == "none"
            else ()
        ):
            raise UserError(
                f"--{name} is for what quantization costs: add --quantize=int8, or leave it out"
            )
        if self.task:
            self.settings().check_read_by(
                FORMER_TASK_NAMES.get(self.task, self.task), self.exported
            )

    @property
    def format_name(self) -> str:
        """The name in `FORMATS`."""
        return TFHUB if (self.api, self.format) == (TFHUB, "saved_model") else self.format

    def settings(self) -> InferenceSettings:
        """The settings of the task."""
        names = {one.name for one in declared_options(InferenceSettings)} & {
            one.name for one in declared_options(ExportOptions)
        }
        return InferenceSettings(**{name: getattr(self, name) for name in names}, given=self.given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExtractOptions(FileOptions, DeviceOptions):
    """Features."""

    input_file: str = option(
        None, "One example per line; - is standard input.", required=True, path=FILE
    )
    output_file: str = option(
        None, "JSON lines, or arrays where the name ends with .npz.", required=True, path=True
    )
    layers: tuple[int, ...] = option(
        (-1, -2, -3, -4), "Numbers of layers, from 0; -1 is the last one."
    )
    pooling: str = option(
        "none",
        "none: one vector per token. cls: that of [CLS] only. mean, max: over all tokens of a line.",
        choices=("none", *POOLINGS),
    )
    max_seq_length: int = option(128, "Longer lines are truncated.", minimum=3)
    batch_size: int = option(32, "Lines of a batch, on all devices together.", minimum=1)
    distribution_strategy: str = option(
        "auto",
        "Devices to compute on. auto: a TPU where one is named, all GPUs.",
        choices=("auto", "none", "mirrored", "tpu"),
    )
    precision: str = option(
        "float32",
        "Of the matrix products.",
        choices=("auto", "float32", "tf32", "bfloat16", "float16"),
    )
    use_one_hot_embeddings: bool = option(
        False, "Accepted for old command lines: the result is the same."
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillMaskOptions(TrainedModelOptions, CandidateOptions):
    """Masks."""

    # With masks, after which may stand what is right: `[MASK]{word}`; those of standard input where
    # there are none.
    sentences: tuple[str, ...] = ()

    def check(self) -> None:
        super().check()
        for text in self.sentences:
            check_masks(text)


def check_masks(text: str) -> None:
    """Raises `UserError` for a text without a mask."""
    if MASK not in text:
        raise UserError(f"there is no {MASK} in {text!r}")


def task_class(task: str) -> "type[TaskInference]":
    """The class of one of `TASKS`: called with a checkpoint and settings it is a model, ready for
    the task."""
    module, _, name = TASKS[task].partition(":")
    return getattr(importlib.import_module(module), name)


def choose_task(loaded: "Checkpoint", task: str | None = None) -> str:
    """The task of a checkpoint: the one that is named, else the only one that it has a head for, of
    several that of `task.json`, and "features" where it has none.

    Raises:
      UserError: there is no such task, the checkpoint has no head for it, or has several and none
        is named.
    """
    if (task := FORMER_TASK_NAMES.get(task, task)) not in (None, *TASKS):
        raise unknown_choice("task", task, TASKS)
    checkpoint, kind = loaded.source.description, (loaded.task or {}).get("kind")
    classes = {name: task_class(name) for name in TASKS}
    # Tasks of a model without a row in `HEADS`: `task.json` alone names them.
    usable = [
        name
        for name, one in classes.items()
        if name == ENCODER_TASK or (one.head in loaded.heads if one.head else kind in one.kinds)
    ]
    if task is not None:
        if task not in usable:
            raise UserError(
                f"{checkpoint} has no head for --task={task}: it can be used for {', '.join(usable)}"
            )
        return task
    possible = [name for name in usable if name != ENCODER_TASK]
    if loaded.config.causal:
        # Its masked-LM head predicts the next token.
        possible = [name for name in possible if classes[name].head != "masked_lm"]
    chosen = [name for name in possible if kind in classes[name].kinds] or possible
    if len(chosen) > 1:
        raise UserError(
            f"{checkpoint} has heads for several tasks: choose one with --task={' or --task='.join(chosen)}"
        )
    others = [
        head
        for head in loaded.heads
        if head not in [one.head for one in classes.values()] and head != _NO_TASK
    ]
    if not chosen and others:
        raise UserError(
            f"{checkpoint} has a head for {', '.join(others)}, which is none of the tasks {', '.join(TASKS)}; "
            f"--task={ENCODER_TASK} takes the encoder alone"
        )
    return chosen[0] if chosen else ENCODER_TASK
