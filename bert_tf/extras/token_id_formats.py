"""What formats of token ids, ONNX and LiteRT, share: names, files that a client needs, what is
refused, and the score of an export on a development set beside that of the model: what quantization
costs.

  tokenizer.json, tokenizer_config.json,   the exact tokenizer; it truncates to the length of the
  fine-tuned run, and
    special_tokens_map.json, vocab.txt     pads
  config.json                              sizes, `id2label`

Names of inputs, outputs and files are those of Hugging Face's `optimum`, which clients of many
languages know. How a development set is read is in `flags.json` of the run directory that the model
is from; readers and metrics are those of the run script, so that scores are those of a run with
`--do_eval`.
"""

import dataclasses
import importlib
import os
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from bert_common import cli, json_files
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.evaluation.classification import softmax
from bert_tf.inference.export import (
    Arrays,
    ExportFormat,
    LoadedExport,
    Request,
    as_arrays,
    checked_inputs,
)
from bert_tf.inference.options import ExportOptions
from bert_tf.runs import provenance
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import FineTuningOptions
from bert_tf.tasks.classification.data import SCORES, SEVERAL_CLASSES
from bert_tf.tasks.inference import TaskInference
from bert_tf.tasks.question_answering.options import SETTINGS
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction, run_batches
from modeling.checkpoints.companion_files import BEST_DIRECTORY, FLAGS_FILE, write_companion_files
from modeling.checkpoints.huggingface import CONFIG_FILE, config_values
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.tokenizer_file import write_tokenizer
from modeling.checkpoints.weights import HEADS, weight_values
from modeling.config import BertConfig, with_label_names

