"""What is exported for each task: from strings to answers, and from token ids to what the network says.

Each class has the two functions that become signatures of a SavedModel:

  serve_texts       strings → outputs; the tokenizer is in the graph
  serve_token_ids   input_ids, input_mask, segment_ids → outputs

Every output has the batch as its first dimension, as TensorFlow Serving wants it.

After `modeling/preprocessing/packing.py` and `tasks/question_answering/window_graph.py`; `inference/export.py` makes SavedModels of them.
"""

import tensorflow as tf

from data_gen.tokenization.tokenizer import Tokenizer
from modeling.classification import BertForClassification
from modeling.encoder import BertEncoder
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, Tokens
from modeling.preprocessing.packing import pack
from modeling.pretraining import BertForPreTraining
from modeling.question_answering import BertForQuestionAnswering
from tasks.question_answering.window_graph import SpanSettings, choose_answers, make_windows

# Windows that go through the network together: a book as context must not need the memory of all of them at once.
_WINDOWS_AT_ONCE = 32

_IDS = {name: tf.TensorSpec([None, None], tf.int32, name) for name in ("input_ids", "input_mask", "segment_ids")}


class Server:
  """What all tasks have in common.

  Args:
    model: with its weights.
    tokenizer: vocabulary and casing; `self.tokenizer` is the same for the graph.
    max_seq_length: longer inputs are truncated or, for answers, read in windows.
    special_tokens: recognise "[MASK]" and the like in texts.

  Attributes:
    inputs: names of the strings that `serve_texts` takes.
  """

  inputs: tuple[str, ...] = ("text",)

  def __init__(self, model, tokenizer: Tokenizer, max_seq_length: int, special_tokens: bool = False):
    self.max_seq_length = max_seq_length
    self.tokenizer = GraphTokenizer(tokenizer.vocabulary, tokenizer.do_lower_case, special_tokens)
    self._model = model
    self._vocabulary = tokenizer.vocabulary

  def serve_texts(self, *texts) -> dict:
    """string [B] for each of `inputs` → outputs."""
    raise NotImplementedError

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """int32 [B, S] each → outputs."""
    raise NotImplementedError

  def save(self, directory: str) -> None:
    """Writes the SavedModel with the signatures "serving_default" (strings) and "token_ids".

    Raises:
      tf.errors.OpError: it can't be written.
    """
    strings = {name: tf.TensorSpec([None], tf.string, name) for name in self.inputs}
    signatures = {"serving_default": _concrete(self.serve_texts, strings),
                  "token_ids": _concrete(self.serve_token_ids, _IDS)}
    # A plain root: a Keras model would bring along its functions, and variables that these signatures don't need.
    root = tf.Module()
    variables = {variable.ref(): variable for function in signatures.values() for variable in function.variables}
    root.weights = list(variables.values())
    tf.saved_model.save(root, directory, signatures=signatures)

  def _pack(self, *texts) -> dict:
    """One or two string [B] → features."""
    tokens = self._tokenize(*texts)
    return pack(tokens[0].ids, tokens[1].ids if len(tokens) > 1 else None, self.max_seq_length, self._vocabulary)

  def _tokenize(self, *texts) -> list[Tokens]:
    """Tokens of each of several string [B]; in one go, as every operation costs as much as a short text."""
    tokens = self.tokenizer(tf.concat(texts, 0))
    split = tf.shape(texts[0])[0]
    if len(texts) == 1:
      return [tokens]
    at = tokens.ids.row_splits[split]
    return [Tokens(tokens.ids[:split], tokens.starts[:at], tokens.ends[:at]),
            Tokens(tokens.ids[split:], tokens.starts[at:], tokens.ends[at:])]


class FeatureServer(Server):
  """Vectors of tokens and of texts.

  Args:
    model: a `BertEncoder`.
    has_pooler: its pooler is trained.
  """

  def __init__(self, model: BertEncoder, tokenizer: Tokenizer, max_seq_length: int, has_pooler: bool):
    super().__init__(model, tokenizer, max_seq_length)
    self._has_pooler = has_pooler

  def serve_texts(self, text) -> dict:
    """As `serve_token_ids`, and "input_ids" and "input_mask", int32 [B, S]."""
    features = self._pack(text)
    return {**self.serve_token_ids(**features), "input_ids": features["input_ids"],
            "input_mask": features["input_mask"]}

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """float32 "sequence_output" [B, S, H], "mean_output" [B, H] (the mean over all tokens, [CLS] and [SEP] included)
    and, with a pooler, "pooled_output" [B, H]."""
    outputs = self._model(input_ids, input_mask, segment_ids)
    weights = tf.cast(input_mask, tf.float32)[:, :, None]  # [B, S, 1]
    mean = tf.reduce_sum(outputs["sequence_output"] * weights, 1) / tf.maximum(tf.reduce_sum(weights, 1), 1.0)
    pooled = {"pooled_output": outputs["pooled_output"]} if self._has_pooler else {}
    return {"sequence_output": outputs["sequence_output"], "mean_output": mean, **pooled}


