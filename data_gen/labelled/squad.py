"""SQuAD files, versions 1.1 and 2.0, as arrays of contexts and questions; and what they must have
to be trained on.

    data = read_squad("train-v2.0.json", "train_file")
    data.questions[0].text, data.contexts[data.questions[0].context]
    checked = check_training(data, version_2_with_negative=True)

Input: a file of https://rajpurkar.github.io/SQuAD-explorer or one of the same layout. Output:
`SquadData`, for `squad_features.py`. Training data is checked first, and answers that stand a
little beside their place are repaired.
"""

import dataclasses
import itertools
import re
from typing import Self

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.labelled.rows import LabelledFile, items_of

# Characters between `answer_start` and the answer's text. Stripped blanks, counting bytes or UTF-16
# units in place of characters and edited paragraphs make small errors; far away the same text is
# probably about something else.
REPAIR_REACH = 100

# Ids named in a message.
_MOST_IDS = 5

# Fields of a file, see `json_files.check_object`.
_ANSWER = {"text": str, "answer_start": int}
_QUESTION = {"id": str, "question": str, "answers": list[dict] | None, "is_impossible": bool | None}
_FIELDS = {"data": [{"paragraphs": [{"context": str, "qas": [_QUESTION]}]}]}


@dataclasses.dataclass(frozen=True)
class Answer:
    """A stretch of a context.

    Attributes:
      text: what the file says the answer is.
      start: where it begins in the context, in characters, as the file says.
    """

    text: str
    start: int


@dataclasses.dataclass(frozen=True)
class Question:
    """A question about a context.

    Attributes:
      id: unique in its file.
      text: may be empty, which is probably a mistake; as in the original it gets an answer: what
        stands out anyway.
      context: its number in `SquadData.contexts`.
      answers: all in the file; none where it has none.
      is_impossible: version 2.0 says that the context does not hold the answer.
    """

    id: str
    text: str
    context: int
    answers: tuple[Answer, ...]
    is_impossible: bool


@dataclasses.dataclass(frozen=True)
class SquadData(LabelledFile):
    """Contents of a SQuAD file, in its order; its examples are the questions.

    Attributes:
      contexts: the paragraphs; may be empty texts.
      questions: at least one.
      has_answers: every question has an entry "answers" (which may be an empty list): predictions
        can be scored.
      has_impossible: some question is marked as impossible to answer, so this is version 2.0.
    """

    contexts: list[str]
    questions: list[Question]
    has_answers: bool
    has_impossible: bool
    articles: list[int] = dataclasses.field(default_factory=list)
    _of_examples = ("questions",)

    def take(self, chosen: np.ndarray) -> Self:
        """These questions and their contexts."""
        questions = items_of(self.questions, chosen)
        kept = sorted({question.context for question in questions})
        number = {context: place for place, context in enumerate(kept)}
        return dataclasses.replace(
            self,
            contexts=[self.contexts[context] for context in kept],
            questions=[
                dataclasses.replace(question, context=number[question.context])
                for question in questions
            ],
            articles=[self.articles[context] for context in kept if self.articles],
        )

    def groups(self) -> list[int]:
        """Questions about the same article."""
        return [self.articles[question.context] for question in self.questions]


def read_squad(path: str, flag: str) -> SquadData:
    """Reads a SQuAD file, as `read_squad_examples` of the original, and checks its shape.

    "is_impossible" and "answers" may be absent. Whether answers stand where they should is another
    question: `check_training`.

    Args:
      flag: name of the flag the path came from, for errors.

    Raises:
      UserError: the file is missing, empty, not JSON (names line and column) or of another shape
        (names the key, e.g. data[3].paragraphs[0].qas[2].id), or a question has the id of another
        one, or there is none at all.
    """
    contents = json_files.read(files.check_readable(path, flag))
    json_files.check_object(contents, _FIELDS, path)
    contexts: list[str] = []
    questions: list[Question] = []
    articles: list[int] = []
    places: dict[str, str] = {}
    has_answers = True
    for a, article in enumerate(contents["data"]):
        for p, paragraph in enumerate(article["paragraphs"]):
            contexts.append(paragraph["context"])
            articles.append(a)
            for q, entry in enumerate(paragraph["qas"]):
                place, id = f"data[{a}].paragraphs[{p}].qas[{q}]", entry["id"]
                if places.setdefault(id, place) != place:
                    raise UserError(
                        f"{path}: {place} has the id {id!r} of {places[id]}: predictions are filed under ids, so "
                        "these must differ"
                    )
                has_answers = has_answers and "answers" in entry
                given = entry.get("answers") or []
                for n, answer in enumerate(given):
                    json_files.check_object(answer, _ANSWER, path, f"{place}.answers[{n}].")
                answers = tuple(Answer(answer["text"], answer["answer_start"]) for answer in given)
                questions.append(
                    Question(
                        id,
                        entry["question"],
                        len(contexts) - 1,
                        answers,
                        bool(entry.get("is_impossible")),
                    )
                )
    if not questions:
        raise UserError(f"--{flag}: {path} holds no question")
    return SquadData(
        path,
        contexts,
        questions,
        has_answers,
        any(question.is_impossible for question in questions),
        articles,
    )


