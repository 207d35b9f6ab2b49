"""Exact match and F1 by the official rules, and the threshold for "no answer" tuned on them.

    threshold = tune_threshold(data, best_spans(results), collect_null_odds(results))
    answers = {result.id: result.choose(threshold).text for result in results}
    scores = score(data, answers, collect_null_odds(results), version_2=True)

Input: texts of answers and null odds by the ids of the questions, and the right answers. Output:
the scores in percent. The rules, and the order of the sums, come from evaluate-v1.1.py and
evaluate-v2.0.py.
"""

import collections
import re
import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError, needs_package
from data_gen.labeled.squad import Question, SquadData

# Distance of the threshold from the nearest odds if no question is on its other side.
_MARGIN = 1.0
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Letters of scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese and Chinese
# (with the full-width forms of Latin letters and digits).
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff10-\uff9f\U00020000-\U0003ffff"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# A unit is such a letter, or a word of others; signs are left out.
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


class AnswerScore(NamedTuple):
    """Exact match and F1 of an answer, each from 0 to 1."""

    exact: int
    f1: float


def score(
    data: SquadData, answers: dict[str, str], null_odds: dict[str, float] | None, version_2: bool
) -> dict[str, float]:
    """Returns the official scores of answers, in percent.

    Args:
      data: questions with their right answers. In version 1.1 a question without any is left out.
      answers: id → text, for every question; "" for "no answer".
      null_odds: id → score of "no answer" - score of the best span, for the best thresholds of
        version 2.0; None to do without.
      version_2: by which version's rules.

    Returns:
      exact, f1, total (a number of questions); in version 2.0 also HasAns_* and NoAns_* if there
      are such questions, and with `null_odds` best_exact, best_f1 and their thresholds
      best_exact_thresh and best_f1_thresh. As in the official script, these can only turn answers
      into "no answer": an answer "" stays.

    Raises:
      UserError: no question has a right answer to compare with.
    """
    questions = data.questions if version_2 else _answered(data)
    # Every answer is scored once, for all the means below.
    answer_scores = score_each(questions, answers, version_2)
    scores = _means("", list(answer_scores.values()))
    if not version_2:
        return scores
    has_answer = {question.id: bool(question.answers) for question in questions}
    for prefix, is_answerable in (("HasAns_", True), ("NoAns_", False)):
        part = [answer_scores[id] for id in answer_scores if has_answer[id] == is_answerable]
        scores |= _means(prefix, part)
    if null_odds is not None:
        ids = sorted(null_odds, key=null_odds.__getitem__)
        for name in AnswerScore._fields:
            # Answers the questions with the lowest odds only: first none of them, then one more
            # each time, and keep the best sum.
            best = current = len(questions) - sum(has_answer.values())
            threshold = 0.0
            for id in ids:
                if has_answer[id]:
                    current += getattr(answer_scores[id], name)
                elif answers[id]:
                    # The official script counts any text as wrong here, even without a word.
                    current -= 1
                if current > best:
                    best = current
                    threshold = null_odds[id]
            scores[f"best_{name}"] = 100.0 * best / len(questions)
            scores[f"best_{name}_thresh"] = threshold
    return scores


def score_each(
    questions: Sequence[Question], answers: Mapping[str, str], version_2: bool
) -> dict[str, AnswerScore]:
    """Returns id → score of the answer to each question."""
    scores = {}
    for question in questions:
        scores[question.id] = _score_answer(answers[question.id], question, version_2)
    return scores


def score_by_characters(data: SquadData, answers: dict[str, str]) -> dict[str, float]:
    """Returns F1 by characters where the official F1 takes a whole answer for a word.

    These are the questions whose right answers are in a script without blanks between words. A
    letter of such a script is a unit, as is a word of another one; punctuation is left out.

    Args:
      answers: id → text, for every question; "" for "no answer".

    Returns:
      character_f1, the mean in percent, and character_total, the number of questions; nothing if
      there are none.
    """
    scores = []
    for question in data.questions:
        if not has_unspaced_answer(question):
            continue
        units = _UNIT.findall(answers[question.id].lower())
        best = 0.0
        for right in question.answers:
            best = max(best, _f1(units, _UNIT.findall(right.text.lower())))
        scores.append(best)
    if not scores:
        return {}
    return {"character_f1": 100.0 * sum(scores) / len(scores), "character_total": len(scores)}


def has_unspaced_answer(question: Question) -> bool:
    """Returns whether a right answer is in a script without blanks, such as Chinese or Thai."""
    return any(_HAS_UNSPACED.search(right.text) for right in question.answers)


def _means(prefix: str, answer_scores: list[AnswerScore]) -> dict[str, float]:
    """Returns the means in percent and the number of answers; nothing without answers."""
    if not answer_scores:
        return {}
    total = len(answer_scores)
    # `sum` in the order of the questions, as in the official scripts: numpy's pairwise sum rounds
    # otherwise.
    exact = sum(answer_score.exact for answer_score in answer_scores)
    f1 = sum(answer_score.f1 for answer_score in answer_scores)
    return {
        f"{prefix}exact": 100.0 * exact / total,
        f"{prefix}f1": 100.0 * f1 / total,
        f"{prefix}total": total,
    }


