"""Questions and contexts → windows → answers, in a graph: `convert_examples_to_features` and `write_predictions`.

Input: tokens of `modeling/preprocessing/graph_tokenizer.py`. Output: the places of the answers in their contexts, from
the first character of the first token to the last one of the last token.
`bert_tf/tasks/question_answering/inference.py` runs the model between the two functions. The rules are those of
`data_gen/labelled/squad_features.py` and `bert_tf/evaluation/squad_answers.py`.

Letters: B questions, W windows, S tokens of the longest window, K the best starts and the best ends that are tried.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tasks.question_answering.settings import SquadSettings
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.preprocessing.graph_tokenizer import Tokens
from modeling.preprocessing.packing import column, features, padded


class Windows(NamedTuple):
  """[CLS] question [SEP] part of the context [SEP].

  Attributes:
    features: int32 "input_ids", "input_mask", "segment_ids", each [W, S].
    owners: int64 [W], the question, rising.
    context_tokens: int64 [W, S], number of the token among those of all contexts, -1 outside of the context.
    is_best: bool [W, S], whether no other window shows more context around the token: `_check_is_max_context`.
  """

  features: dict
  owners: tf.Tensor
  context_tokens: tf.Tensor
  is_best: tf.Tensor


class Answers(NamedTuple):
  """What was found.

  Attributes:
    start, end: int32 [B]; the answer is context[start:end], in characters; -1 where there is none.
    score: float32 [B], logit of the start plus logit of the end of the best span, also where it is not given as the
      answer; 0 where no span could be one.
    null_score_diff: float32 [B], the score of "no answer" minus `score`; 0 where no span could be an answer.
  """

  start: tf.Tensor
  end: tf.Tensor
  score: tf.Tensor
  null_score_diff: tf.Tensor


def make_windows(questions: tf.RaggedTensor, contexts: tf.RaggedTensor, settings: SquadSettings,
                 vocabulary: Vocabulary) -> Windows:
  """The windows of all questions; one without a token of the context where that has none.

  Args:
    questions, contexts: int32 [B, (tokens)].
  """
  questions = questions[:, :settings.max_query_length]
  room = settings.max_seq_length - 3 - questions.row_lengths()
  lengths = contexts.row_lengths()
  counts = 1 - tf.minimum(room - lengths, 0) // settings.doc_stride
  if settings.max_windows:
    counts = tf.minimum(counts, settings.max_windows)
  owners = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)
  first = tf.ragged.range(counts).values * settings.doc_stride
  sizes = tf.minimum(tf.gather(room, owners), tf.gather(lengths, owners) - first)
  starts = tf.gather(contexts.row_starts(), owners) + first
  numbers = tf.ragged.range(starts, starts + sizes)  # [W, (tokens of the context)]
  ids = numbers.with_flat_values(tf.gather(contexts.values, numbers.flat_values))
  queries = tf.gather(questions, owners)
  parts = [column(ids, vocabulary.cls_id), queries, column(ids, vocabulary.sep_id), ids, column(ids, vocabulary.sep_id)]
  is_best = _best_windows(numbers, tf.size(contexts.values, tf.int64))

  def placed(values: tf.RaggedTensor, nothing):
    """In the columns of `features`."""
    before = tf.fill([tf.reduce_sum(queries.row_lengths() + 2)], nothing)
    outside = tf.RaggedTensor.from_row_lengths(before, queries.row_lengths() + 2, validate=False)
    return padded(tf.concat([outside, values, column(values, nothing)], 1), nothing)

  return Windows(features(parts, 3, vocabulary), owners, placed(numbers, tf.constant(-1, tf.int64)),
                 placed(is_best, tf.constant(False)))


def choose_answers(windows: Windows, start_logits, end_logits, contexts: Tokens, settings: SquadSettings) -> Answers:
  """The best span of each question, `write_predictions` without its list of the n best."""
  nothing = tf.float32.min
  is_token = windows.features["input_mask"] > 0
  best = tf.minimum(settings.n_best_size, tf.shape(start_logits)[1])
  start_values, starts = tf.math.top_k(tf.where(is_token, start_logits, nothing), best)  # [W, K]
  end_values, ends = tf.math.top_k(tf.where(is_token, end_logits, nothing), best)
  start_tokens = tf.gather(windows.context_tokens, starts, batch_dims=1)
  end_tokens = tf.gather(windows.context_tokens, ends, batch_dims=1)
  start_is_right = (start_tokens >= 0) & tf.gather(windows.is_best, starts, batch_dims=1)
  length = end_tokens[:, None, :] - start_tokens[:, :, None] + 1  # [W, K, K]
  allowed = (start_is_right[:, :, None] & (end_tokens >= 0)[:, None, :] & (length >= 1)
             & (length <= settings.max_answer_length))
  scores = tf.where(allowed, start_values[:, :, None] + end_values[:, None, :], nothing)
  scores = tf.reshape(scores, [tf.shape(scores)[0], best * best])
  place = tf.argmax(scores, 1, tf.int32)  # [W]
  window_scores = tf.reduce_max(scores, 1)

  rows = contexts.ids.nrows()
  score = tf.math.unsorted_segment_max(window_scores, windows.owners, rows)  # [B]
  # Of equal windows the first.
  numbers = tf.range(tf.size(window_scores))
  is_chosen = tf.equal(window_scores, tf.gather(score, windows.owners))
  chosen = tf.math.unsorted_segment_min(tf.where(is_chosen, numbers, tf.int32.max), windows.owners, rows)
  found = score > nothing
  chosen = tf.where(found, chosen, 0)
  null = -tf.math.unsorted_segment_max(-(start_logits[:, 0] + end_logits[:, 0]), windows.owners, rows)
  score = tf.where(found, score, 0.0)
  null_score_diff = tf.where(found, null - score, 0.0)
  if settings.version_2_with_negative:
    found &= null_score_diff <= settings.null_score_diff_threshold
  found_at = tf.where(found)[:, 0]
  chosen = tf.gather(chosen, found_at)
  place = tf.gather(place, chosen)
  first = tf.gather_nd(start_tokens, tf.stack([chosen, place // best], 1))
  last = tf.gather_nd(end_tokens, tf.stack([chosen, place % best], 1))
  absent = tf.fill([rows], -1)
  return Answers(
      start=tf.tensor_scatter_nd_update(absent, found_at[:, None], tf.gather(contexts.starts, first)),
      end=tf.tensor_scatter_nd_update(absent, found_at[:, None], tf.gather(contexts.ends, last)),
      score=score, null_score_diff=null_score_diff)


def _best_windows(numbers: tf.RaggedTensor, tokens) -> tf.RaggedTensor:
  """Which window has the most context on both sides of a token: `_check_is_max_context`.

  The score is the smaller number of tokens to the left and to the right, plus 0.01 x the length of the window; the
  first of the best counts.

  Args:
    numbers: int64 [W, (tokens)], the tokens of the contexts in the windows.
    tokens: of all contexts.

  Returns:
    bool [W, (tokens)].
  """
  window = numbers.value_rowids()
  lengths = tf.gather(numbers.row_lengths(), window)
  left = tf.ragged.range(numbers.row_lengths()).values
  # In the precision and order of the original: windows of different lengths may tie but for the rounding.
  score = tf.cast(tf.minimum(left, lengths - 1 - left), tf.float64) + 0.01 * tf.cast(lengths, tf.float64)
  best = tf.math.unsorted_segment_max(score, numbers.values, tokens)
  candidates = tf.where(tf.equal(score, tf.gather(best, numbers.values)), window, tf.int64.max)
  first = tf.math.unsorted_segment_min(candidates, numbers.values, tokens)
  return numbers.with_values(tf.equal(window, tf.gather(first, numbers.values)))
