"""Predictions and exports of question answering: answers are parts of a context.

Input: a run directory of `run_squad.py`, or a model of others; `task.json` keeps how contexts are
read and answers chosen. Output: the answer with its position in the context and its score. The
graphs follow the rules of `data_gen/labeled/squad_features.py` and
`bert_tf/evaluation/squad_answers.py`; an answer extends from the first character of its first token
to the last one of its last token.

Letters: B questions, W windows, S tokens of the longest window, K best starts and best ends that
are tried.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.evaluation.squad_answers import Candidate, find_answers
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.tasks.question_answering.data import window_examples
from bert_tf.tasks.question_answering.options import KIND, SquadConfig, merge_settings
from bert_tf.training.examples import Examples
from data_gen.labeled.squad import Question, SquadData
from data_gen.labeled.squad_features import ContextTokens, Windows, make_windows
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import BertForQuestionAnswering
from modeling.preprocessing.graph_tokenizer import Tokens, column, features, padded

# Number of windows that go through the model together: the activations of all windows of a book
# would not fit the memory.
_WINDOWS_AT_ONCE = 32


class QuestionAnsweringInference(TaskInference):
    """Answers: {"answer", "start", "end", "probability", "nbest"} for a question and a context.

    The context may have any length. The answer is context[start:end]; "" and null if there is none.
    """

    head = "question_answering"
    kinds = (KIND,)
    default_length = SquadConfig.max_seq_length
    # Contexts are read in windows, whose length is no limit of an input.
    follows_tokenizer = False
    layouts = (("question", "context"),)
    text_inputs = ("question", "context")
    token_outputs = ("start_logits", "end_logits")

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        # The original's defaults are for 512 positions: reduce those that have no room.
        options = {**settings.chosen_settings, "max_seq_length": self.max_seq_length}
        # Options win over `task.json`, as in training.
        chosen_settings = merge_settings(options, loaded.task)
        self.settings = chosen_settings.limit_lengths(self.max_seq_length, options)
        self.settings.check_model(loaded.config)
        self._top_k = settings.top_k
        self.load(loaded, BertForQuestionAnswering(loaded.config))

    def check(self, value: object) -> tuple[str, ...]:
        texts = super().check(value)
        if not texts[0].strip():
            raise UserError("the question is empty")
        return texts

    def examples(self, inputs: list[tuple[str, str]]) -> Examples:
        """Returns the windows of all questions; a context without a token has none."""
        return window_examples(self._windows(inputs)[2])

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "start_logits" and "end_logits" [B, S]."""
        return dict(zip(self.token_outputs, self.model(features), strict=True))

    def predict(self, inputs: list[tuple[str, str]]) -> list[dict]:
        data, contexts, windows = self._windows(inputs)
        self.truncated += windows.num_truncated_questions + windows.num_cut_contexts
        if len(windows):
            logits = self.run(window_examples(windows))
        else:
            logits = dict.fromkeys(self.token_outputs, np.zeros(0, np.float32))
        all_answers = find_answers(
            data, contexts, windows, logits["start_logits"], logits["end_logits"], self.settings
        )
        results = []
        for answers in all_answers:
            result = _to_json(answers.choose(self.settings.null_score_diff_threshold), "answer")
            nbest = answers.nbest[: self._top_k]
            result["nbest"] = [_to_json(candidate, "text") for candidate in nbest]
            if answers.null_odds is not None:
                result["null_odds"] = to_json(answers.null_odds)
            results.append(result)
        return results

    def serve_texts(self, question, context) -> dict:
        """Signature "serving_default".

        Returns:
          string "answer" [B], "" if there is none; int32 "start" and "end" [B], the answer is
          context[start:end] in characters, -1 if there is none; float32 "score" and
          "null_score_diff" [B], see `GraphAnswers`.
        """
        # Replace invalid UTF-8 by one character: otherwise tokenizer and substr count differently.
        context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8")
        questions, contexts = self.tokenize(question, context)
        windows = windows_in_graph(questions.ids, contexts.ids, self.settings, self.vocabulary)
        start_logits, end_logits = self._window_logits(windows)
        answers = answers_in_graph(windows, start_logits, end_logits, contexts, self.settings)
        start = tf.maximum(answers.start, 0)
        length = tf.maximum(answers.end, 0) - start
        return {
            "answer": tf.strings.substr(context, start, length, unit="UTF8_CHAR"),
            "start": answers.start,
            "end": answers.end,
            "score": answers.score,
            "null_score_diff": answers.null_score_diff,
        }

    def _window_logits(self, windows: "GraphWindows") -> tuple:
        """Runs the model on some windows at a time: float32 [W, S] for starts and for ends."""
        num_windows = tf.shape(windows.features["input_ids"])[0]
        # Run at least once: without any question the outputs have no rows, but the right shape.
        num_batches = tf.maximum(-(-num_windows // _WINDOWS_AT_ONCE), 1)

        def add_batch(batch, start_arrays, end_arrays):
            rows = slice(batch * _WINDOWS_AT_ONCE, (batch + 1) * _WINDOWS_AT_ONCE)
            features = {name: values[rows] for name, values in windows.features.items()}
            start_logits, end_logits = self.model(features)
            start_arrays = start_arrays.write(batch, start_logits)
            end_arrays = end_arrays.write(batch, end_logits)
            return batch + 1, start_arrays, end_arrays

        arrays = [
            tf.TensorArray(tf.float32, num_batches, infer_shape=False, element_shape=[None, None])
            for _ in range(2)
        ]
        # Parallel iterations would need the memory that batches save.
        _, start_arrays, end_arrays = tf.while_loop(
            lambda batch, *_: batch < num_batches, add_batch, [0, *arrays], parallel_iterations=1
        )
        return start_arrays.concat(), end_arrays.concat()

    def _windows(self, inputs: list[tuple[str, str]]) -> tuple[SquadData, ContextTokens, Windows]:
        """Cuts contexts into windows; a context of several questions is tokenized once."""
        # Many requests ask several questions about one context.
        context_numbers: dict[str, int] = {}
        questions = []
        for number, (question, context) in enumerate(inputs):
            context_number = context_numbers.setdefault(context, len(context_numbers))
            questions.append(Question(str(number), question, context_number, (), False))
        data = SquadData(
            "", list(context_numbers), questions, has_answers=False, has_impossible=False
        )
        contexts, windows = make_windows(
            data, self.tokenizer, **self.settings.lengths(), training=False
        )
        return data, contexts, windows


def _to_json(candidate: Candidate, text_key: str) -> dict:
    """Returns a candidate for JSON, its text under `text_key`."""
    return {
        # The text of "no answer" is none of the context.
        text_key: "" if candidate.start is None else candidate.text,
        "start": candidate.start,
        "end": candidate.end,
        "probability": to_json(candidate.probability),
    }


class GraphWindows(NamedTuple):
    """Windows: [CLS] question [SEP] part of the context [SEP].

    Attributes:
      features: int32 "input_ids", "input_mask", "segment_ids", each [W, S].
      owners: int64 [W], the question of each window, ascending.
      context_tokens: int64 [W, S], number of the token among the tokens of all contexts, -1
        outside of the context.
      is_best: bool [W, S], whether no other window shows more context around the token:
        `_check_is_max_context`.
    """

    features: dict
    owners: tf.Tensor
    context_tokens: tf.Tensor
    is_best: tf.Tensor


class GraphAnswers(NamedTuple):
    """Answers to questions.

    Attributes:
      start, end: int32 [B]; the answer is context[start:end], in characters; -1 if there is none.
      score: float32 [B], logit of the start plus logit of the end of the best span, even if it is
        not the answer; 0 if no span is allowed.
      null_score_diff: float32 [B], the score of "no answer" minus `score`; 0 if no span is allowed.
    """

    start: tf.Tensor
    end: tf.Tensor
    score: tf.Tensor
    null_score_diff: tf.Tensor


def windows_in_graph(
    questions: tf.RaggedTensor,
    contexts: tf.RaggedTensor,
    settings: SquadConfig,
    vocabulary: Vocabulary,
) -> GraphWindows:
    """Cuts contexts into windows as `convert_examples_to_features` and `squad_features.py` do.

    A question whose context has no token has one window.

    Args:
      questions, contexts: int32 [B, (tokens)].
    """
    questions = questions[:, : settings.max_query_length]
    room = settings.max_seq_length - 3 - questions.row_lengths()
    context_lengths = contexts.row_lengths()
    # The tokens beyond the first window need ceil(tokens / doc_stride) more.
    counts = 1 - tf.minimum(room - context_lengths, 0) // settings.doc_stride
    if settings.max_windows:
        counts = tf.minimum(counts, settings.max_windows)
    owners = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)
    offsets = tf.ragged.range(counts).values * settings.doc_stride
    sizes = tf.minimum(tf.gather(room, owners), tf.gather(context_lengths, owners) - offsets)
    starts = tf.gather(contexts.row_starts(), owners) + offsets
    token_numbers = tf.ragged.range(starts, starts + sizes)  # [W, (tokens of the context)]
    ids = token_numbers.with_flat_values(tf.gather(contexts.values, token_numbers.flat_values))
    queries = tf.gather(questions, owners)
    cls_column = column(ids, vocabulary.cls_id)
    sep_column = column(ids, vocabulary.sep_id)
    # The context is part 3, from where segment 1 begins.
    packed = features([cls_column, queries, sep_column, ids, sep_column], 3, vocabulary)
    is_best = _is_max_context(token_numbers, tf.size(contexts.values, tf.int64))
    before = queries.row_lengths() + 2
    return GraphWindows(
        packed,
        owners,
        _in_columns(token_numbers, before, tf.constant(-1, tf.int64)),
        _in_columns(is_best, before, tf.constant(False)),
    )


def _is_max_context(token_numbers: tf.RaggedTensor, num_tokens) -> tf.RaggedTensor:
    """Finds the window with the most context around each token: `_check_is_max_context`.

    Args:
      token_numbers: int64 [W, (tokens of the context)], numbers among the tokens of all contexts.
      num_tokens: int64, the number of these.

    Returns:
      bool [W, (tokens of the context)].
    """
    # A window's score for a token is the smaller number of tokens to its left and right, plus 0.01
    # times the length of the window. Precision and order of the operations are the original's:
    # only rounding decides between some windows of different lengths.
    windows = token_numbers.value_rowids()
    lengths = tf.gather(token_numbers.row_lengths(), windows)
    left = tf.ragged.range(token_numbers.row_lengths()).values
    smaller = tf.cast(tf.minimum(left, lengths - 1 - left), tf.float64)
    scores = smaller + 0.01 * tf.cast(lengths, tf.float64)
    best_scores = tf.math.unsorted_segment_max(scores, token_numbers.values, num_tokens)
    # The first of equally good windows counts.
    is_candidate = tf.equal(scores, tf.gather(best_scores, token_numbers.values))
    candidates = tf.where(is_candidate, windows, tf.int64.max)
    best = tf.math.unsorted_segment_min(candidates, token_numbers.values, num_tokens)
    return token_numbers.with_values(tf.equal(windows, tf.gather(best, token_numbers.values)))


def _in_columns(values: tf.RaggedTensor, before, padding):
    """Puts values of context tokens into the columns of the features: [W, S].

    Args:
      before: int64 [W], number of columns before the context.
      padding: value of all other columns.
    """
    fill = tf.fill([tf.reduce_sum(before)], padding)
    left = tf.RaggedTensor.from_row_lengths(fill, before, validate=False)
    return padded(tf.concat([left, values, column(values, padding)], 1), padding)


def answers_in_graph(
    windows: GraphWindows, start_logits, end_logits, contexts: Tokens, settings: SquadConfig
) -> GraphAnswers:
    """Finds the best span of each question: `write_predictions` without its list of the n best."""
    lowest = tf.float32.min
    num_questions = contexts.ids.nrows()
    spans = _best_spans(windows, start_logits, end_logits, settings)
    # int64 [B] → the best window of each question; the first of equally good ones.
    scores = tf.math.unsorted_segment_max(spans.scores, windows.owners, num_questions)
    is_best = tf.equal(spans.scores, tf.gather(scores, windows.owners))
    window_numbers = tf.where(is_best, tf.range(tf.size(spans.scores)), tf.int32.max)
    best_windows = tf.math.unsorted_segment_min(window_numbers, windows.owners, num_questions)
    has_span = scores > lowest
    best_windows = tf.where(has_span, best_windows, 0)
    # The score of "no answer" is the lowest of all windows.
    null_scores = -tf.math.unsorted_segment_max(
        -(start_logits[:, 0] + end_logits[:, 0]), windows.owners, num_questions
    )
    scores = tf.where(has_span, scores, 0.0)
    null_score_diff = tf.where(has_span, null_scores - scores, 0.0)
    has_answer = has_span
    if settings.version_2_with_negative:
        has_answer &= null_score_diff <= settings.null_score_diff_threshold
    # Only questions with an answer have tokens to look up.
    answered = tf.where(has_answer)
    best_windows = tf.gather(best_windows, answered[:, 0])
    starts = tf.gather(contexts.starts, tf.gather(spans.start_tokens, best_windows))
    ends = tf.gather(contexts.ends, tf.gather(spans.end_tokens, best_windows))
    no_answer = tf.fill([num_questions], -1)
    return GraphAnswers(
        start=tf.tensor_scatter_nd_update(no_answer, answered, starts),
        end=tf.tensor_scatter_nd_update(no_answer, answered, ends),
        score=scores,
        null_score_diff=null_score_diff,
    )


class _Spans(NamedTuple):
    """Best span of each window.

    Attributes:
      scores: float32 [W], the lowest number if no span is allowed.
      start_tokens, end_tokens: int64 [W], numbers among the tokens of all contexts.
    """

    scores: tf.Tensor
    start_tokens: tf.Tensor
    end_tokens: tf.Tensor


def _best_spans(windows: GraphWindows, start_logits, end_logits, settings: SquadConfig) -> _Spans:
    """Combines the best starts and ends of each window to the best allowed span."""
    lowest = tf.float32.min
    is_token = windows.features["input_mask"] > 0
    num_best = tf.minimum(settings.n_best_size, tf.shape(start_logits)[1])
    start_logits, starts = tf.math.top_k(tf.where(is_token, start_logits, lowest), num_best)
    end_logits, ends = tf.math.top_k(tf.where(is_token, end_logits, lowest), num_best)
    start_tokens = tf.gather(windows.context_tokens, starts, batch_dims=1)  # [W, K]
    end_tokens = tf.gather(windows.context_tokens, ends, batch_dims=1)
    # A span begins where its window shows the most context around it.
    is_start = (start_tokens >= 0) & tf.gather(windows.is_best, starts, batch_dims=1)
    lengths = end_tokens[:, None, :] - start_tokens[:, :, None] + 1  # [W, K, K]
    is_allowed = is_start[:, :, None] & (end_tokens >= 0)[:, None, :]
    is_allowed &= (lengths >= 1) & (lengths <= settings.max_answer_length)
    scores = tf.where(is_allowed, start_logits[:, :, None] + end_logits[:, None, :], lowest)
    scores = tf.reshape(scores, [tf.shape(scores)[0], num_best * num_best])
    best = tf.argmax(scores, 1, tf.int32)  # [W]
    return _Spans(
        tf.reduce_max(scores, 1),
        tf.gather(start_tokens, best // num_best, batch_dims=1),
        tf.gather(end_tokens, best % num_best, batch_dims=1),
    )
