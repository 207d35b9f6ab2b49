"""Answers to questions, cut out of contexts, with a trained model: predictions, and the graphs of an export.

Input: a run directory of `run_squad.py`, or a model of others; `task.json` keeps how contexts are read and answers
chosen. Output: the answer with its place in the context and its score.

Letters: B questions, W windows, S tokens of the longest window.
"""

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.evaluation.squad_answers import Candidate, find_answers
from bert_tf.tasks.inference import SPECIAL_TOKENS, InferenceSettings, TaskInference, to_json
from bert_tf.tasks.question_answering import window_graph
from bert_tf.tasks.question_answering.data import window_examples
from bert_tf.tasks.question_answering.settings import KIND, SquadSettings, choose_settings
from bert_tf.training.examples import Examples
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import ContextTokens, Windows, make_windows
from modeling.checkpoints.load import Checkpoint
from modeling.question_answering import BertForQuestionAnswering

# Said where questions need more of them: it may take minutes, and the context may be no context.
_MANY_WINDOWS = 1000
# Windows that go through the model together: a book as context must not need the memory of all of them at once.
_WINDOWS_AT_ONCE = 32


class QuestionAnsweringInference(TaskInference):
  """{"answer", "start", "end", "probability", "nbest"} of a question and a context, which may be of any length.

  The answer is context[start:end]; "" and null where there is none.
  """

  head = "question_answering"
  kinds = (KIND,)
  default_length = SquadSettings.max_seq_length
  layouts = (("question", "context"),)
  text_inputs = ("question", "context")
  token_outputs = ("start_logits", "end_logits")

  def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
    super().__init__(loaded, settings)
    self.settings = window_settings(loaded, self.max_seq_length, settings)
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
    if len(windows) > _MANY_WINDOWS:
      self.log(f"questions about contexts of {len(contexts.ids):,} tokens are looked for in "
               f"{len(windows):,} windows{'' if self.settings.max_windows else ' (--max_windows would limit them)'}")
    logits = dict.fromkeys(self.token_outputs, np.zeros(0, np.float32))
    if len(windows):
      logits = self.run(window_examples(windows))
    results = []
    for found in find_answers(data, contexts, windows, logits["start_logits"], logits["end_logits"], self.settings):
      chosen = _candidate(found.choose(self.settings.null_score_diff_threshold))
      result = {"answer": chosen.pop("text"), **chosen,
                "nbest": [_candidate(candidate) for candidate in found.nbest[:self._top_k]]}
      results.append(result if found.null_odds is None else {**result, "null_odds": to_json(found.null_odds)})
    return results

  def serve_texts(self, question, context) -> dict:
    """string "answer" [B], "" where there is none; int32 "start" and "end" [B], the answer is context[start:end] in
    characters, -1 where there is none; float32 "score" and "null_score_diff" [B], see `window_graph.Answers`."""
    # Bytes that are no UTF-8 become one character here, so that all who count characters agree.
    context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8")
    questions, contexts = self.tokenize(question, context)
    windows = window_graph.make_windows(questions.ids, contexts.ids, self.settings, self.vocabulary)
    start_logits, end_logits = self._window_logits(windows.features)
    answers = window_graph.choose_answers(windows, start_logits, end_logits, contexts, self.settings)
    start = tf.maximum(answers.start, 0)
    text = tf.strings.substr(context, start, tf.maximum(answers.end, 0) - start, unit="UTF8_CHAR")
    return {"answer": text, "start": answers.start, "end": answers.end, "score": answers.score,
            "null_score_diff": answers.null_score_diff}

  def _windows(self, inputs: list[tuple[str, str]]) -> tuple[SquadData, ContextTokens, Windows]:
    numbers: dict[str, int] = {}
    questions = [Question(str(number), question, numbers.setdefault(context, len(numbers)), (), False)
                 for number, (question, context) in enumerate(inputs)]
    data = SquadData("", list(numbers), questions, has_answers=False, has_impossible=False)
    return data, *make_windows(data, self.tokenizer, **self.settings.lengths(), training=False)

  def _window_logits(self, features: dict) -> tuple:
    """Logits of all windows, float32 [W, S] each, in a graph."""
    # At least once, though there may be no question: the outputs then have no rows.
    turns = tf.maximum(-(-tf.shape(features["input_ids"])[0] // _WINDOWS_AT_ONCE), 1)

    def logits_of(turn, *found):
      rows = slice(turn * _WINDOWS_AT_ONCE, (turn + 1) * _WINDOWS_AT_ONCE)
      logits = self.model({name: values[rows] for name, values in features.items()})
      return turn + 1, *(array.write(turn, values) for array, values in zip(found, logits, strict=True))

    arrays = [tf.TensorArray(tf.float32, turns, infer_shape=False, element_shape=[None, None]) for _ in range(2)]
    # One turn at a time, or the memory is needed after all.
    _, *arrays = tf.while_loop(lambda turn, *_: turn < turns, logits_of, [0, *arrays], parallel_iterations=1)
    return tuple(array.concat() for array in arrays)


def window_settings(loaded: Checkpoint, max_seq_length: int, chosen: SquadSettings) -> SquadSettings:
  """How contexts are read and answers chosen: as given, else as in the fine-tuned run, else the original's defaults.

  Where the length has no room for the latter, questions keep a third of it, and windows move by half of the rest.

  Args:
    chosen: what the user wants; what is not in its `given` and has its default value counts as not given.

  Raises:
    UserError: there is no room for question and context, or `task.json` holds a value of another type.
  """
  given = chosen.given_settings
  settings = choose_settings({**given, "max_seq_length": max_seq_length}, loaded.task)
  if not {"doc_stride", "max_query_length"} & given.keys() and (
      settings.doc_stride > max_seq_length - settings.max_query_length - SPECIAL_TOKENS):
    max_query_length = min(settings.max_query_length, max(max_seq_length // 3, 1))
    room = max_seq_length - max_query_length - SPECIAL_TOKENS
    settings = settings.replace(max_query_length=max_query_length,
                                doc_stride=min(settings.doc_stride, max(room // 2, 1)))
  settings.check_model(loaded.config)
  return settings


def _candidate(candidate: Candidate) -> dict:
  text = "" if candidate.start is None else candidate.text
  return {"text": text, "start": candidate.start, "end": candidate.end, "probability": to_json(candidate.probability)}
