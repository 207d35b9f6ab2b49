"""What formats of token ids, ONNX and LiteRT, share: names, the files that a client needs, what is refused, scores.

  tokenizer.json, tokenizer_config.json,   the exact tokenizer; it truncates to the length of the fine-tuned run, and
    special_tokens_map.json, vocab.txt     pads
  config.json                              sizes, `id2label`

Names of inputs, outputs and files are those of Hugging Face's `optimum`, which clients of many languages know.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras import export_scores
from bert_tf.inference.export import Arrays, ExportFormat, LoadedExport, Request, as_arrays, checked_inputs
from bert_tf.tasks.classification.data import SCORES, SEVERAL_CLASSES
from bert_tf.tasks.inference import TaskInference
from bert_tf.training.examples import lengths_for
from bert_tf.training.prediction import run_batches
from modeling.checkpoints.companion_files import write_companion_files
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
_FEATURES = {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output", "vector": "sentence_embedding"}
# Of the score, where --max_score_loss is not given.
_MAX_SCORE_LOSS = 0.01
_BATCH_SIZE = 32
# Heads of which clients have to know the special tokens, in order to leave them out of their answers.
_TOKEN_HEADS = ("token_classification", "question_answering")


class TokenIdFormat(ExportFormat):
  """A format of token ids.

  Attributes:
    dtype: of the ids.
  """

  takes_strings = False
  dtype: type = np.int64
  _development_set: export_scores.DevelopmentSet | None = None

  def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
    """As in `ExportFormat`; opens the development set of what is quantized."""
    what = "a tagger on fixed activations" if task.head is None and task.kinds and task.vectors is None else (
        "a BiLSTM between encoder and head" if getattr(task.model, "bilstm", None) is not None else None)
    if what:
      raise UserError(f"--format={self.options.format}: {what} can't be written: export it without --format")
    if self.options.quantize != "none":
      try:
        self._development_set = export_scores.DevelopmentSet(self.options, checkpoint, name, task)
      except UserError as error:
        if self.options.dev_file or self.options.data_dir or self.options.max_score_loss is not None:
          raise
        task.notes.append(f"what --quantize={self.options.quantize} costs was not measured: {error}")

  def inputs(self, task: TaskInference, features: Arrays) -> Arrays:
    """Features of ours, or those of a choice a row, by the names of the export."""
    shape = (-1, 1) if len(task.token_ids_shape) > features["input_ids"].ndim else (-1,)
    return {theirs: features[ours].reshape(*shape, *features[ours].shape[1:]).astype(self.dtype)
            for theirs, ours in INPUTS.items()}

  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    features = task.reference_features(checked_inputs(task, texts)[1])
    return [Request(SIGNATURE, self.inputs(task, features), as_arrays(outputs(task, features)))]

  def batches(self, task: TaskInference) -> tuple[int, np.ndarray]:
    """Rows that the export is best given at once; and the lengths that they may be padded to."""
    return _BATCH_SIZE, lengths_for(task.max_seq_length, few=False)

  def measure(self, export: LoadedExport) -> export_scores.ScoreLoss | None:
    """As in `ExportFormat`. Raises `UserError` where more is lost than --max_score_loss allows."""
    if self._development_set is None:
      return None
    run_task, task = self._development_set.run_task, self._development_set.inference

    def ask(batches: Iterable[Mapping]) -> list[dict[str, np.ndarray]]:
      return [export_scores.as_task_outputs(task.head, export(SIGNATURE, self.inputs(task, batch)))
              for batch in batches]

    batch_size, lengths = self.batches(task)
    loss = self._development_set.measure(
        lambda examples: run_batches(ask, examples, batch_size, lengths, run_task.token_outputs), batch_size)
    limit = _MAX_SCORE_LOSS if self.options.max_score_loss is None else self.options.max_score_loss
    # NaN, of a model that was damaged by rounding, is no small loss.
    if not loss.share <= limit:
      raise UserError(f"--quantize={self.options.quantize} costs more than --max_score_loss={limit:g} allows, and "
                      f"nothing was written: {loss.describe()}")
    return loss


def exported_config(task: TaskInference) -> BertConfig:
  """The model's configuration with the names of the task's classes, and the kind of problem where that matters."""
  config, labels = task.model.config, getattr(task, "labels", None)
  problem = SEVERAL_CLASSES if getattr(task, "multi_label", False) else config.extra.get("problem_type")
  if labels:
    return with_label_names(config, labels, problem)
  if task.head != "classification":
    return config
  # Or sentence-transformers and transformers take a sigmoid of the score.
  return dataclasses.replace(config, extra={**config.extra, "problem_type": SCORES, "sentence_transformers": {
      "activation_fn": "torch.nn.modules.linear.Identity"}})


def exported_weights(task: TaskInference) -> dict[str, np.ndarray]:
  """Original name → array, of the encoder and the task's head; the model of pre-training has a head more."""
  others = {weight.original for head in HEADS.values() for weight in head.weights if head.name != task.head}
  return {name: value for name, value in weight_values(task.model).items()
          if name not in others and name not in task.load_report.newly_initialised}


def write_files(task: TaskInference, directory: str, shapes: Mapping[str, tuple[int, ...]], fixed_length: bool = False
                ) -> None:
  """Writes the tokenizer and the configuration.

  Args:
    shapes: of the weights, by their original names.
    fixed_length: whether the model takes rows of one length only; else batches are padded to their longest row.
  """
  tokenizer, config = task.tokenizer, exported_config(task)
  json_files.write(os.path.join(directory, CONFIG_FILE), config_values(config, shapes))
  settings = write_tokenizer(directory, tokenizer.vocabulary.path, tokenizer.do_lower_case, task.max_seq_length,
                             fixed_length, task.special_tokens, listed=task.head in _TOKEN_HEADS)
  write_companion_files(directory, config, tokenizer.vocabulary.path, tokenizer.do_lower_case, **settings)


def outputs(task: TaskInference, features: Mapping) -> dict:
  """The model's outputs by the names of the export, of int32 features by our names; see `onnx_graph.bert_model`."""
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
    return {"logits": task.model({**features, "masked_lm_positions": everywhere})["masked_lm_logits"]}
  return {"logits": task.model(features)}
