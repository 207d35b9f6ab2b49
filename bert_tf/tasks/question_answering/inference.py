"""Answers to questions, cut out of contexts, with a trained model: predictions, and the graphs of
an export.

Input: a run directory of `run_squad.py`, or a model of others; `task.json` keeps how contexts are
read and answers chosen. Output: the answer with its place in the context and its score. In a graph
the rules are those of `data_gen/labelled/squad_features.py` and
`bert_tf/evaluation/squad_answers.py`; an answer stands in its context from the first character of
its first token to the last one of its last token.

Letters: B questions, W windows, S tokens of the longest window, K the best starts and the best ends
that are tried.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.evaluation.squad_answers import Candidate, find_answers
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.tasks.question_answering.data import window_examples
from bert_tf.tasks.question_answering.options import KIND, SquadSettings, choose_settings
from bert_tf.training.examples import Examples
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import ContextTokens, Windows, make_windows
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import BertForQuestionAnswering
from modeling.preprocessing.graph_tokenizer import Tokens, column, features, padded

# Windows that go through the model together: a book as context must not need the memory of all of
# them at once.
_WINDOWS_AT_ONCE = 32


class QuestionAnsweringInference(TaskInference):
    """{"answer", "start", "end", "probability", "nbest"} of a question and a context, which may be
    of any length.

    The answer is context[start:end]; "" and null where there is none.
    """

    head = "question_answering"
    kinds = (KIND,)
    default_length = SquadSettings.max_seq_length
    layouts = (("question", "context"),)
    text_inputs = ("question", "context")
    token_outputs = ("start_logits", "end_logits")

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        # As given, else as in the fine-tuned run, else the original's defaults as far as there is
        # room for them.
        given = {**settings.given_settings, "max_seq_length": self.max_seq_length}
        self.settings = choose_settings(given, loaded.task).fitted(self.max_seq_length, given)
        self.settings.check_model(loaded.config)
        self._top_k = settings.top_k
        self.load(loaded, BertForQuestionAnswering(loaded.config))

    def check(self, value: object) -> tuple[str, ...]:
        texts = super().check(value)
        if not texts[0].strip():
            raise UserError("the question is empty")
        return texts

    def examples(self, inputs: list[tuple[str, str]]) -> Examples:
        """The windows of all questions; none of those whose context has no token."""
        return window_examples(self._windows(inputs)[2])

    def model_outputs(self, features: dict) -> dict:
        """float32 "start_logits" and "end_logits" [B, S]."""
        return dict(zip(self.token_outputs, self.model(features), strict=True))

    def predict(self, inputs: list[tuple[str, str]]) -> list[dict]:
        data, contexts, windows = self._windows(inputs)
        self.truncated += windows.num_truncated_questions + windows.num_cut_contexts
        logits = dict.fromkeys(self.token_outputs, np.zeros(0, np.float32))
        if len(windows):
            logits = self.run(window_examples(windows))
        results = []
        for found in find_answers(
            data, contexts, windows, logits["start_logits"], logits["end_logits"], self.settings
        ):
            chosen = _candidate(found.choose(self.settings.null_score_diff_threshold))
            result = {
                "answer": chosen.pop("text"),
                **chosen,
                "nbest": [_candidate(candidate) for candidate in found.nbest[: self._top_k]],
            }
            results.append(
                result
                if found.null_odds is None
                else {**result, "null_odds": to_json(found.null_odds)}
            )
        return results

    def serve_texts(self, question, context) -> dict:
        """string "answer" [B], "" where there is none; int32 "start" and "end" [B], the answer is
        context[start:end] in characters, -1 where there is none; float32 "score" and
        "null_score_diff" [B], see `GraphAnswers`."""
        # Bytes that are no UTF-8 become one character here, so that all who count characters agree.
        context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8")
        questions, contexts = self.tokenize(question, context)
        windows = windows_in_graph(questions.ids, contexts.ids, self.settings, self.vocabulary)
        # At least once, though there may be no question: the outputs then have no rows.
        turns = tf.maximum(-(-tf.shape(windows.features["input_ids"])[0] // _WINDOWS_AT_ONCE), 1)

        def logits_of(turn, *found):
            rows = slice(turn * _WINDOWS_AT_ONCE, (turn + 1) * _WINDOWS_AT_ONCE)
            logits = self.model({name: values[rows] for name, values in windows.features.items()})
            return turn + 1, *(
                array.write(turn, values) for array, values in zip(found, logits, strict=True)
            )

        arrays = [
            tf.TensorArray(tf.float32, turns, infer_shape=False, element_shape=[None, None])
            for _ in range(2)
        ]
        # One turn at a time, or the memory is needed after all.
        _, *arrays = tf.while_loop(
            lambda turn, *_: turn < turns, logits_of, [0, *arrays], parallel_iterations=1
        )
        start_logits, end_logits = (array.concat() for array in arrays)
        answers = answers_in_graph(windows, start_logits, end_logits, contexts, self.settings)
        start = tf.maximum(answers.start, 0)
        text = tf.strings.substr(
            context, start, tf.maximum(answers.end, 0) - start, unit="UTF8_CHAR"
        )
        return {
            "answer": text,
            "start": answers.start,
            "end": answers.end,
            "score": answers.score,
            "null_score_diff": answers.null_score_diff,
        }

    def _windows(self, inputs: list[tuple[str, str]]) -> tuple[SquadData, ContextTokens, Windows]:
        numbers: dict[str, int] = {}
        questions = [
            Question(str(number), question, numbers.setdefault(context, len(numbers)), (), False)
            for number, (question, context) in enumerate(inputs)
        ]
        data = SquadData("", list(numbers), questions, has_answers=False, has_impossible=False)
        return data, *make_windows(data, self.tokenizer, **self.settings.lengths(), training=False)


def _candidate(candidate: Candidate) -> dict:
    text = "" if candidate.start is None else candidate.text
    return {
        "text": text,
        "start": candidate.start,
        "end": candidate.end,
        "probability": to_json(candidate.probability),
    }


class GraphWindows(NamedTuple):
    """[CLS] question [SEP] part of the context [SEP].

    Attributes:
      features: int32 "input_ids", "input_mask", "segment_ids", each [W, S].
      owners: int64 [W], the question, rising.
      context_tokens: int64 [W, S], number of the token among those of all contexts, -1 outside of
        the context.
      is_best: bool [W, S], whether no other window shows more context around the token:
        `_check_is_max_context`.
    """

    features: dict
    owners: tf.Tensor
    context_tokens: tf.Tensor
    is_best: tf.Tensor


class GraphAnswers(NamedTuple):
    """An answer to each question.

    Attributes:
      start, end: int32 [B]; the answer is context[start:end], in characters; -1 where there is
        none.
      score: float32 [B], logit of the start plus logit of the end of the best span, also where it
        is not given as the answer; 0 where no span could be one.
      null_score_diff: float32 [B], the score of "no answer" minus `score`; 0 where no span could be
        an answer.
    """

    start: tf.Tensor
    end: tf.Tensor
    score: tf.Tensor
    null_score_diff: tf.Tensor


def windows_in_graph(
    questions: tf.RaggedTensor,
    contexts: tf.RaggedTensor,
    settings: SquadSettings,
    vocabulary: Vocabulary,
) -> GraphWindows:
    """The windows of all questions, as `convert_examples_to_features` makes them, by
    `squad_features.py`'s rules.

    A question whose context has no token has one window.

    Args:
      questions, contexts: int32 [B, (tokens)].
    """
    questions = questions[:, : settings.max_query_length]
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
    parts = [
        column(ids, vocabulary.cls_id),
        queries,
        column(ids, vocabulary.sep_id),
        ids,
        column(ids, vocabulary.sep_id),
    ]
    # `_check_is_max_context`: the score of a window for a token is the smaller number of tokens to
    # its left and right, plus 0.01 x the length of the window, in the precision and order of the
    # original: windows of different lengths may tie but for the rounding. The first of the best
    # counts.
    window, tokens = numbers.value_rowids(), tf.size(contexts.values, tf.int64)
    lengths = tf.gather(numbers.row_lengths(), window)
    left = tf.ragged.range(numbers.row_lengths()).values
    score = tf.cast(tf.minimum(left, lengths - 1 - left), tf.float64) + 0.01 * tf.cast(
        lengths, tf.float64
    )
    best = tf.math.unsorted_segment_max(score, numbers.values, tokens)
    candidates = tf.where(tf.equal(score, tf.gather(best, numbers.values)), window, tf.int64.max)
    first_best = tf.math.unsorted_segment_min(candidates, numbers.values, tokens)
    is_best = numbers.with_values(tf.equal(window, tf.gather(first_best, numbers.values)))

    def placed(values: tf.RaggedTensor, nothing):
        """In the columns of `features`."""
        before = tf.fill([tf.reduce_sum(queries.row_lengths() + 2)], nothing)
        outside = tf.RaggedTensor.from_row_lengths(
            before, queries.row_lengths() + 2, validate=False
        )
        return padded(tf.concat([outside, values, column(values, nothing)], 1), nothing)

    return GraphWindows(
        features(parts, 3, vocabulary),
        owners,
        placed(numbers, tf.constant(-1, tf.int64)),
        placed(is_best, tf.constant(False)),
    )


def answers_in_graph(
    windows: GraphWindows, start_logits, end_logits, contexts: Tokens, settings: SquadSettings
) -> GraphAnswers:
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
    allowed = (
        start_is_right[:, :, None]
        & (end_tokens >= 0)[:, None, :]
        & (length >= 1)
        & (length <= settings.max_answer_length)
    )
    scores = tf.where(allowed, start_values[:, :, None] + end_values[:, None, :], nothing)
    scores = tf.reshape(scores, [tf.shape(scores)[0], best * best])
    place = tf.argmax(scores, 1, tf.int32)  # [W]
    window_scores = tf.reduce_max(scores, 1)

    rows = contexts.ids.nrows()
    score = tf.math.unsorted_segment_max(window_scores, windows.owners, rows)  # [B]
    # Of equal windows the first.
    numbers = tf.range(tf.size(window_scores))
    is_chosen = tf.equal(window_scores, tf.gather(score, windows.owners))
    chosen = tf.math.unsorted_segment_min(
        tf.where(is_chosen, numbers, tf.int32.max), windows.owners, rows
    )
    found = score > nothing
    chosen = tf.where(found, chosen, 0)
    null = -tf.math.unsorted_segment_max(
        -(start_logits[:, 0] + end_logits[:, 0]), windows.owners, rows
    )
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
    return GraphAnswers(
        start=tf.tensor_scatter_nd_update(
            absent, found_at[:, None], tf.gather(contexts.starts, first)
        ),
        end=tf.tensor_scatter_nd_update(absent, found_at[:, None], tf.gather(contexts.ends, last)),
        score=score,
        null_score_diff=null_score_diff,
    )