# The only one.
SIGNATURE = "serving_default"
# Theirs → ours, in the order of `BertEncoder`'s arguments.
INPUTS = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
# Outputs of `FeatureInference`, and the vector of `predict` → names in the export.
_FEATURES = {
    "sequence_output": "last_hidden_state",
    "pooled_output": "pooler_output",
    "vector": "sentence_embedding",
}
# Of the score, where --max_score_loss is not given.
_MAX_SCORE_LOSS = 0.01
_BATCH_SIZE = 32
# Heads of which clients have to know the special tokens, in order to leave them out of their
# answers.
_TOKEN_HEADS = ("token_classification", "question_answering")
# Task → the name in the classes of its run's options and task, the option that names its
# development set, and that which has it read.
RUNS = {
    "classification": ("Classification", "dev_file", "do_eval"),
    "multiple_choice": ("MultipleChoice", "dev_file", "do_eval"),
    "question_answering": ("Squad", "predict_file", "do_predict"),
    "sentence_embedding": ("SentenceEmbedding", "dev_file", "do_eval"),
    "token_classification": ("TokenClassification", "dev_file", "do_eval"),
}
# What else a run reads or writes; how contexts are read and answers chosen is in `task.json`, as it
# was tuned.
_UNREAD = {
    "train_file",
    "test_file",
    "eval_files",
    "ensemble",
    "question",
    "context",
    "context_file",
    "feature_based",
    *SETTINGS,
}
Predict = Callable[[Examples], dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class ScoreLoss:
    """The main metric of a run, by the model and by its export, of a development set."""

    metric: str
    model: float
    export: float
    source: str

    @property
    def share(self) -> float:
        """The part of the model's score that is lost."""
        return (self.model - self.export) / abs(self.model) if self.model else 0.0

    def describe(self) -> str:
        """A line for the user."""
        return f"{self.metric} of {self.source}: {self.model:.4f}, of the export {self.export:.4f} ({0 - self.share:+.2%})"


class DevelopmentSet:
    """A development set, read as the run read it; raises `UserError` where no flags say how."""

    def __init__(
        self, options: ExportOptions, checkpoint: Checkpoint, task_name: str, task: TaskInference
    ):
        path = os.path.join(
            (checkpoint.source.directory if checkpoint.source else None) or "", FLAGS_FILE
        )
        flags = json_files.read_object(path, {"flags": dict | None}).get("flags")
        if task_name not in RUNS or not flags:
            raise UserError(
                f"no development set of {options.init_checkpoint} is known: it is no run directory of this task"
            )
        self.inference = task
        name, dev_option, ask = RUNS[task_name]
        options_class, run_class = run_classes(task_name, name)
        # Of the run's flags those that its development set is read by.
        unread = {one.name for one in declared_options(FineTuningOptions)} | _UNREAD
        values = {
            one.name: flags[one.name]
            for one in declared_options(options_class)
            if one.name not in unread
            and flags.get(one.name)
            not in (None, "", [], list(one.default or ()) if one.is_list else one.default)
        }
        given = {
            dev_option: options.dev_file,
            "data_dir": options.data_dir,
            **options.companions(),
            "max_seq_length": task.max_seq_length,
            ask: True,
            "init_checkpoint": options.init_checkpoint,
            "output_dir": options.export_dir,
        }
        values |= {key: value for key, value in given.items() if value is not None}
        words = [
            f"--{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in values.items()
        ]
        self.run_task = run_class(cli.parse(options_class, [FLAGS_FILE, *words]))
        if not self.run_task.can_evaluate:
            raise UserError(
                f"the run of {options.init_checkpoint} had no development set: give --dev_file"
            )
        self.source = next(
            path for name, path in self.run_task.data.files().items() if name != "train"
        )
        folder = os.path.dirname(path)
        known = provenance.read(
            os.path.dirname(folder) if os.path.basename(folder) == BEST_DIRECTORY else folder
        )["made_from"].get(provenance.DEV)
        if (
            known
            and not options.dev_file
            and known["digest"] != provenance.content_digest([self.source])
        ):
            raise UserError(
                f"{self.source} is not the development set that the run of {options.init_checkpoint} had: give "
                "one by --dev_file"
            )

    def measure(self, predict: Predict, batch_size: int) -> ScoreLoss:
        """The scores of the model and of its export, whose `predict` gives what
        `FineTuningTask.outputs` gives. Its batch size is reported, as rounding by the range of a
        batch makes answers depend on it."""
        task = self.run_task
        print(
            f"measuring {task.main_metric} of {self.source}, by the model and by the export",
            flush=True,
        )
        model = local_prediction(
            lambda features: task.outputs(self.inference.model, features),
            _BATCH_SIZE,
            lengths_for(task.description["max_seq_length"], few=False),
            task.token_outputs,
        )
        scores = [
            float(task.evaluate(predicting(task, one)).metrics[task.main_metric])
            for one in (model, predict)
        ]
        return ScoreLoss(
            str(task.main_metric), *scores, f"{self.source}, in batches of {batch_size}"
        )


def predicting(task: FineTuningTask, predict: Predict) -> types.SimpleNamespace:
    """What a task sees of its run (`Trainer`) where it only predicts."""
    return types.SimpleNamespace(
        description=task.description,
        weights_step=0,
        predict=lambda examples, advance=None: predict(examples),
    )


def run_classes(task_name: str, name: str) -> tuple[type[FineTuningOptions], type[FineTuningTask]]:
    """The options and the task of a run, by the name in their classes."""
    package = f"bert_tf.tasks.{task_name}"
    return (
        getattr(importlib.import_module(f"{package}.options"), f"{name}Options"),
        getattr(importlib.import_module(f"{package}.task"), f"{name}Task"),
    )


def as_task_outputs(head: str | None, outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs of an export, or of another library's model, as `FineTuningTask.outputs` names
    them."""
    if head == "multiple_choice":
        return {"scores": outputs["logits"][:, 0]}
    if head == "token_classification":
        return {"probabilities": softmax(outputs["logits"]).astype(np.float32)}
    if head is None:
        return {"vector": outputs["sentence_embedding"]}
    return dict(outputs)


class TokenIdFormat(ExportFormat):
    """A format of token ids, which are of type `dtype`."""

    takes_strings = False
    dtype: type = np.int64
    _development_set: DevelopmentSet | None = None

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        """As in `ExportFormat`; opens the development set of what is quantized."""
        what = (
            "a tagger on fixed activations"
            if task.head is None and task.kinds and task.vectors is None
            else (
                "a BiLSTM between encoder and head"
                if getattr(task.model, "bilstm", None) is not None
                else None
            )
        )
        if what:
            raise UserError(
                f"--format={self.options.format}: {what} can't be written: export it without --format"
            )
        if self.options.quantize != "none":
            try:
                self._development_set = DevelopmentSet(self.options, checkpoint, name, task)
            except UserError as error:
                if (
                    self.options.dev_file
                    or self.options.data_dir
                    or self.options.max_score_loss is not None
                ):
                    raise
                task.notes.append(
                    f"what --quantize={self.options.quantize} costs was not measured: {error}"
                )

    def inputs(self, task: TaskInference, features: Arrays) -> Arrays:
        """Features of ours, or those of a choice a row, by the names of the export."""
        shape = (-1, 1) if len(task.token_ids_shape) > features["input_ids"].ndim else (-1,)
        return {
            theirs: features[ours].reshape(*shape, *features[ours].shape[1:]).astype(self.dtype)
            for theirs, ours in INPUTS.items()
        }

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        features = task.reference_features(checked_inputs(task, texts)[1])
        return [Request(SIGNATURE, self.inputs(task, features), as_arrays(outputs(task, features)))]

    def batches(self, task: TaskInference) -> tuple[int, np.ndarray]:
        """Rows that the export is best given at once; and the lengths that they may be padded
        to."""
        return _BATCH_SIZE, lengths_for(task.max_seq_length, few=False)

    def measure(self, export: LoadedExport) -> ScoreLoss | None:
        """As in `ExportFormat`. Raises `UserError` where more is lost than --max_score_loss
        allows."""
        if self._development_set is None:
            return None
        run_task, task = self._development_set.run_task, self._development_set.inference
        batch_size, lengths = self.batches(task)
        loss = self._development_set.measure(
            lambda examples: run_batches(
                lambda batches: [
                    as_task_outputs(task.head, export.ask(SIGNATURE, self.inputs(task, batch)))
                    for batch in batches
                ],
                examples,
                batch_size,
                lengths,
                run_task.token_outputs,
            ),
            batch_size,
        )
        limit = (
            _MAX_SCORE_LOSS if self.options.max_score_loss is None else self.options.max_score_loss
        )
        # NaN, of a model that was damaged by rounding, is no small loss.
        if not loss.share <= limit:
            raise UserError(
                f"--quantize={self.options.quantize} costs more than --max_score_loss={limit:g} allows, and "
                f"nothing was written: {loss.describe()}"
            )
        return loss


def exported_config(task: TaskInference) -> BertConfig:
    """The model's configuration with the names of the task's classes, and the kind of problem where
    that matters."""
    config, labels = task.model.config, getattr(task, "labels", None)
    problem = (
        SEVERAL_CLASSES if getattr(task, "multi_label", False) else config.extra.get("problem_type")
    )
    if labels:
        return with_label_names(config, labels, problem)
    if task.head != "classification":
        return config
    # Or sentence-transformers and transformers take a sigmoid of the score.
    return dataclasses.replace(
        config,
        extra={
            **config.extra,
            "problem_type": SCORES,
            "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},
        },
    )


def exported_weights(task: TaskInference) -> dict[str, np.ndarray]:
    """Original name → array, of the encoder and the task's head; the model of pre-training has a
    head more."""
    others = {
        weight.original
        for head in HEADS.values()
        for weight in head.weights
        if head.name != task.head
    }
    return {
        name: value
        for name, value in weight_values(task.model).items()
        if name not in others and name not in task.load_report.newly_initialised
    }


def write_files(
    task: TaskInference,
    directory: str,
    shapes: Mapping[str, tuple[int, ...]],
    fixed_length: bool = False,
) -> None:
    """Writes the tokenizer and the configuration, of weights of these shapes by original names;
    batches are padded to their longest row, or to one fixed length."""
    tokenizer, config = task.tokenizer, exported_config(task)
    json_files.write(os.path.join(directory, CONFIG_FILE), config_values(config, shapes))
    settings = write_tokenizer(
        directory,
        tokenizer.vocabulary.path,
        tokenizer.do_lower_case,
        task.max_seq_length,
        fixed_length,
        task.special_tokens,
        listed=task.head in _TOKEN_HEADS,
    )
    write_companion_files(
        directory, config, tokenizer.vocabulary.path, tokenizer.do_lower_case, **settings
    )


def outputs(task: TaskInference, features: Mapping) -> dict:
    """The model's outputs by the names of the export, of int32 features by our names; see
    `onnx_graph.bert_model`."""
    features = {name: tf.convert_to_tensor(value) for name, value in features.items()}
    if task.head is None:
        (vector,) = task.model_outputs(features).values()
        ours = {**task.serve_token_ids(features), "vector": vector}
        return {theirs: ours[name] for name, theirs in _FEATURES.items() if name in ours}
    if task.head == "question_answering":
        return task.model_outputs(features)
    if task.head == "masked_lm":
        ids = features["input_ids"]
        everywhere = tf.zeros_like(ids) + tf.range(tf.shape(ids)[1])
        return {
            "logits": task.model({**features, "masked_lm_positions": everywhere})[
                "masked_lm_logits"
            ]
        }
    return {"logits": task.model(features)}
