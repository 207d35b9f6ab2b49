"""The files that predictions are written to, and answers in lines for people.

    predictions.json        id → text
    nbest_predictions.json  id → [{"text", "probability", "start_logit", "end_logit"}, ...], the best first
    null_odds.json          id → score of "no answer" - score of the best span; version 2.0 only
    answers.jsonl           {"id", "text", "start", "end", "probability"}, with "null_odds" in version 2.0: a line for
                            each question; text is context[start:end], null and null where it is no part of it

The first three are those of the original, in the order of the questions; all are ASCII. Input: the
`QuestionAnswers` of `squad_answers.py`.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence

from bert_common import files
from bert_tf.evaluation.squad_answers import Candidate, QuestionAnswers, collect_null_odds

PREDICTIONS = "predictions.json"
NBEST_PREDICTIONS = "nbest_predictions.json"
NULL_ODDS = "null_odds.json"
ANSWERS = "answers.jsonl"


def write_predictions(directory: str, results: Sequence[QuestionAnswers], null_score_diff_threshold: float = 0.0
                      ) -> None:
  """Writes the four files (three in version 1.1); "no answer" where the null odds are above the threshold."""
  chosen = [(result, result.choose(null_score_diff_threshold)) for result in results]
  _write_object(os.path.join(directory, PREDICTIONS), ((result.id, answer.text) for result, answer in chosen))
  _write_object(os.path.join(directory, NBEST_PREDICTIONS), ((result.id, [
    {"text": candidate.text, "probability": candidate.probability, "start_logit": candidate.start_logit,
     "end_logit": candidate.end_logit} for candidate in result.nbest]) for result in results))
  odds = collect_null_odds(results)
  if odds is not None:
    _write_object(os.path.join(directory, NULL_ODDS), odds.items())
  with files.atomic_write(os.path.join(directory, ANSWERS)) as file:
    file.writelines(json.dumps(_answer_fields(result, answer)) + "\n" for result, answer in chosen)


def describe_choices(results: Sequence[QuestionAnswers], null_score_diff_threshold: float = 0.0) -> Iterator[str]:
  """A line for each question, for `--verbose_logging`: what was chosen, where it stands and against what."""
  for result in results:
    answer = result.choose(null_score_diff_threshold)
    parts = [f"{result.id}: {_show(answer)}, probability {answer.probability:.4f}"]
    if result.null_odds is not None:
      parts.append(f"null odds {result.null_odds:.4f}, threshold {null_score_diff_threshold:.4f}")
    if result.best_span is None:
      parts.append("no span of the context can be an answer")
    elif len(result.nbest) > 1:
      other = next(candidate for candidate in result.nbest if candidate != answer)
      parts.append(f"else {_show(other)}, probability {other.probability:.4f}")
    yield "; ".join(parts)


def format_nbest(result: QuestionAnswers, count: int | None = None) -> str:
  """The n best answers of a question, or the first `count`, as a table: rank, probability, text, characters."""
  return "\n".join(f"{rank:>3}  {candidate.probability:.4f}  {_show(candidate)}"
                   for rank, candidate in enumerate(result.nbest[:count], 1))


def _show(candidate: Candidate) -> str:
  if candidate.start is None:
    return "(no answer)"
  return f"{candidate.text!r} (characters {candidate.start} to {candidate.end})"


def _answer_fields(result: QuestionAnswers, answer: Candidate) -> dict:
  fields = {"id": result.id, "text": answer.text, "start": answer.start, "end": answer.end,
            "probability": answer.probability}
  return fields if result.null_odds is None else fields | {"null_odds": result.null_odds}


def _write_object(path: str, items: Iterable[tuple[str, object]]) -> None:
  """A JSON object with an entry a line: quick to write for thousands of entries, and `grep` finds a question."""
  with files.atomic_write(path) as file:
    separator = "{\n"
    for key, value in items:
      file.write(f"{separator}  {json.dumps(key)}: {json.dumps(value)}")
      separator = ",\n"
    file.write("\n}\n")