class ClassifierServer(Server):
  """Classes, or scores, of texts or pairs.

  Args:
    labels: names of the classes; none for regression.
    pair: there are two texts.
  """

  def __init__(self, model: BertForClassification, tokenizer: Tokenizer, max_seq_length: int, labels: list[str],
               pair: bool):
    super().__init__(model, tokenizer, max_seq_length)
    self.inputs = ("text_a", "text_b") if pair else ("text_a",)
    self._labels = labels

  def serve_texts(self, text_a, text_b=None) -> dict:
    """As `serve_token_ids`; an empty `text_b` counts as none."""
    return self.serve_token_ids(**self._pack(*(text for text in (text_a, text_b) if text is not None)))

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """float32 "probabilities" [B, C], string "label" [B] (the likeliest) and "labels" [B, C] (all, the same in every
    row); for regression float32 "score" [B]."""
    logits = self._model({"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})
    if not self._labels:
      return {"score": logits[:, 0]}
    labels = tf.constant(self._labels)
    return {"probabilities": tf.nn.softmax(logits), "label": tf.gather(labels, tf.argmax(logits, 1)),
            "labels": tf.tile(labels[None], [tf.shape(logits)[0], 1])}


class FillMaskServer(Server):
  """The likeliest tokens for every [MASK].

  Args:
    top_k: candidates for each.
  """

  def __init__(self, model: BertForPreTraining, tokenizer: Tokenizer, max_seq_length: int, top_k: int):
    super().__init__(model, tokenizer, max_seq_length, special_tokens=True)
    self._tokens = tokenizer.vocabulary.tokens
    self._top_k = min(top_k, len(self._tokens))

  def serve_texts(self, text) -> dict:
    """As `serve_token_ids`."""
    return self.serve_token_ids(**self._pack(text))

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """For P masks in the row that has most of them, from left to right: string "tokens" [B, P, top_k], the likeliest
    first, and float32 "probabilities" [B, P, top_k]; rows with fewer masks end with "" and 0. And int32 "mask_count"
    [B]."""
    features = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
    is_mask = tf.equal(input_ids, self._vocabulary.mask_id) & (input_mask > 0)
    counts = tf.math.count_nonzero(is_mask, 1, dtype=tf.int64)
    columns = tf.RaggedTensor.from_row_lengths(tf.where(is_mask)[:, 1], counts, validate=False)
    positions = columns.to_tensor()  # [B, P]
    exists = tf.ones_like(columns, tf.bool).to_tensor()[:, :, None]
    logits = self._model.masked_lm(self._model.encode(features)["sequence_output"], positions,
                                   tf.convert_to_tensor(self._model.encoder.embeddings.word_embeddings))
    best = tf.math.top_k(tf.nn.softmax(logits), self._top_k)  # [B, P, top_k]
    return {"tokens": tf.where(exists, tf.gather(tf.constant(self._tokens), best.indices), ""),
            "probabilities": tf.where(exists, best.values, 0.0), "mask_count": tf.cast(counts, tf.int32)}


class AnswerServer(Server):
  """Answers to questions, cut out of contexts.

  Args:
    settings: how contexts are read and answers chosen.
  """

  inputs = ("question", "context")

  def __init__(self, model: BertForQuestionAnswering, tokenizer: Tokenizer, settings: SpanSettings):
    super().__init__(model, tokenizer, settings.max_seq_length)
    self.settings = settings

  def serve_texts(self, question, context) -> dict:
    """string "answer" [B], "" where there is none; int32 "start" and "end" [B], the answer is context[start:end] in
    characters, -1 where there is none; float32 "score" and "null_score_diff" [B], see `windows.Answers`."""
    # Bytes that are no UTF-8 become one character here, so that all who count characters agree.
    context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8")
    questions, contexts = self._tokenize(question, context)
    windows = make_windows(questions.ids, contexts.ids, self.settings, self._vocabulary)
    start_logits, end_logits = self._in_portions(windows.features)
    answers = choose_answers(windows, start_logits, end_logits, contexts, self.settings)
    start = tf.maximum(answers.start, 0)
    text = tf.strings.substr(context, start, tf.maximum(answers.end, 0) - start, unit="UTF8_CHAR")
    return {"answer": text, "start": answers.start, "end": answers.end, "score": answers.score,
            "null_score_diff": answers.null_score_diff}

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """float32 "start_logits" and "end_logits" [B, S]."""
    start_logits, end_logits = self._model(
        {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})
    return {"start_logits": start_logits, "end_logits": end_logits}

  def _in_portions(self, features: dict) -> tuple:
    """Logits of all windows, float32 [W, S] each."""
    # At least one, though there may be no question: the outputs then have no rows.
    portions = tf.maximum(-(-tf.shape(features["input_ids"])[0] // _WINDOWS_AT_ONCE), 1)

    def logits_of(index, *found):
      rows = slice(index * _WINDOWS_AT_ONCE, (index + 1) * _WINDOWS_AT_ONCE)
      logits = self._model({name: values[rows] for name, values in features.items()})
      return index + 1, *(array.write(index, values) for array, values in zip(found, logits, strict=True))

    arrays = [tf.TensorArray(tf.float32, portions, infer_shape=False, element_shape=[None, None]) for _ in range(2)]
    # One after the other, or the memory is needed after all.
    _, *arrays = tf.while_loop(lambda index, *_: index < portions, logits_of, [0, *arrays], parallel_iterations=1)
    return tuple(array.concat() for array in arrays)


def _concrete(function, specifications: dict):
  return tf.function(function, autograph=False).get_concrete_function(**specifications)