def score_officially(
    data: SquadData, answers: dict[str, str], null_odds: dict[str, float] | None, version_2: bool
) -> dict[str, float]:
    """Returns `score` by the official scripts, in the copies that come with the Model Garden: an
    import of many seconds.

    Raises:
      UserError: as `score`; or the Model Garden is not installed.
    """
    questions = data.questions if version_2 else _answered(data)
    # The nesting of a SQuAD file, with one paragraph per question.
    dataset = []
    for question in questions:
        rights = [{"text": answer.text} for answer in question.answers]
        dataset.append({"paragraphs": [{"qas": [{"id": question.id, "answers": rights}]}]})
    try:
        from official.nlp.tools import squad_evaluate_v1_1, squad_evaluate_v2_0
    except ImportError as error:
        raise needs_package("--official_scores", "official") from error
    if not version_2:
        result = squad_evaluate_v1_1.evaluate(dataset, answers)
        exact = 100.0 * result["exact_match"]
        return {"exact": exact, "f1": 100.0 * result["final_f1"], "total": len(dataset)}
    scores = {}
    # Two calls: with the odds, the script turns answers whose odds are above 1 into "no answer".
    for name, value in squad_evaluate_v2_0.evaluate(dataset, answers).items():
        if name.removeprefix("HasAns_").removeprefix("NoAns_") in ("exact", "f1", "total"):
            scores[name] = value
    if null_odds is not None:
        for name, value in squad_evaluate_v2_0.evaluate(dataset, answers, null_odds).items():
            if name.startswith("final_"):
                scores[name.replace("final", "best")] = value
    return scores


def tune_threshold(data: SquadData, spans: dict[str, str], null_odds: dict[str, float]) -> float:
    """Returns the `null_score_diff_threshold` under which the answers have the best F1 (paper,
    section 4.3).

    It is midway between the odds of two questions, so that answers do not flip if the same logits
    are computed with another rounding. Of equally good ones it is the lowest.

    Args:
      spans: id → the best answer that is a part of the context; "" for none.
      null_odds: id → score of "no answer" - score of that span.
    """
    # F1 that is won by answering a question. It is 0 for a question without any span.
    gain_of = {}
    for question in data.questions:
        as_answered = _score_answer(spans[question.id], question, version_2=True)
        as_null = _score_answer("", question, version_2=True)
        gain_of[question.id] = as_answered.f1 - as_null.f1
    gains = np.array([gain_of[id] for id in null_odds])
    odds = np.array(list(null_odds.values()))
    values, group = np.unique(odds, return_inverse=True)  # [n], ascending
    # Sum of the gains of the k questions with the lowest odds, [n + 1].
    sums = np.concatenate([[0.0], np.cumsum(np.bincount(group, gains))])
    best = int(np.argmax(sums))
    edges = np.concatenate([values[:1] - 2 * _MARGIN, values, values[-1:] + 2 * _MARGIN])
    below, above = edges[best : best + 2]
    middle = (below + above) / 2
    # Between neighboring floats the middle is rounded to one of them.
    return float(middle if middle < above else below)


def _answered(data: SquadData) -> list[Question]:
    """Returns the questions with a right answer: others make the script for version 1.1 fail."""
    questions = [question for question in data.questions if question.answers]
    if not questions:
        raise UserError(f"{data.path}: no question has an answer, so predictions can't be scored")
    return questions


def _words(text: str) -> list[str]:
    """Returns the lower-cased words without punctuation and articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def _score_answer(answer: str, question: Question, version_2: bool) -> AnswerScore:
    """Returns exact match and F1, each with the right answer that fits best.

    Version 2.0 ignores right answers without a word, like "the", and if none is left "" is right;
    two texts without a word agree. In version 1.1 their F1 is 0.
    """
    words = _words(answer)
    rights = []
    for right_answer in question.answers:
        right_words = _words(right_answer.text)
        if right_words or not version_2:
            rights.append(right_words)
    if version_2 and not rights:
        rights.append([])
    exact = 0
    f1 = 0.0
    for right in rights:
        exact = max(exact, int(words == right))
        if version_2 and words == right:
            # Two texts without a word have no common one.
            f1 = 1.0
        else:
            f1 = max(f1, _f1(words, right))
    return AnswerScore(exact, f1)


def _f1(words: list[str], right: list[str]) -> float:
    """Returns the F1 of the words that two texts share, each as often as both have it."""
    common = (collections.Counter(words) & collections.Counter(right)).total()
    if not common:
        return 0.0
    precision = common / len(words)
    recall = common / len(right)
    return 2 * precision * recall / (precision + recall)
