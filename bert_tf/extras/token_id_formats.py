"""Parts that the formats of token ids, ONNX and LiteRT, share: names, the files that a client
needs, and the cost of quantization: the score of an export on a development set beside the model's.

- tokenizer.json, tokenizer_config.json, special_tokens_map.json, vocab.txt: the exact tokenizer,
  which truncates to the length of the fine-tuned run and pads
- config.json: sizes, `id2label`

Inputs, outputs and files have the names of Hugging Face's `optimum`, which clients in many
languages know. The development set is read as `flags.json` of the model's run directory says, by
the readers and metrics of the run script, so that a run with `--do_eval` has the same scores.
"""

import dataclasses
import importlib
import os
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from bert_common import cli, json_files
from bert_common.errors import UserError, say
from bert_common.options import as_flag, declared_options
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
from bert_tf.runs import contents, provenance
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import FineTuningOptions
from bert_tf.tasks.classification.checkpoint_classes import SCORES, SEVERAL_CLASSES
from bert_tf.tasks.inference import TaskInference
from bert_tf.tasks.question_answering.options import SETTINGS
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction, run_batches
from data_gen.labeled.pair_features import START
from modeling.checkpoints.companion_files import BEST_DIRECTORY, FLAGS_FILE, write_companion_files
from modeling.checkpoints.huggingface import CONFIG_FILE, config_values
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.tokenizer_file import write_tokenizer
from modeling.checkpoints.weights import HEADS, weight_values
from modeling.config import BertConfig, with_label_names

# The name of the only signature.
SIGNATURE = "serving_default"
# Names of the export → ours, in the order of `BertEncoder`'s arguments.
INPUTS = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
_MAX_SCORE_LOSS = 0.01
_BATCH_SIZE = 32
# Clients leave special tokens out of the answers of these heads, so they have to be listed.
_TOKEN_HEADS = ("token_classification", "question_answering")


class RunNames(NamedTuple):
    """Names that differ between the scripts: in the classes of options and task, of the option with
    the development set, and of the option that has it read."""

    class_name: str
    dev_option: str
    read_option: str


RUNS = {
    "classification": RunNames("Classification", "dev_file", "do_eval"),
    "multiple_choice": RunNames("MultipleChoice", "dev_file", "do_eval"),
    "question_answering": RunNames("Squad", "predict_file", "do_predict"),
    "sentence_embedding": RunNames("SentenceEmbedding", "dev_file", "do_eval"),
    "token_classification": RunNames("TokenClassification", "dev_file", "do_eval"),
}
# Flags of a run that don't change how its development set is read. How contexts are read and
# answers chosen is in `task.json`, as it was tuned.
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


@dataclasses.dataclass(frozen=True)
class ScoreLoss:
    """The main metric of a run on a development set, of the model and of its export."""

    metric: str
    model: float
    export: float
    source: str

    @property
    def share(self) -> float:
        """The share of the model's score that is lost."""
        if not self.model:
            return 0.0
        return (self.model - self.export) / abs(self.model)

    def describe(self) -> str:
        """Returns a line for the user."""
        return (
            f"{self.metric} of {self.source}: {self.model:.4f}, of the export {self.export:.4f} "
            f"({0 - self.share:+.2%})"
        )


def development_task(
    options: ExportOptions, checkpoint: Checkpoint, task_name: str, max_seq_length: int
) -> FineTuningTask:
    """Returns the task of the run that a checkpoint is from, with the development set read.

    Raises:
      UserError: the checkpoint is from no run of this task, or its development set is missing or
        has changed.
    """
    directory = (checkpoint.source.directory if checkpoint.source else None) or ""
    flags_file = os.path.join(directory, FLAGS_FILE)
    flags = json_files.read_object(flags_file, {"flags": dict | None}).get("flags")
    if task_name not in RUNS or not flags:
        raise UserError(
            f"no development set of {options.init_checkpoint} is known: it is no run directory of "
            "this task"
        )
    # The flags are parsed again as a command line, which checks them and adds defaults.
    names = RUNS[task_name]
    options_class, task_class = run_classes(task_name, names.class_name)
    values = _reading_flags(options_class, flags)
    changes = {
        names.dev_option: options.dev_file,
        "data_dir": options.data_dir,
        **options.companions(),
        "max_seq_length": max_seq_length,
        names.read_option: True,
        "init_checkpoint": options.init_checkpoint,
        "output_dir": options.export_dir,
    }
    for name, value in changes.items():
        if value is not None:
            values[name] = value
    words = [FLAGS_FILE]
    for name, value in values.items():
        words.append(f"--{name}={as_flag(value)}")
    make_task: Callable[..., FineTuningTask] = task_class
    run_task = make_task(cli.parse(options_class, words))
    if not run_task.can_evaluate:
        raise UserError(
            f"the run of {options.init_checkpoint} had no development set: give --dev_file"
        )
    # Best weights are in a directory below the run's.
    if os.path.basename(directory) == BEST_DIRECTORY:
        directory = os.path.dirname(directory)
    # A file of the same name may have other contents now, and scores would not be comparable.
    recorded = provenance.read(directory)["made_from"].get(provenance.DEV)
    if recorded and not options.dev_file:
        source = development_file(run_task)
        if recorded["digest"] != contents.content_digest([source]):
            raise UserError(
                f"{source} is not the development set that the run of {options.init_checkpoint} "
                "had: give one by --dev_file"
            )
    return run_task


