"""From logits to answers, scores and files, the same while training and afterwards.

Input: windows and their logits. Output: the files of the original, and the official scores.
"""

import dataclasses
import os

import numpy as np

from bert_common.markdown import table
from bert_tf.evaluation import squad_files
from bert_tf.evaluation.squad_answers import QuestionAnswers, best_spans, collect_null_odds, find_answers
from bert_tf.evaluation.squad_scores import f1_by_question, score, score_officially, tune_threshold
from bert_tf.tasks.eval_results import write_eval_results
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.question_answering.data import SquadSplit
from bert_tf.tasks.question_answering.options import TUNED_ON, SquadSettings

# Of the answers that TensorBoard shows.
_MOST_SHOWN = 10
_MOST_CHARACTERS = 200


@dataclasses.dataclass(frozen=True)
class Answered:
  """The answers to all questions of a file.

  Attributes:
    settings: with the threshold that chose among it.
    metrics: the official scores; None where the file does not tell the right answers.
  """

  split: SquadSplit
  results: list[QuestionAnswers]
  settings: SquadSettings
  metrics: dict[str, float] | None

  @property
  def answers(self) -> dict[str, str]:
    """id → text."""
    threshold = self.settings.null_score_diff_threshold
    return {result.id: result.choose(threshold).text for result in self.results}

  def evaluation(self, step: int) -> Evaluation:
    """Of weights after `step` updates; a prediction is where the answer begins, the same for all questions if the model
    looks at no question."""
    chosen = (result.choose(self.settings.null_score_diff_threshold) for result in self.results)
    places = ["no answer" if one.start is None else f"what begins at character {one.start}" for one in chosen]
    starts = [one.answers[0].start if one.answers else None for one in self.split.source.questions]
    predicted = Predicted(places, starts if self.split.is_labelled else None, "questions")
    return Evaluation(step, self.metrics or {}, {os.path.basename(self.split.source.path): predicted}, self,
                      self.settings.to_task())

  def describe_single(self, shown: int) -> str:
    """The best answers to a single question."""
    (result,) = self.results
    best = squad_files.format_nbest(result, shown)
    if result.null_odds is None:
      return best
    chosen = result.choose(self.settings.null_score_diff_threshold)
    return (f"{best}\nanswer: {chosen.text if chosen.start is not None else '(no answer)'}; null odds "
            f"{result.null_odds:.4f}, {self.settings.describe_threshold()}")

  def markdown(self) -> str:
    """A few questions with answers, marked as right or wrong, as a table for TensorBoard."""
    shown = dataclasses.replace(self.split.source, questions=self.split.source.questions[:_MOST_SHOWN])
    answers = self.answers
    f1 = f1_by_question(shown, answers)
    rows = []
    for question in shown.questions:
      score = f1[question.id]
      right = " / ".join(dict.fromkeys(one.text for one in question.answers)) or "(no answer)"
      rows.append(("✓" if score == 1 else f"F1 {score:.0%}" if score else "✗", question.text,
                   answers[question.id] or "(no answer)", right))
    return table(("", "question", "answer", "right answers"), rows, _MOST_CHARACTERS)


def answer_questions(split: SquadSplit, logits: tuple[np.ndarray, np.ndarray], settings: SquadSettings, tune: bool,
                     official: bool = False) -> Answered:
  """Finds and scores the answers.

  Args:
    logits: of starts and ends, float32 [T] each.
    tune: take the threshold with the best F1, where the file has answers and there may be none (section 4.3).
    official: score by the official scripts.
  """
  results = find_answers(split.source, split.contexts, split.windows, *logits, settings)
  if not split.is_labelled:
    return Answered(split, results, settings, None)
  version_2, scorer = settings.version_2_with_negative, score_officially if official else score
  spans, null_odds = best_spans(results), collect_null_odds(results)
  if tune and version_2:
    settings = settings.with_threshold(tune_threshold(split.source, spans, null_odds),
                                       TUNED_ON + os.path.basename(split.source.path))
  answered = Answered(split, results, settings, None)
  metrics = scorer(split.source, answered.answers, None, version_2)
  if version_2:
    # The best thresholds are among all only if every question has an answer that one can turn into "no answer".
    best = scorer(split.source, spans, null_odds, version_2)
    metrics |= {name: value for name, value in best.items() if name.startswith("best_")}
  return dataclasses.replace(answered, metrics=metrics)


def write(directory: str, evaluation: Evaluation) -> str:
  """Writes the files of a prediction; returns what was written, for the user."""
  answered = evaluation.details
  settings = answered.settings
  squad_files.write_predictions(directory, answered.results, settings.null_score_diff_threshold)
  lines = [f"predicted {answered.split.describe()} of {answered.split.source.path}: "
           f"{os.path.join(directory, squad_files.PREDICTIONS)}"]
  if settings.version_2_with_negative:
    lines.append(settings.describe_threshold())
  if evaluation.metrics:
    lines.append(write_eval_results(directory, evaluation, len(answered.results)))
    if "best_f1_thresh" in evaluation.metrics:
      lines.append("best_exact_thresh and best_f1_thresh are the official script's: the null odds of the last question "
                   "that it answers, 0 where it answers none. null_score_diff_threshold, by which the predictions are "
                   "chosen, lies midway between two questions' odds")
  else:
    lines.append(f"{answered.split.source.path} does not tell the right answers: not scored")
  return "\n".join(lines)
