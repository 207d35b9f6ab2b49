"""From logits to answers, scores and files, the same while training and afterwards.

    predictions.json        id → text
    nbest_predictions.json  id → [{"text", "probability", "start_logit", "end_logit"}, ...], the best first
    null_odds.json          id → score of "no answer" - score of the best span; version 2.0 only
    answers.jsonl           {"id", "text", "start", "end", "probability"}, with "null_odds" in version 2.0: one question
                            per line; text is context[start:end], null and null where it is no part of it

Input: windows and their logits. Output: these files, of which the first three are those of the original, in the order
of the questions; all are ASCII; and the official scores.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bert_common import files
from bert_tf.evaluation.squad_answers import Candidate, QuestionAnswers, best_spans, collect_null_odds, find_answers
from bert_tf.evaluation.squad_scores import f1_by_question, score, score_officially, tune_threshold
from bert_tf.markdown import table
from bert_tf.tasks.evaluation import Evaluation, Predicted, write_eval_results
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
    metrics: the official scores; None where the file does not contain the right answers.
  """

  split: SquadSplit
  results: list[QuestionAnswers]
  settings: SquadSettings
  metrics: dict[str, float] | None

  @property
  def answers(self) -> dict[str, Candidate]:
    """id → what is chosen."""
    return {result.id: result.choose(self.settings.null_score_diff_threshold) for result in self.results}

  def evaluation(self, step: int) -> Evaluation:
    """Of weights after `step` updates; a prediction is where the answer begins, the same for all questions if the model
    looks at no question."""
    places = ["no answer" if one.start is None else f"what begins at character {one.start}"
              for one in self.answers.values()]
    starts = [one.answers[0].start if one.answers else None for one in self.split.source.questions]
    predicted = Predicted(places, starts if self.split.is_labelled else None, "questions")
    return Evaluation(step, self.metrics or {}, {os.path.basename(self.split.source.path): predicted}, self,
                      self.settings.to_task())

  def describe_single(self, shown: int) -> str:
    """The best answers to a single question as a table: rank, probability, text, characters."""
    (result,) = self.results
    lines = [f"{rank:>3}  {candidate.probability:.4f}  {_show(candidate)}"
             for rank, candidate in enumerate(result.nbest[:shown], 1)]
    if result.null_odds is not None:
      chosen = self.answers[result.id]
      lines.append(f"answer: {chosen.text if chosen.start is not None else '(no answer)'}; null odds "
                   f"{result.null_odds:.4f}, {self.settings.describe_threshold()}")
    return "\n".join(lines)

  def describe_choices(self) -> Iterator[str]:
    """One line per question, for `--verbose_logging`: what was chosen, where it stands and against what."""
    for result, answer in zip(self.results, self.answers.values(), strict=True):
      odds = "" if result.null_odds is None else (
          f"; null odds {result.null_odds:.4f}, threshold {self.settings.null_score_diff_threshold:.4f}")
      others = [f"; else {_show(one)}, probability {one.probability:.4f}" for one in result.nbest if one != answer]
      yield f"{result.id}: {_show(answer)}, probability {answer.probability:.4f}{odds}{''.join(others[:1])}"

  def markdown(self) -> str:
    """A few questions with answers, marked as right or wrong, as a table for TensorBoard."""
    shown = dataclasses.replace(self.split.source, questions=self.split.source.questions[:_MOST_SHOWN])
    answers = {id: answer.text for id, answer in self.answers.items()}
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
  metrics = scorer(split.source, {id: answer.text for id, answer in answered.answers.items()}, None, version_2)
  if version_2:
    # The best thresholds are among all only if every question has an answer that one can turn into "no answer".
    best = scorer(split.source, spans, null_odds, version_2)
    metrics |= {name: value for name, value in best.items() if name.startswith("best_")}
  return dataclasses.replace(answered, metrics=metrics)


def write(directory: str, evaluation: Evaluation) -> str:
  """Writes the files of a prediction; returns what was written, for the user."""
  answered: Answered = evaluation.details
  settings, split = answered.settings, answered.split
  write_predictions(directory, answered.results, settings.null_score_diff_threshold)
  lines = [f"predicted {len(split):,} questions in {len(split.windows):,} windows of {split.source.path}: "
           f"{os.path.join(directory, 'predictions.json')}"]
  if settings.version_2_with_negative:
    lines.append(settings.describe_threshold())
  if evaluation.metrics:
    lines.append(write_eval_results(directory, evaluation, len(answered.results)))
  else:
    lines.append(f"{split.source.path} does not contain the right answers: not scored")
  return "\n".join(lines)


def write_predictions(directory: str, results: Sequence[QuestionAnswers], null_score_diff_threshold: float = 0.0
                      ) -> None:
  """Writes the four files (three in version 1.1); "no answer" where the null odds are above the threshold."""
  chosen = [(result, result.choose(null_score_diff_threshold)) for result in results]
  _write_object(os.path.join(directory, "predictions.json"), ((result.id, answer.text) for result, answer in chosen))
  _write_object(os.path.join(directory, "nbest_predictions.json"), ((result.id, [
    {"text": candidate.text, "probability": candidate.probability, "start_logit": candidate.start_logit,
     "end_logit": candidate.end_logit} for candidate in result.nbest]) for result in results))
  odds = collect_null_odds(results)
  if odds is not None:
    _write_object(os.path.join(directory, "null_odds.json"), odds.items())
  with files.atomic_write(os.path.join(directory, "answers.jsonl")) as file:
    for result, answer in chosen:
      fields = {"id": result.id, "text": answer.text, "start": answer.start, "end": answer.end,
                "probability": answer.probability}
      file.write(json.dumps(fields if odds is None else fields | {"null_odds": result.null_odds}) + "\n")


def _show(candidate: Candidate) -> str:
  if candidate.start is None:
    return "(no answer)"
  return f"{candidate.text!r} (characters {candidate.start} to {candidate.end})"


def _write_object(path: str, items: Iterable[tuple[str, object]]) -> None:
  """A JSON object with one entry per line: quick to write for thousands of entries, and `grep` finds a question."""
  with files.atomic_write(path) as file:
    separator = "{\n"
    for key, value in items:
      file.write(f"{separator}  {json.dumps(key)}: {json.dumps(value)}")
      separator = ",\n"
    file.write("\n}\n")