def _reading_flags(
    options_class: type[FineTuningOptions], flags: Mapping[str, object]
) -> dict[str, object]:
    """Returns those flags of a run that its development set is read by."""
    unread = {declared.name for declared in declared_options(FineTuningOptions)} | _UNREAD
    values = {}
    for declared in declared_options(options_class):
        value = flags.get(declared.name)
        default = (
            list(() if declared.default is None else declared.default)
            if declared.is_list
            else declared.default
        )
        if declared.name not in unread and value not in (None, "", [], default):
            values[declared.name] = value
    return values


def development_file(run_task: FineTuningTask) -> str:
    """Returns the path of the development set of a run."""
    paths = dict(run_task.data.files())
    paths.pop("train", None)
    return next(iter(paths.values()))


def predicting(
    task: FineTuningTask, predict: Callable[[Examples], dict[str, np.ndarray]]
) -> types.SimpleNamespace:
    """Returns the attributes of a run that a task reads when it only predicts."""
    # A whole run would need its directory, checkpoints and devices.
    return types.SimpleNamespace(
        weights=types.SimpleNamespace(description=task.description, step=0),
        predict=lambda examples, advance=None: predict(examples),
    )


def run_classes(task_name: str, name: str) -> tuple[type[FineTuningOptions], type[FineTuningTask]]:
    """Returns the options and the task of a run, by the name in their classes."""
    # Imported here, since a task brings along all that its training needs.
    package = f"bert_tf.tasks.{task_name}"
    return (
        getattr(importlib.import_module(f"{package}.options"), f"{name}Options"),
        getattr(importlib.import_module(f"{package}.task"), f"{name}Task"),
    )


