"""TF-Hub's interface for text: a preprocessor and an encoder, with the names that TensorFlow's tutorials use.

Input: an encoder, with or without a masked-LM head. Output: two SavedModels for `hub.load` and `hub.KerasLayer`,

  preprocess    strings [B] → "input_word_ids", "input_mask" and "input_type_ids", int32 [B, S]
    .tokenize, .tokenize_with_offsets, .bert_pack_inputs, .tokenize.get_special_tokens_dict
  encoder       these → "default", "pooled_output", "sequence_output", "encoder_outputs"; its variables can be trained
    .mlm        these and "masked_lm_positions" → also "mlm_logits"

Source: tensorflow.org/hub/common_saved_model_apis/text, and the Model Garden's official/nlp/tools/export_tfhub_lib.py
for what that leaves open. The tokens are not theirs but those of the original.
"""

import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.export import CHECKED, Arrays, ExportFormat, Request, as_arrays
from bert_tf.inference.saved_model import concrete, describe_function
from bert_tf.tasks.inference import TaskInference, padded_features
from bert_tf.tasks.token_classification.word_graph import BASIC, find_words, token_kinds
from data_gen.labelled.pair_features import encode_pairs
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import POOLER, original_names
from modeling.dropout import DropoutStream
from modeling.encoder import BertEncoder
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, Tokens, column, features, first_of_rows

# Of the preprocessors on TF-Hub.
_SEQ_LENGTH = 128
# Our names → TF-Hub's.
_INPUTS = {"input_ids": "input_word_ids", "input_mask": "input_mask", "segment_ids": "input_type_ids"}
_IDS = {name: tf.TensorSpec([None, None], tf.int32, name) for name in _INPUTS.values()}
_POSITIONS = {"masked_lm_positions": tf.TensorSpec([None, None], tf.int32, "masked_lm_positions")}
_SENTENCES = tf.TensorSpec([None], tf.string, "sentences")

# The tasks whose models have names there: the encoder, with or without a masked-LM head.
_TASKS = ("features", "fill_mask")


class LoadedTfHub:
  """A preprocessor and an encoder as `hub.load` gives them, each with the functions that are called by name."""

  def __init__(self, directory: str):
    self._preprocess, self._encoder = (tf.saved_model.load(f"{directory}/{part}") for part in ("preprocess", "encoder"))
    signatures = {"preprocess": self._preprocess.signatures["serving_default"],
                  "encoder": self._encoder.signatures["serving_default"]}
    if "mlm" in self._encoder.signatures:
      signatures["encoder.mlm"] = self._encoder.signatures["mlm"]
    self.signatures = {name: describe_function(function) for name, function in signatures.items()}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    if signature == "preprocess":
      return {"pooled_output": self._encoder(self._preprocess(tensors["sentences"]))["pooled_output"].numpy()}
    outputs = dict((self._encoder.mlm if signature == "encoder.mlm" else self._encoder)(tensors))
    layers = outputs.pop("encoder_outputs")
    return as_arrays(outputs | {f"encoder_outputs_{number}": value for number, value in enumerate(layers)})


class TfHubFormat(ExportFormat):
  """`--api=tfhub`."""

  load = LoadedTfHub

  def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
    """As in `ExportFormat`; "[MASK]" in a text is brackets and a word, as on TF-Hub."""
    if name not in _TASKS:
      raise UserError(f"--api=tfhub is for the encoder, with --task={' or --task='.join(_TASKS)}, not with "
                      f"--task={name}: export that with --api=signatures, or the encoder alone with --task=features")
    if POOLER[0].original in task.load_report.newly_initialised:
      raise UserError(f"{task.load_report.description} has no pooler, and so no pooled_output, which --api=tfhub "
                      "promises: export it with --api=signatures")
    task.special_tokens = False
    # Compiled operations are not in the stock server.
    for layer in _encoder_of(task).layers:
      layer.fuses_activation = False

  def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
    preprocessor, signatures = _preprocessor(task.graph_tokenizer, task.vocabulary, self._seq_length(task))
    tf.saved_model.save(preprocessor, os.path.join(directory, "preprocess"), signatures=signatures)
    with tempfile.TemporaryDirectory() as folder:
      vocab_file = os.path.join(folder, "vocab.txt")
      with open(vocab_file, "w", encoding="utf-8") as file:
        file.writelines(f"{token}\n" for token in task.vocabulary.tokens)
      encoder, signatures = _encoder(task, vocab_file)
      tf.saved_model.save(encoder, os.path.join(directory, "encoder"), signatures=signatures)

  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    texts = texts[:CHECKED]
    encoded = encode_pairs(task.tokenizer, texts, None, self._seq_length(task))
    ids = padded_features({"input_ids": encoded.input_ids, "segment_ids": encoded.segment_ids}, encoded.row_lengths,
                          task.vocabulary)
    inputs = {theirs: ids[ours] for ours, theirs in _INPUTS.items()}
    outputs = _outputs(task, ids)
    layers = {f"encoder_outputs_{number}": value for number, value in enumerate(outputs.pop("encoder_outputs"))}
    expected = as_arrays(outputs | layers)
    strings = tf.constant(texts).numpy()
    requests = [Request("preprocess", {"sentences": strings}, {"pooled_output": expected["pooled_output"]}),
                Request("encoder", inputs, expected)]
    if task.head:
      positions = np.tile(np.int32([0, 1]), [len(texts), 1])
      logits = {"mlm_logits": _mlm_logits(task, outputs["sequence_output"], positions).numpy()}
      requests.append(Request("encoder.mlm", {**inputs, "masked_lm_positions": positions}, logits))
    return requests

  def _seq_length(self, task: TaskInference) -> int:
    return self.options.max_seq_length or min(_SEQ_LENGTH, task.max_seq_length)


