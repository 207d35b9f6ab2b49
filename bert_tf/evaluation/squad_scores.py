"""Exact match and F1 by the official rules, and the threshold for "no answer" tuned on them.

    threshold = tune_threshold(data, best_spans(results), collect_null_odds(results))
    answers = {result.id: result.choose(threshold).text for result in results}
    scores = score(data, answers, collect_null_odds(results), version_2=True)

Input: texts of answers and null odds by the ids of the questions, and the right answers. Output:
the scores in percent. The rules, and the order of the sums, are those of evaluate-v1.1.py and
evaluate-v2.0.py.
"""

import collections
import re
import string

import numpy as np

from bert_common.errors import UserError, needs_package
from data_gen.labelled.squad import Question, SquadData

# How far the threshold is from the nearest odds where no question lies on its other side.
_MARGIN = 1.0
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score(
    data: SquadData, answers: dict[str, str], null_odds: dict[str, float] | None, version_2: bool
) -> dict[str, float]:
    """The official scores of answers, in percent.

    Args:
      data: questions with their right answers. In version 1.1 a question without any is left out.
      answers: id → text, for every question; "" for "no answer".
      null_odds: id → score of "no answer" - score of the best span, for the best thresholds of
        version 2.0; None to do without.
      version_2: by which version's rules.

    Returns:
      exact, f1, total (a number of questions); in version 2.0 also HasAns_* and NoAns_* of these
      where there are such questions, and with `null_odds` best_exact, best_f1 and their thresholds
      best_exact_thresh and best_f1_thresh. As in the official script, these can only turn answers
      into "no answer": where `answers` already holds "", it stays.

    Raises:
      UserError: no question has a right answer to compare with.
    """
    questions = data.questions if version_2 else _answered(data)
    # id → (exact match, F1), each from 0 to 1.
    found = {
        question.id: _score_answer(answers[question.id], question, version_2)
        for question in questions
    }
    parts = {"": list(found)}
    if version_2:
        parts["HasAns_"] = [question.id for question in questions if question.answers]
        parts["NoAns_"] = [question.id for question in questions if not question.answers]
    scores: dict[str, float] = {}
    for prefix, ids in parts.items():
        if ids:
            scores |= {
                f"{prefix}{name}": 100.0 * sum(found[id][place] for id in ids) / len(ids)
                for place, name in enumerate(("exact", "f1"))
            }
            scores[f"{prefix}total"] = len(ids)
    if version_2 and null_odds is not None:
        has_answer = {question.id: bool(question.answers) for question in questions}
        for place, name in enumerate(("best_exact", "best_f1")):
            # The best sum where only the questions with the lowest odds are answered; first of all,
            # none of them.
            best = current = len(questions) - sum(has_answer.values())
            threshold = 0.0
            for id in sorted(null_odds, key=null_odds.__getitem__):
                # Any text is wrong where there is no answer, also one without a word.
                current += found[id][place] if has_answer[id] else -bool(answers[id])
                if current > best:
                    best, threshold = current, null_odds[id]
            scores[name], scores[f"{name}_thresh"] = 100.0 * best / len(questions), threshold
    return scores


def score_officially(
    data: SquadData, answers: dict[str, str], null_odds: dict[str, float] | None, version_2: bool
) -> dict[str, float]:
    """`score` by the official scripts, in the copies that come with the Model Garden: an import of
    many seconds.

    Raises:
      UserError: as `score`; or the Model Garden is not installed.
    """
    questions = data.questions if version_2 else _answered(data)
    dataset = [
        {
            "paragraphs": [
                {
                    "qas": [
                        {
                            "id": question.id,
                            "answers": [{"text": one.text} for one in question.answers],
                        }
                    ]
                }
            ]
        }
        for question in questions
    ]
    try:
        from official.nlp.tools import squad_evaluate_v1_1, squad_evaluate_v2_0
    except ImportError as error:
        raise needs_package("--official_scores", "official") from error
    if not version_2:
        result = squad_evaluate_v1_1.evaluate(dataset, answers)
        return {
            "exact": 100.0 * result["exact_match"],
            "f1": 100.0 * result["final_f1"],
            "total": len(dataset),
        }
    # Without the odds: with them, the script turns answers whose odds are above 1 into "no answer",
    # whatever was chosen.
    scores = {
        name: value
        for name, value in squad_evaluate_v2_0.evaluate(dataset, answers).items()
        if name.removeprefix("HasAns_").removeprefix("NoAns_") in ("exact", "f1", "total")
    }
    best = {} if null_odds is None else squad_evaluate_v2_0.evaluate(dataset, answers, null_odds)
    return scores | {
        name.replace("final", "best"): value
        for name, value in best.items()
        if name.startswith("final_")
    }


def tune_threshold(data: SquadData, spans: dict[str, str], null_odds: dict[str, float]) -> float:
    """The `null_score_diff_threshold` under which the answers have the best F1 (paper, section
    4.3).

    It lies midway between the odds of two questions, so that answers do not flip where the same
    logits are computed with another rounding. Of equally good ones it is the lowest.

    Args:
      spans: id → the best answer that is a part of the context; "" where there is none.
      null_odds: id → score of "no answer" - score of that span.
    """
    # F1 of each question; no answer is right where there is no right answer.
    as_answered, as_null = (
        {
            question.id: _score_answer(answers[question.id], question, version_2=True)[1]
            for question in data.questions
        }
        for answers in (spans, dict.fromkeys(spans, ""))
    )
    # A question without any span is not answered under any threshold, so its gain is 0.
    gains = np.array([as_answered[id] - as_null[id] for id in null_odds])
    values, group = np.unique(
        np.array(list(null_odds.values())), return_inverse=True
    )  # [n], ascending
    # What answering the k questions with the lowest odds adds to the F1 of no answers at all, [n +
    # 1].
    best = int(np.argmax(np.concatenate([[0.0], np.cumsum(np.bincount(group, gains))])))
    edges = np.concatenate([values[:1] - 2 * _MARGIN, values, values[-1:] + 2 * _MARGIN])
    below, above = edges[best : best + 2]
    middle = (below + above) / 2
    return float(middle if middle < above else below)


def _answered(data: SquadData) -> list[Question]:
    """The questions with a right answer: of others the script for version 1.1 ends in an error."""
    questions = [question for question in data.questions if question.answers]
    if not questions:
        raise UserError(f"{data.path}: no question has an answer, so predictions can't be scored")
    return questions


def _words(text: str) -> list[str]:
    """Lower-cased words without punctuation and articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split()


def _score_answer(answer: str, question: Question, version_2: bool) -> tuple[int, float]:
    """Exact match and F1, each with the right answer that fits best.

    Version 2.0 ignores right answers without a word, like "the", and where none is left "" is
    right; two texts without a word agree. In version 1.1 their F1 is 0.
    """
    words, exact, f1 = _words(answer), 0, 0.0
    rights = [_words(right.text) for right in question.answers]
    if version_2:
        rights = [right for right in rights if right] or [[]]
    for right in rights:
        exact = max(exact, int(words == right))
        common = sum((collections.Counter(words) & collections.Counter(right)).values())
        if common:
            precision, recall = common / len(words), common / len(right)
            f1 = max(f1, 2 * precision * recall / (precision + recall))
        elif version_2 and words == right:
            f1 = 1.0
    return exact, f1