def as_task_outputs(head: str | None, outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Renames outputs of an export, or of another library's model, as `FineTuningTask.outputs`
    does."""
    # Examples of multiple choice are single choices: the second axis has size 1.
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
    # The task of the run, if the cost of quantization is to be measured.
    _run_task: FineTuningTask | None = None

    def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
        """Refuses models without an equivalent, and reads the development set if the export is
        quantized."""
        # Clients of these formats know BERT with a head, and nothing between them.
        problem = ""
        if task.head is None and task.kinds and task.vectors is None:
            problem = "a tagger on fixed activations"
        elif getattr(task.model, "bilstm", None) is not None:
            problem = "a BiLSTM between encoder and head"
        if problem:
            raise UserError(
                f"--format={self.options.format}: {problem} can't be written: export it without "
                "--format"
            )
        self._task = task
        options = self.options
        if options.quantize != "none":
            try:
                self._run_task = development_task(options, checkpoint, name, task.max_seq_length)
            except UserError as error:
                # Only a user who asked for a measurement has to have one.
                if options.dev_file or options.data_dir or options.max_score_loss is not None:
                    raise
                task.notes.append(
                    f"what --quantize={options.quantize} costs was not measured: {error}"
                )

    def inputs(self, task: TaskInference, features: Arrays) -> Arrays:
        """Renames features as the export does; rows of one choice each get an axis of choices."""
        if len(task.token_ids_shape) > features["input_ids"].ndim:
            shape = [-1, 1]
        else:
            shape = [-1]
        inputs = {}
        for name, feature in INPUTS.items():
            values = features[feature]
            inputs[name] = values.reshape(*shape, *values.shape[1:]).astype(self.dtype)
        return inputs

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        features = task.reference_features(checked_inputs(task, texts)[1])
        return [Request(SIGNATURE, self.inputs(task, features), as_arrays(outputs(task, features)))]

    def batches(self, task: TaskInference) -> tuple[int, np.ndarray]:
        """Returns the batch size that suits the export, and the lengths to pad rows to."""
        return _BATCH_SIZE, lengths_for(task.max_seq_length, few=False)

    def measure(self, export: LoadedExport) -> ScoreLoss | None:
        """Measures the score; raises `UserError` if it loses more than --max_score_loss allows."""
        if self._run_task is None:
            return None
        task = self._task
        run_task = self._run_task
        metric = str(run_task.main_metric)
        source = development_file(run_task)
        say(f"measuring {metric} of {source}, by the model and by the export")
        predict_by_model = local_prediction(
            lambda features: run_task.outputs(task.model, features),
            _BATCH_SIZE,
            lengths_for(run_task.description["max_seq_length"], few=False),
            run_task.token_outputs,
        )
        batch_size, lengths = self.batches(task)

        def outputs_of(batches: list[Arrays]) -> list[dict[str, np.ndarray]]:
            results = []
            for batch in batches:
                answer = export.ask(SIGNATURE, self.inputs(task, batch))
                results.append(as_task_outputs(task.head, answer))
            return results

        def predict_by_export(examples: Examples) -> dict[str, np.ndarray]:
            return run_batches(outputs_of, examples, batch_size, lengths, run_task.token_outputs)

        # Both are scored by the code of the run, so that only the outputs can differ.
        model = run_task.evaluate(predicting(run_task, predict_by_model))
        exported = run_task.evaluate(predicting(run_task, predict_by_export))
        loss = ScoreLoss(
            metric,
            float(model.metrics[metric]),
            float(exported.metrics[metric]),
            # Activations are rounded by the range of their batch, so scores depend on its size.
            f"{source}, in batches of {batch_size}",
        )
        if self.options.max_score_loss is None:
            limit = _MAX_SCORE_LOSS
        else:
            limit = self.options.max_score_loss
        # A model that rounding has damaged may give NaN, which is no small loss.
        if not loss.share <= limit:
            raise UserError(
                f"--quantize={self.options.quantize} costs more than --max_score_loss={limit:g} "
                f"allows, and nothing was written: {loss.describe()}"
            )
        return loss


def exported_config(task: TaskInference) -> BertConfig:
    """Returns the model's configuration with the names of the task's classes, and the kind of
    problem where it matters."""
    config = task.model.config
    labels = getattr(task, "labels", None)
    if labels:
        # Clients choose softmax or sigmoid by this entry.
        if getattr(task, "multi_label", False):
            problem = SEVERAL_CLASSES
        else:
            problem = config.extra.get("problem_type")
        return with_label_names(config, labels, problem)
    # A re-ranker's own activation is in its configuration already.
    if task.head != "classification" or task.has_sigmoid:
        return config
    # By default sentence-transformers and transformers take a sigmoid of a single score.
    identity = {"activation_fn": "torch.nn.modules.linear.Identity"}
    extra = {**config.extra, "problem_type": SCORES, "sentence_transformers": identity}
    return dataclasses.replace(config, extra=extra)


def exported_weights(task: TaskInference) -> dict[str, np.ndarray]:
    """Returns original name → array, for the encoder and the task's head."""
    # A model from pre-training has the head of next-sentence prediction as well.
    unused = set(task.load_report.newly_initialized)
    for head in HEADS.values():
        if head.name != task.head:
            unused.update(weight.original for weight in head.weights)
    return {name: value for name, value in weight_values(task.model).items() if name not in unused}


def write_files(
    task: TaskInference,
    directory: str,
    weights: Mapping[str, np.ndarray],
    fixed_length: bool = False,
) -> None:
    """Writes the tokenizer and the configuration.

    Args:
      weights: original name → array; the configuration has their sizes.
      fixed_length: pads every row to the length of the task, instead of to the longest row.
    """
    tokenizer = task.tokenizer
    config = exported_config(task)
    shapes = {name: value.shape for name, value in weights.items()}
    values = config_values(config, shapes, tokenizer.vocabulary.pad_id)
    json_files.write(os.path.join(directory, CONFIG_FILE), values)
    # The length of the fine-tuned run is in these files, so that clients truncate as it did.
    settings = write_tokenizer(
        directory,
        tokenizer.vocabulary.path,
        tokenizer.do_lower_case,
        task.max_seq_length,
        fixed_length,
        task.special_tokens,
        listed=task.head in _TOKEN_HEADS,
        is_left=task.truncation == START,
    )
    write_companion_files(
        directory, config, tokenizer.vocabulary.path, tokenizer.do_lower_case, **settings
    )


def outputs(task: TaskInference, features: Mapping) -> dict:
    """Computes the model's outputs by the names of the export, see `onnx_graph.bert_model`.

    Args:
      features: int32 features by our names.
    """
    features = tf.nest.map_structure(tf.convert_to_tensor, dict(features))
    if task.head is None:
        values = task.serve_token_ids(features)
        (vector,) = task.model_outputs(features).values()
        renamed = {"sentence_embedding": vector}
        # Models for sentence embeddings serve their vector alone, and some encoders have no pooler.
        if "sequence_output" in values:
            renamed["last_hidden_state"] = values["sequence_output"]
        if "pooled_output" in values:
            renamed["pooler_output"] = values["pooled_output"]
        return renamed
    if task.head == "question_answering":
        return task.model_outputs(features)
    if task.head == "masked_lm":
        # Logits at every token, not only at masks.
        ids = features["input_ids"]
        positions = tf.zeros_like(ids) + tf.range(tf.shape(ids)[1])
        scores = task.model({**features, "masked_lm_positions": positions})
        return {"logits": scores["masked_lm_logits"]}
    return {"logits": task.model(features)}