def _callable(function) -> tf.train.Checkpoint:
  """An object that can be called when it is loaded, and can have others as attributes."""
  module = tf.train.Checkpoint()
  module.__call__ = function
  return module


def _preprocessor(tokenizer: GraphTokenizer, vocabulary: Vocabulary, seq_length: int
                  ) -> tuple[tf.train.Checkpoint, dict]:
  """The preprocessor, and its signatures."""
  kinds = token_kinds(vocabulary)

  def of_sentences(function):
    return _callable(tf.function(function, input_signature=[_SENTENCES], autograph=False))

  def bert_pack_inputs(inputs, seq_length=seq_length):
    segments = inputs if isinstance(inputs, list | tuple) else [inputs]
    return _pack(segments, segments[0].nrows(tf.int32), seq_length, vocabulary)

  @tf.function(input_signature=[_SENTENCES], autograph=False)
  def preprocess(sentences):
    return _pack([tokenizer(sentences).ids], tf.shape(sentences)[0], seq_length, vocabulary)

  root = _callable(preprocess)
  root.tokenize = of_sentences(lambda sentences: _by_word(sentences, tokenizer(sentences), kinds)[0])
  root.tokenize_with_offsets = of_sentences(lambda sentences: _by_word(sentences, tokenizer(sentences), kinds))
  ids = {"start_of_sequence_id": vocabulary.cls_id, "end_of_segment_id": vocabulary.sep_id,
         "padding_id": vocabulary.pad_id, "mask_id": vocabulary.mask_id, "vocab_size": vocabulary.size}
  root.tokenize.get_special_tokens_dict = _callable(tf.function(
      lambda: {name: tf.constant(value) for name, value in ids.items()}, input_signature=[], autograph=False))
  root.tokenize_with_offsets.get_special_tokens_dict = root.tokenize.get_special_tokens_dict
  pack = tf.function(bert_pack_inputs, autograph=False)
  for ragged_rank in (1, 2):
    segment = tf.RaggedTensorSpec([None] * (ragged_rank + 1), tf.int32)
    for segments in (1, 2):
      pack.get_concrete_function([segment] * segments, seq_length=tf.TensorSpec([], tf.int32, "seq_length"))
  root.bert_pack_inputs = _callable(pack)
  return root, {"serving_default": concrete(preprocess, {"sentences": _SENTENCES})}


def _by_word(sentences, tokens: Tokens, kinds: np.ndarray) -> list[tf.RaggedTensor]:
  """Ids int32, and of each token the first byte and the end in its text, int64; [B, (words), (pieces)] all."""
  rows = tokens.ids.value_rowids()
  words = find_words(tokens.ids.values, tokens.starts, tokens.ends, rows, kinds, BASIC)
  # With the length of the text as the end of its last character.
  first_bytes = tf.concat([tf.strings.unicode_decode_with_offsets(sentences, "UTF-8")[1],
                           tf.cast(tf.strings.length(sentences), tf.int64)[:, None]], 1)
  begins = tf.gather(first_bytes.row_starts(), rows)
  offsets = [tf.gather(first_bytes.values, begins + tf.cast(places, tf.int64))
             for places in (tokens.starts, tokens.ends)]
  word_rows = tf.RaggedTensor.from_value_rowids(words.tokens, words.rows, tokens.ids.nrows(), validate=False)
  # Of the batch's size, where that is known.
  splits = tf.reshape(word_rows.row_splits, [tf.shape(sentences)[0] + 1])
  return [tf.RaggedTensor.from_row_splits(tf.RaggedTensor.from_row_starts(values, words.tokens, validate=False), splits,
                                          validate=False)
          for values in (tokens.ids.values, *offsets)]


