"""Exact match and F1 by the official rules, and the threshold for "no answer" tuned on them.

    threshold = tune_threshold(data, results)
    answers = {result.id: result.choose(threshold).text for result in results}
    scores = score(data, answers, collect_null_odds(results), version_2=True)

Input: the `QuestionAnswers` of `squad_answers.py`, and the right answers. Output: the scores in percent. The rules are
those of evaluate-v1.1.py and evaluate-v2.0.py, in the copies that come with the Model Garden.
"""

from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from bert_tf.evaluation.squad_answers import QuestionAnswers
from data_gen.labelled.squad import SquadData

# How far the threshold is from the nearest odds where no question lies on its other side.
_MARGIN = 1.0
# What the Model Garden's copy calls otherwise than the official script.
_OFFICIAL_NAMES = {"final_exact": "best_exact", "final_exact_thresh": "best_exact_thresh", "final_f1": "best_f1",
                   "final_f1_thresh": "best_f1_thresh"}


def score(data: SquadData, answers: dict[str, str], null_odds: dict[str, float] | None, version_2: bool
          ) -> dict[str, float]:
  """The official scores of answers, in percent.

  Args:
    data: questions with their right answers. In version 1.1 a question without any is left out.
    answers: id → text, for every question; "" for "no answer".
    null_odds: id → score of "no answer" - score of the best span, for the best thresholds of version 2.0; None to do
      without.
    version_2: by which version's rules.

  Returns:
    exact, f1, total (a number of questions); in version 2.0 also HasAns_* and NoAns_* of these where there are such
    questions, and with `null_odds` best_exact, best_f1 and their thresholds best_exact_thresh and best_f1_thresh. As in
    the official script, these can only turn answers into "no answer": where `answers` already holds "", it stays.

  Raises:
    UserError: no question has a right answer to compare with.
  """
  if not version_2:
    return _score_version_1(data, answers)
  from official.nlp.tools import squad_evaluate_v2_0

  dataset = _official_layout(data)
  # Without the odds: with them, the script turns answers whose odds are above 1 into "no answer", whatever was chosen.
  result = squad_evaluate_v2_0.evaluate(dataset, answers)
  names = [name for name in result if name.removeprefix("HasAns_").removeprefix("NoAns_") in ("exact", "f1", "total")]
  scores = {name: result[name] for name in names}
  if null_odds is not None:
    result = squad_evaluate_v2_0.evaluate(dataset, answers, null_odds)
    scores |= {official: result[name] for name, official in _OFFICIAL_NAMES.items()}
  return scores


def collect_null_odds(results: Sequence[QuestionAnswers]) -> dict[str, float] | None:
  """id → null odds; None in version 1.1."""
  return {result.id: result.null_odds for result in results if result.null_odds is not None} or None


def tune_threshold(data: SquadData, results: Sequence[QuestionAnswers]) -> float:
  """The `null_score_diff_threshold` under which the answers have the best F1 (paper, section 4.3).

  It lies midway between the odds of two questions, so that answers do not flip where the same logits are
  computed with another rounding. Of equally good ones it is the lowest.
  """
  spans = {result.id: result.best_span.text if result.best_span else "" for result in results}
  values, _, gains = _gains(data, spans, {result.id: result.null_odds for result in results})
  best = int(np.argmax(gains))
  edges = np.concatenate([values[:1] - 2 * _MARGIN, values, values[-1:] + 2 * _MARGIN])
  below, above = edges[best:best + 2]
  middle = (below + above) / 2
  return float(middle if middle < above else below)


def f1_by_threshold(data: SquadData, spans: dict[str, str], null_odds: dict[str, float]
                    ) -> tuple[np.ndarray, np.ndarray]:
  """F1 under every threshold that makes a difference.

  Args:
    spans: id → the best answer that is a part of the context; "" where there is none.

  Returns:
    the null odds, ascending, float [n]; and F1 in percent, float [n + 1]: entry k with the k lowest of them answered,
    that is under a threshold from the odds k - 1 up to the odds k.
  """
  values, unanswered, gains = _gains(data, spans, null_odds)
  return values, 100.0 * (unanswered + gains) / len(data.questions)


def _gains(data: SquadData, spans: dict[str, str], null_odds: dict[str, float]) -> tuple[np.ndarray, float, np.ndarray]:
  """Null odds, ascending [n]; the sum of F1 with no answer at all; what answering the k lowest adds to it, [n + 1]."""
  as_answered = f1_by_question(data, spans)
  as_null = f1_by_question(data, dict.fromkeys(spans, ""))
  # A question without any span is not answered under any threshold, so its gain is 0.
  gains = np.array([as_answered[id] - as_null[id] for id in null_odds])
  values, group = np.unique(np.array(list(null_odds.values())), return_inverse=True)
  gains = np.concatenate([[0.0], np.cumsum(np.bincount(group, gains))])
  return values, sum(as_null.values()), gains


def _score_version_1(data: SquadData, answers: dict[str, str]) -> dict[str, float]:
  from official.nlp.tools import squad_evaluate_v1_1

  # The official script knows no question without a right answer: it fails.
  dataset = [article for article, question in zip(_official_layout(data), data.questions, strict=True)
             if question.answers]
  if not dataset:
    raise UserError(f"{data.path}: no question has an answer, so predictions can't be scored")
  result = squad_evaluate_v1_1.evaluate(dataset, answers)
  return {"exact": 100.0 * result["exact_match"], "f1": 100.0 * result["final_f1"], "total": len(dataset)}


def _official_layout(data: SquadData) -> list[dict]:
  """The part of a file's "data" that the official scripts read; an article for each question."""
  return [{"paragraphs": [{"qas": [{"id": question.id, "answers": [{"text": answer.text} for answer in question.answers]
                                    }]}]} for question in data.questions]


def f1_by_question(data: SquadData, answers: dict[str, str]) -> dict[str, float]:
  """id → F1 of its answer, from 0 to 1; no answer ("") is right where there is no right answer."""
  from official.nlp.tools import squad_evaluate_v2_0

  # The scores of single questions have no public name there; the version is fixed in requirements.txt.
  return squad_evaluate_v2_0._get_raw_scores(_official_layout(data), answers)[1]
