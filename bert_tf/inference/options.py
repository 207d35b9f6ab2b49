"""The options of `predict.py`, `export_model.py`, `extract_features.py` and `fill_mask.py`, and two
tables: the tasks that a trained model can be used for, a class each, and the formats of exports.

TensorFlow is imported only when a class is needed: `--help` and wrong flags answer at once. The
class of a task (`bert_tf/tasks/inference.py`) gets all `InferenceSettings` and reads those that
concern it.
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
    OUTPUT,
    Option,
    Options,
    declared_options,
    option,
    option_class,
    unknown_choice,
)
from bert_common.plugins import Plugins
from bert_tf.runs.options import CheckpointOptions, DeviceOptions
from bert_tf.tasks.options import delimiter_option
from bert_tf.tasks.question_answering.options import SquadConfig
from data_gen.labeled.row_formats import FORMATS as TABLE_FORMATS
from data_gen.labeled.row_formats import format_of
from modeling.checkpoints.companion_files import FORMER_TASK_NAMES
from modeling.config import POOLINGS

if TYPE_CHECKING:
    from bert_tf.tasks.inference import TaskInference
    from modeling.checkpoints.load import Checkpoint

MASK = "[MASK]"
# The options that read the input as a table.
_IS_TABLE = ("text_a_column",)
_TASKS_PACKAGE = "bert_tf.tasks"
# --task → module and subclass of `tasks.inference.TaskInference`.
TASKS = {
    "classification": f"{_TASKS_PACKAGE}.classification.inference:ClassificationInference",
    "multiple_choice": f"{_TASKS_PACKAGE}.multiple_choice.inference:MultipleChoiceInference",
    "question_answering": (
        f"{_TASKS_PACKAGE}.question_answering.inference:QuestionAnsweringInference"
    ),
    "sentence_embedding": (
        f"{_TASKS_PACKAGE}.sentence_embedding.inference:SentenceEmbeddingInference"
    ),
    "token_classification": (
        f"{_TASKS_PACKAGE}.token_classification.inference:TokenClassificationInference"
    ),
    "token_classification_from_features": (
        f"{_TASKS_PACKAGE}.token_classification.inference:FeatureTaggerInference"
    ),
    "fill_mask": "bert_tf.inference.fill_mask:MaskInference",
    "features": "bert_tf.inference.features:FeatureInference",
}
# The task that every checkpoint can be used for.
ENCODER_TASK = "features"
SIGNATURES = "signatures"
TFHUB = "tfhub"
# --format, or tfhub of --api → a subclass of `export.ExportFormat`.
FORMATS = Plugins(
    "export format",
    {
        "saved_model": "bert_tf.inference.saved_model:SavedModelFormat",
        TFHUB: "bert_tf.extras.tfhub:TfHubFormat",
        "onnx": "bert_tf.extras.onnx_format:OnnxFormat",
        "litert": "bert_tf.extras.litert_format:LiteRtFormat",
        "hub": "bert_tf.extras.hub:HubFormat",
    },
)


@option_class
class TrainedModelOptions(CheckpointOptions):
    """Checkpoint."""

    init_checkpoint: str = option(None, "Checkpoint in any format.", required=True, path=True)

    def companions(self) -> dict[str, str | bool | None]:
        """Returns the other arguments of `open_checkpoint`."""
        return {
            "bert_config_file": self.bert_config_file,
            "vocab_file": self.vocab_file,
            "do_lower_case": self.do_lower_case,
        }


@option_class
class InputOptions(Options):
    """Inputs."""

    max_seq_length: int | None = option(
        None,
        "Maximum number of tokens that the model sees at once. Longer inputs are truncated; "
        "contexts of questions are read in windows.",
        minimum=3,
        default_text="as it was fine-tuned; else 512, for question answering 384, for multiple "
        "choice and sentence embeddings 128, or as many as it has positions",
    )


@option_class
class CandidateOptions(Options):
    """Candidates."""

    top_k: int = option(
        5, "Number of candidates for each mask; of answers in nbest for questions.", minimum=1
    )


@option_class
class PoolingOptions(Options):
    """Vectors."""

    pooling: str | None = option(
        None,
        "Vector of a text: that of [CLS], or the mean or maximum over all tokens.",
        choices=POOLINGS,
        default_text="that of a directory of sentence-transformers; else mean",
    )


@option_class
class VectorOptions(PoolingOptions):
    """Vectors."""

    layer: int = option(-1, "Number of the layer, from 0; -1 is the last one.")


# Task → classes of options that not every task reads.
_OPTIONS_OF_TASK: dict[str, tuple[type[Options], ...]] = {
    "question_answering": (SquadConfig, CandidateOptions),
    "fill_mask": (CandidateOptions,),
    "features": (VectorOptions,),
}
# (task, option) that predictions read and exports do not.
_NOT_EXPORTED = {("question_answering", "top_k")}


def _option_names(cls: type[Options]) -> set[str]:
    return {declared.name for declared in declared_options(cls)}


def tasks_reading(name: str, exported: bool = False) -> list[str]:
    """Returns the tasks that read an option, for predictions or for an export; none if all do."""
    if name in _option_names(InputOptions):
        return []
    readers = []
    for task, classes in _OPTIONS_OF_TASK.items():
        is_read = any(name in _option_names(cls) for cls in classes)
        if is_read and not (exported and (task, name) in _NOT_EXPORTED):
            readers.append(task)
    return readers


@option_class
class InferenceSettings(InputOptions, CandidateOptions, VectorOptions, SquadConfig):
    """Batches."""

    batch_size: int = option(32, "Maximum number of inputs per batch.", minimum=1)

    def check_read_by(self, task: str, exported: bool = False) -> None:
        """Raises `UserError` for an option that the task, or its export, does not read."""
        # Earlier versions had other names for some tasks, which old command lines still use.
        task = FORMER_TASK_NAMES.get(task, task)
        for name in sorted(self.given):
            readers = tasks_reading(name, exported)
            if readers and task not in readers:
                raise UserError(
                    f"--{name} is not read with --task={task}, only with "
                    f"--task={' or --task='.join(readers)}: leave it out"
                )


@option_class
class TaskOptions(Options):
    """Task."""

    task: str | None = option(
        None,
        "Task of the model; needed only if it has heads for several. --help beside it lists the "
        "flags of this task.",
        choices=tuple(TASKS),
        former_choices=FORMER_TASK_NAMES,
    )
    # Whether the script exports.
    exported = False

    @classmethod
    def options_in_help(cls, flag_values: Mapping[str, object]) -> list[Option]:
        """Returns the options of all tasks, then those that only some tasks read; with --task only
        those that it reads."""
        common = []
        special = []
        for declared in declared_options(cls):
            readers = tasks_reading(declared.name, cls.exported)
            if not readers:
                common.append(declared)
            elif flag_values.get("task") in (None, *readers):
                group = f"With --task={' or --task='.join(readers)}."
                special.append(dataclasses.replace(declared, group=group))
        return common + sorted(special, key=lambda declared: declared.group)


@option_class
class FileOptions(TrainedModelOptions):
    """Files."""

    input_file: str = option("-", "File with one input per line; - is standard input.", path=FILE)
    output_file: str = option(
        "-",
        "File for JSON lines, which appears when it is complete; - is standard output. A table is "
        "answered by a table if the name ends in .csv.",
        path=OUTPUT,
    )

    def check(self) -> None:
        super().check()
        if self.input_file != "-":
            files.check_readable(self.input_file, "input_file")
        if self.output_file == "-":
            outputs.check_standard_output("--output_file=-")


@option_class
class TableOptions(Options):
    """Table."""

    text_a_column: str | None = option(
        None,
        "Column or key of the text, if --input_file is a table; a number, from 0, for a file "
        "without a header.",
    )
    text_b_column: str | None = option(
        None, "Column of the second text of a pair.", only_with=_IS_TABLE
    )
    id_column: str | None = option(
        None,
        "Column that identifies a row in JSON lines.",
        default_text="the number of the row, from 0",
        only_with=_IS_TABLE,
    )
    file_format: str = option(
        "auto",
        "Format of the table. auto: by its extension.",
        choices=TABLE_FORMATS,
        only_with=_IS_TABLE,
    )
    delimiter: str | None = delimiter_option(_IS_TABLE)


@option_class
class PredictOptions(FileOptions, TableOptions, TaskOptions, InferenceSettings):
    """Predictions."""

    @property
    def reads_table(self) -> bool:
        """Whether the input is a table, not one input per line."""
        return self.text_a_column is not None

    @property
    def writes_csv(self) -> bool:
        """Whether a table is written with all its columns; else JSON lines are."""
        return format_of(self.output_file) == "csv"

    def check(self) -> None:
        super().check()
        # A CSV file would be answered line by line, its header as a text.
        if not self.reads_table and format_of(self.input_file) == "csv":
            raise UserError(
                f"--input_file={self.input_file} is a table: give --text_a_column, the column with "
                "the text"
            )
        if self.writes_csv and not self.reads_table:
            raise UserError(
                f"--output_file={self.output_file}: CSV is written for a table only: give "
                "--text_a_column, or a name that ends with .jsonl"
            )
        if self.reads_table and self.input_file == "-":
            raise UserError("--text_a_column needs --input_file, the table")
        if self.task:
            self.check_read_by(self.task)


_QUANTIZED_FORMATS = ("hub", "onnx", "litert")
_SCORE_LOSS_OPTIONS = ("dev_file", "data_dir", "max_score_loss")
# Option → the formats that read it, if not all do. A SavedModel alone contains the search for
# answers and candidates.
_READ_BY_FORMATS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_option_names(SquadConfig) - _option_names(InputOptions), ("saved_model",)),
    "top_k": ("saved_model",),
    "api": ("saved_model", TFHUB),
    "quantize": _QUANTIZED_FORMATS,
    "pooling": _QUANTIZED_FORMATS,
    **dict.fromkeys(_SCORE_LOSS_OPTIONS, _QUANTIZED_FORMATS),
}


@option_class
class ExportOptions(
    TaskOptions, TrainedModelOptions, InputOptions, CandidateOptions, PoolingOptions, SquadConfig
):
    """Export."""

    exported = True
    export_dir: str = option(
        None, "Directory of the export; it must not exist.", required=True, path=True
    )
    format: str = option(
        "saved_model",
        "saved_model: takes strings, for TensorFlow. hub: one directory for transformers, "
        "sentence-transformers, transformers.js, fastembed and others, with an ONNX model. onnx: "
        "that model alone, of token ids, with a tokenizer.json. litert: the same for phones, one "
        "text of --max_seq_length tokens at a time.",
        choices=tuple(name for name in FORMATS.targets if name != TFHUB),
    )
    quantize: str = option(
        "none",
        "Type of the weights. float16: half the size, for GPUs. int8: a quarter, for CPUs, with a "
        "scale per column; activations are rounded in each call.",
        choices=("none", "float16", "int8"),
    )
    dev_file: str | None = option(
        None,
        "Development set on which the loss of score by quantization is measured.",
        path=FILE,
        default_text="that of the run",
    )
    data_dir: str | None = option(
        None,
        "Directory with the development set, if the run read one.",
        path=DIRECTORY,
        default_text="that of the run",
    )
    max_score_loss: float | None = option(
        None,
        "Maximum share of its score that the model may lose by quantization; nothing is written "
        "if it loses more.",
        minimum=0,
        maximum=1,
        default_text="0.01",
    )
    api: str = option(
        SIGNATURES,
        "Names of inputs and outputs. signatures: strings to answers, for TensorFlow Serving and "
        "Keras. tfhub: a preprocessor (128 tokens, or --max_seq_length) and a trainable encoder, "
        "as on TF-Hub.",
        choices=(SIGNATURES, TFHUB),
    )

    def check(self) -> None:
        super().check()
        files.refuse_existing(self.export_dir, "export_dir")
        for name in sorted(self.given & _READ_BY_FORMATS.keys()):
            formats = _READ_BY_FORMATS[name]
            if self.format_name not in formats:
                # tfhub is no value of --format.
                readers = " or ".join(formats).removesuffix(f" or {TFHUB}")
                flag = "--api=tfhub" if self.format_name == TFHUB else f"--format={self.format}"
                raise UserError(
                    f"--{name} is not read with {flag}, only with --format={readers}: leave it out"
                )
        if self.quantize == "none":
            # Nothing is measured where nothing is rounded.
            for name in sorted(self.given.intersection(_SCORE_LOSS_OPTIONS)):
                raise UserError(
                    f"--{name} is for the cost of quantization: add --quantize=int8, or leave it "
                    "out"
                )
        # The checkpoint decides if there is no --task, and the check follows when it is open.
        if self.task:
            self.settings().check_read_by(self.task, self.exported)

    @property
    def format_name(self) -> str:
        """The name in `FORMATS`."""
        # The two flags name one format: TF-Hub's interface is made of SavedModels.
        if self.api == TFHUB and self.format == "saved_model":
            return TFHUB
        return self.format

    def settings(self) -> InferenceSettings:
        """Returns the settings of the task."""
        # An export fixes some settings of predictions, which have no flag here.
        names = _option_names(InferenceSettings) & _option_names(ExportOptions)
        values = {name: getattr(self, name) for name in names}
        return InferenceSettings(**values, given=self.given)


@option_class
class ExtractOptions(FileOptions, DeviceOptions):
    """Features."""

    input_file: str = option(
        None, "File with one example per line; - is standard input.", required=True, path=FILE
    )
    output_file: str = option(
        None,
        "File for JSON lines, or for arrays if its name ends with .npz.",
        required=True,
        path=OUTPUT,
    )
    layers: tuple[int, ...] = option(
        (-1, -2, -3, -4), "Numbers of the layers, from 0; -1 is the last one."
    )
    pooling: str = option(
        "none",
        "Vectors of a line. none: one per token. cls: that of [CLS] only. mean, max: over all "
        "tokens.",
        choices=("none", *POOLINGS),
    )
    max_seq_length: int = option(
        128, "Maximum number of tokens; longer lines are truncated.", minimum=3
    )
    batch_size: int = option(32, "Number of lines per batch, on all devices together.", minimum=1)
    distribution_strategy: str = option(
        "auto",
        "Devices to compute on. auto: a TPU if one is named, else all GPUs.",
        choices=("auto", "none", "mirrored", "tpu"),
    )
    precision: str = option(
        "float32",
        "Precision of the matrix products.",
        choices=("auto", "float32", "tf32", "bfloat16", "float16"),
    )
    use_one_hot_embeddings: bool = option(
        False, "Accepted for old command lines: the result is the same."
    )

    def check(self) -> None:
        super().check()
        if self.output_file.lower().endswith(".npz.gz"):
            raise UserError(f"--output_file={self.output_file}: arrays are written as .npz only")


@option_class
class FillMaskOptions(TrainedModelOptions, CandidateOptions):
    """Masks."""

    # Texts with masks; without any, lines of standard input are read.
    sentences: tuple[str, ...] = ()

    def check(self) -> None:
        super().check()
        outputs.check_standard_output("fill_mask.py")
        for text in self.sentences:
            check_masks(text)


def check_masks(text: str) -> None:
    """Raises `UserError` for a text without a mask."""
    if MASK not in text:
        raise UserError(f"there is no {MASK} in {text!r}")


def task_class(task: str) -> "type[TaskInference]":
    """Imports the class of one of `TASKS`; an instance is made of a checkpoint and settings."""
    # Imported here, since the classes need TensorFlow.
    module, _, name = TASKS[task].partition(":")
    return getattr(importlib.import_module(module), name)


def choose_task(loaded: "Checkpoint", task: str | None = None) -> str:
    """Chooses the task of a checkpoint.

    By default it is the only one that the checkpoint has a head for, of several the one in
    `task.json`, and "features" for a checkpoint without a head.

    Raises:
      UserError: there is no such task, the checkpoint has no head for it, or has several and none
        is named.
    """
    task = FORMER_TASK_NAMES.get(task, task)
    if task is not None and task not in TASKS:
        raise unknown_choice("task", task, TASKS)
    usable = _usable_tasks(loaded)
    checkpoint = loaded.source.description
    if task is not None:
        if task not in usable:
            trained = ", as it is only pre-trained" if is_only_pretrained(loaded) else ""
            raise UserError(
                f"{checkpoint} has no head for --task={task}{trained}: it can be used for "
                f"{', '.join(usable)}"
            )
        return task
    # A head says more about the purpose of a checkpoint than its encoder.
    usable.remove(ENCODER_TASK)
    if loaded.config.causal and "fill_mask" in usable:
        # The masked-LM head of a left-to-right model predicts the next token.
        usable.remove("fill_mask")
    kind = loaded.task_settings.get("kind")
    # A run writes its task into `task.json`, which decides between several heads.
    of_kind = [name for name in usable if kind in task_class(name).kinds]
    candidates = of_kind or usable
    if len(candidates) > 1:
        raise UserError(
            f"{checkpoint} has heads for several tasks: choose one with "
            f"--task={' or --task='.join(candidates)}"
        )
    if candidates:
        return candidates[0]
    return ENCODER_TASK


def is_only_pretrained(loaded: "Checkpoint") -> bool:
    """Whether a checkpoint has not been trained for any task, nor for vectors of texts."""
    others = set(_usable_tasks(loaded)) - {ENCODER_TASK, "fill_mask"}
    return not others and loaded.vectors is None


def _usable_tasks(loaded: "Checkpoint") -> list[str]:
    """Returns the tasks that a checkpoint can be used for."""
    kind = loaded.task_settings.get("kind")
    usable = []
    for name in TASKS:
        cls = task_class(name)
        # Tasks without a row in `HEADS` are named by `task.json` alone.
        has_head = cls.head in loaded.heads if cls.head else kind in cls.kinds
        if name == ENCODER_TASK or has_head:
            usable.append(name)
    return usable