def check_training(
    data: SquadData, *, version_2_with_negative: bool, skip_bad_answers: bool = False
) -> SquadData:
    """Checks the first answer of every question, the one that counts in training.

    An answer whose text is not at `answer_start` is moved to the nearest place within
    `REPAIR_REACH` characters where it is; places at which it is not part of a longer word go first.
    How white space is written does not matter.

    Args:
      version_2_with_negative: questions may be marked as impossible.
      skip_bad_answers: leave out questions without a usable answer, don't refuse them.

    Returns:
      The questions that are left, in their order, and a note on what was done. Each is impossible,
      or has exactly one answer, whose text stands in its context at its start, character by
      character.

    Raises:
      UserError: questions are marked as impossible but that was not said; a question has no usable
        answer (and is not to be skipped); no question is left.
    """
    if data.has_impossible and not version_2_with_negative:
        ids = [question.id for question in data.questions if question.is_impossible]
        raise UserError(
            f"{data.path}: questions are marked is_impossible ({len(ids):,}: {_some(ids)}): this is SQuAD 2.0, "
            "give --version_2_with_negative"
        )
    kept: list[Question] = []
    repaired: list[str] = []
    bad: dict[str, str] = {}
    farthest = 0
    for question in data.questions:
        if question.is_impossible:
            kept.append(dataclasses.replace(question, answers=()))
            continue
        context = data.contexts[question.context]
        answer, reason = _usable_answer(question, context)
        if answer is None:
            bad[question.id] = reason
            continue
        if answer != question.answers[0]:
            repaired.append(question.id)
            farthest = max(farthest, abs(answer.start - question.answers[0].start))
        kept.append(dataclasses.replace(question, answers=(answer,)))
    if bad and not skip_bad_answers:
        raise UserError(
            f"{data.path}: {len(bad):,} of {len(data.questions):,} questions have no usable answer: "
            f"{_some([f'{id} ({reason})' for id, reason in bad.items()])}; fix them, or leave them out with "
            "--skip_bad_answers"
        )
    if not kept:
        raise UserError(
            f"{data.path}: no question has a usable answer, nothing is left to train on"
        )
    parts = [
        f"answers repaired, moved by at most {farthest} characters: {len(repaired):,} ({_some(repaired)})",
        f"questions skipped, no usable answer: {len(bad):,} ({_some(list(bad))})",
    ]
    done = "; ".join(itertools.compress(parts, (repaired, bad)))
    return dataclasses.replace(
        data, questions=kept, notes=(*data.notes, f"{data.path}: {done}") if done else data.notes
    )


def _usable_answer(question: Question, context: str) -> tuple[Answer, str] | tuple[None, str]:
    """(the first answer, moved if need be, "") or (None, what is wrong)."""
    if not question.answers:
        return None, "it has no answer"
    answer = question.answers[0]
    if not answer.text.strip():
        return None, "its text is empty"
    if answer.start >= 0 and context.startswith(answer.text, answer.start):
        return answer, ""
    words = r"\s+".join(map(re.escape, answer.text.split()))
    # Looking ahead consumes nothing, so that places which overlap are found.
    first, last = max(answer.start - REPAIR_REACH, 0), answer.start + REPAIR_REACH
    found = [
        match.span(1)
        for match in re.compile(f"(?=({words}))").finditer(
            context[: max(last, 0) + 2 * len(answer.text)], first
        )
        if match.start() <= last
    ]
    if not found:
        return (
            None,
            f"{answer.text[:40]!r} is not within {REPAIR_REACH} characters of answer_start {answer.start}",
        )
    # First those that are no part of a word, then the nearest.
    _, _, start, end = min(
        (
            start > 0
            and context[start - 1 : start + 1].isalnum()
            or end < len(context)
            and context[end - 1 : end + 1].isalnum(),
            abs(start - answer.start),
            start,
            end,
        )
        for start, end in found
    )
    return Answer(context[start:end], start), ""


def _some(ids: list[str]) -> str:
    more = len(ids) - _MOST_IDS
    return ", ".join(ids[:_MOST_IDS]) + (f" and {more:,} more" if more > 0 else "")