def _pack(segments: list[tf.RaggedTensor], rows, seq_length, vocabulary: Vocabulary) -> dict:
  """[CLS] a [SEP], or [CLS] a [SEP] b [SEP] even where b is empty, each of `seq_length` tokens.

  Args:
    segments: one or two of int32 [B, (tokens)] or [B, (words), (pieces)]. The longer loses its last token until both
      fit, the second if they are equally long: what "round robin" leaves.
    rows: B, int32 [], in a form of which TensorFlow knows the value where it is known.
  """
  segments = [segment if segment.shape.rank == 2 else segment.merge_dims(1, -1) for segment in segments]
  room = tf.cast(seq_length, tf.int64) - len(segments) - 1
  lengths = [segment.row_lengths() for segment in segments]
  if len(segments) == 1:
    most = [room]
  else:
    most = [tf.maximum(room - lengths[1], (room + 1) // 2), tf.maximum(room - lengths[0], room // 2)]
  parts = [column(segments[0], vocabulary.cls_id)]
  for segment, length, limit in zip(segments, lengths, most, strict=True):
    parts += [first_of_rows(segment, tf.minimum(length, limit)), column(segment, vocabulary.sep_id)]
  packed = features(parts, 3, vocabulary, seq_length)
  return {theirs: tf.reshape(packed[ours], [rows, seq_length]) for ours, theirs in _INPUTS.items()}


def _encoder(task: TaskInference, vocab_file: str) -> tuple[tf.train.Checkpoint, dict]:
  """The encoder, and its signatures."""
  # With the original's names, by which optimizers leave LayerNorm and biases out of weight decay.
  weights = {name: weight for name, weight in original_names(task.model).items()
             if name.startswith(("bert/", "cls/predictions/"))}
  variables = {name: tf.Variable(weight.value, name=name) for name, weight in weights.items()}
  mapping = [(weight, variables[name]) for name, weight in weights.items()]
  @tf.function(autograph=False)
  def encode(inputs, training=False):
    with keras.StatelessScope(state_mapping=mapping):
      return _outputs(task, {ours: inputs[theirs] for ours, theirs in _INPUTS.items()}, training)

  @tf.function(autograph=False)
  def mlm(inputs, training=False):
    outputs = encode({name: inputs[name] for name in _IDS}, training=training)
    with keras.StatelessScope(state_mapping=mapping):
      logits = _mlm_logits(task, outputs["sequence_output"], inputs["masked_lm_positions"])
    return {**{name: value for name, value in outputs.items() if name != "default"}, "mlm_logits": logits}

  root = _traced(encode, _IDS, [value for name, value in variables.items() if name.startswith("bert/")])
  root.vocab_file = tf.saved_model.Asset(vocab_file)
  root.do_lower_case = tf.Variable(task.tokenizer.do_lower_case, trainable=False)
  signatures = {"serving_default": _flat(encode, _IDS)}
  if task.head:
    root.mlm = _traced(mlm, {**_IDS, **_POSITIONS}, [*variables.values()])
    signatures["mlm"] = _flat(mlm, {**_IDS, **_POSITIONS})
  return root, signatures


def _traced(function, specifications: dict, variables: list[tf.Variable]) -> tf.train.Checkpoint:
  """A callable with what `hub.KerasLayer` reads: variables, and losses of which there are none."""
  for training in (False, True):
    function.get_concrete_function(specifications, training=training)
  module = _callable(function)
  module.variables, module.trainable_variables, module.regularization_losses = variables, list(variables), []
  return module


def _flat(function, specifications: dict):
  """A signature; what is no tensor, the list of the layers' outputs, is left out."""
  return concrete(lambda **inputs: {name: value for name, value in function(inputs, training=False).items()
                                    if name != "encoder_outputs"}, specifications)


def _encoder_of(task: TaskInference) -> BertEncoder:
  return task.model.encoder if task.head else task.model


def _outputs(task: TaskInference, ids: dict, training: bool = False) -> dict:
  """The encoder's outputs by TF-Hub's names."""
  dropout = None
  if training:
    # A stream of its own for every call: there is no step to take one from, and no state to keep.
    key = tf.random.uniform([1], tf.int64.min, tf.int64.max, tf.int64)
    dropout = DropoutStream(tf.bitcast(key, tf.uint64), tf.constant(0, tf.int64), is_compiled=False)
  outputs = _encoder_of(task)(ids, dropout=dropout)
  layers = [value for name, value in outputs.items() if name.startswith("encoder_layer_")]
  return {"default": outputs["pooled_output"], "pooled_output": outputs["pooled_output"],
          "sequence_output": outputs["sequence_output"], "encoder_outputs": layers}


def _mlm_logits(task: TaskInference, sequence_output, positions):
  """float32 [B, S, H], int32 [B, P] → float32 [B, P, V]."""
  return task.model.masked_lm(sequence_output, positions,
                              tf.convert_to_tensor(task.model.encoder.embeddings.word_embeddings))
