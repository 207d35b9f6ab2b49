"""SQuAD files, versions 1.1 and 2.0, as lists of contexts and questions; and the checks of training
data.

    data = read_squad("train-v2.0.json", "train_file")
    data.questions[0].text, data.contexts[data.questions[0].context]
    checked = check_training(data, version_2_with_negative=True)

Input: a file of https://rajpurkar.github.io/SQuAD-explorer or one of the same layout; or rows of
the Hugging Face hub's `squad`, a question each. Output: `SquadData`, for `squad_features.py`.
Training data is checked first, and answers whose `answer_start` is slightly wrong are repaired.
"""

import dataclasses
import re
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from bert_common import json_files
from bert_common.errors import UserError
from bert_common.text_lines import character_position
from data_gen.labeled.row_formats import OBJECT_FORMATS, format_of, read_rows
from data_gen.labeled.rows import LabeledFile, Skip, SourceFile, items_of

# Largest distance in characters from `answer_start` to the answer's text. Stripped blanks, edited
# paragraphs, and bytes or UTF-16 units counted as characters make small errors; farther away the
# same text is probably about something else.
REPAIR_REACH = 100

_NO_ANSWER = "it has no answer"
# Number of ids that a message names.
_MAX_NAMED_IDS = 5

# Fields of a file, for `json_files.check_object`.
_ANSWER = {"text": str, "answer_start": int}
_QUESTION = {"id": str, "question": str, "answers": list[dict] | None, "is_impossible": bool | None}
_FIELDS = {"data": [{"paragraphs": [{"context": str, "qas": [_QUESTION]}]}]}
_REMEDY = "change the file to the layout of SQuAD, or to rows of id, context, question and answers"

# Fault of a line that is no JSON from its first character on.
# A field in quotation marks at the beginning of a line is JSON, with more after it.
_NO_JSON = re.compile(r"not JSON: (Expecting value at column 1|Extra data at column [0-9]+)")


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer in a context, as the file has it.

    Attributes:
      text: the text of the answer.
      start: where it begins in the context, in characters.
    """

    text: str
    start: int


@dataclasses.dataclass(frozen=True)
class Question:
    """A question about a context.

    Attributes:
      id: unique in its file.
      text: may be empty, which is probably a mistake; it gets a prediction, as in the original.
      context: number of its context in `SquadData.contexts`.
      answers: all answers in the file; may be empty.
      is_impossible: marked in version 2.0 as not answered by the context.
    """

    id: str
    text: str
    context: int
    answers: tuple[Answer, ...]
    is_impossible: bool


@dataclasses.dataclass(frozen=True)
class SquadData(LabeledFile):
    """Contents of a SQuAD file, in file order; its examples are the questions.

    Attributes:
      contexts: the paragraphs; may be empty texts.
      questions: at least one.
      has_answers: every question has an entry "answers" (which may be an empty list), so that
        predictions can be scored.
      has_impossible: some question is marked as impossible to answer, so this is version 2.0.
      articles: number of the article of each context.
    """

    contexts: list[str]
    questions: list[Question]
    has_answers: bool
    has_impossible: bool
    articles: list[int] = dataclasses.field(default_factory=list)
    _example_fields = ("questions",)

    def take(self, rows: np.ndarray) -> Self:
        """Returns these questions and their contexts, which are renumbered."""
        questions = items_of(self.questions, rows)
        old_numbers = sorted({question.context for question in questions})
        new_numbers = {old: new for new, old in enumerate(old_numbers)}
        questions = [
            dataclasses.replace(question, context=new_numbers[question.context])
            for question in questions
        ]
        # Data that was made in memory has no articles.
        articles = self.articles
        if articles:
            articles = [articles[number] for number in old_numbers]
        return dataclasses.replace(
            self,
            contexts=[self.contexts[number] for number in old_numbers],
            questions=questions,
            articles=articles,
        )

    def inputs(self) -> Iterable[tuple[str, ...]]:
        return ((question.text, self.contexts[question.context]) for question in self.questions)

    def groups(self) -> list[int]:
        """Returns the article of each question, so that `split` keeps articles together."""
        return [self.articles[question.context] for question in self.questions]


def _unreadable(source: SourceFile, num_rows: int) -> UserError:
    """Returns the error for a file with bad rows; one without any JSON is of another kind."""
    is_text = all(_NO_JSON.fullmatch(fault) for fault in source.faults.values())
    # A single row may be one of JSON with a fault.
    if is_text and len(source.faults) == num_rows > 1:
        return UserError(
            f"--{source.flag}: {source.path} is a table or a text: SQuAD's JSON is expected, or "
            "JSON lines, Parquet or Arrow with question, context and answers"
        )
    return source.error(num_rows)


def read_squad(path: str, flag: str) -> SquadData:
    """Reads a SQuAD file, as the original's `read_squad_examples`, and checks its structure.

    "is_impossible" and "answers" may be absent, and whole numbers may be written as other numbers
    or texts, as annotation tools do. The positions of answers are checked by `check_training`.

    Args:
      flag: name of the flag that the path came from, for errors.

    Raises:
      UserError: the file is missing, empty, not JSON (names line and column) or of another
        structure (names the key, e.g. data[3].paragraphs[0].qas[2].id), two questions have the same
        id, or there is no question.
    """
    source = SourceFile(path, flag)
    file_format = format_of(path)
    if file_format not in OBJECT_FORMATS:
        file_format = "jsonl"
    rows = [row for _, row in read_rows(source, file_format)]
    if source.faults:
        raise _unreadable(source, len(rows))
    if rows and "paragraphs" not in rows[0] and {"context", "question"} <= set(rows[0]):
        rows = _articles_of(rows)
    elif len(rows) == 1 and "data" in rows[0]:
        # A list of anything but objects is reported under its key.
        rows = rows[0]["data"]
    contents = {"data": rows}
    _normalize(rows)
    json_files.check_object(contents, _FIELDS, path, remedy=_REMEDY)
    contexts: list[str] = []
    questions: list[Question] = []
    articles: list[int] = []
    key_of_id: dict[str, str] = {}
    has_answers = True
    for article_number, article in enumerate(rows):
        for paragraph_number, paragraph in enumerate(article["paragraphs"]):
            context = len(contexts)
            contexts.append(paragraph["context"])
            articles.append(article_number)
            for number, entry in enumerate(paragraph["qas"]):
                key = f"data[{article_number}].paragraphs[{paragraph_number}].qas[{number}]"
                question = _read_question(entry, context, path, key)
                # The official scorer looks predictions up by id.
                if key_of_id.setdefault(question.id, key) != key:
                    raise UserError(
                        f"{path}: {key} has the id {question.id!r} of {key_of_id[question.id]}: "
                        "predictions are filed under ids, so these must differ"
                    )
                has_answers = has_answers and "answers" in entry
                questions.append(question)
    if not questions:
        raise UserError(f"--{flag}: {path} holds no question")
    has_impossible = any(question.is_impossible for question in questions)
    return SquadData(path, contexts, questions, has_answers, has_impossible, articles)


def _articles_of(rows: list[dict]) -> list[dict]:
    """Returns rows of `datasets`, a question each, as SQuAD's articles; equal contexts of
    neighboring rows become one paragraph."""
    articles: list[dict] = []
    last_title = None
    for row in rows:
        title = row.get("title")
        context = row.get("context")
        if not articles or title is None or title != last_title:
            articles.append({"paragraphs": []})
            last_title = title
        paragraphs = articles[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != context:
            paragraphs.append({"context": context, "qas": []})
        entry = dict(row)
        answers = row.get("answers")
        # Two lists, of texts and of positions, in place of a list of answers.
        if isinstance(answers, dict) and isinstance(answers.get("text"), list):
            starts = answers.get("answer_start")
            if not isinstance(starts, list) or len(starts) != len(answers["text"]):
                starts = [None] * len(answers["text"])
            entry["answers"] = []
            for text, start in zip(answers["text"], starts, strict=True):
                entry["answers"].append({"text": text, "answer_start": start})
        paragraphs[-1]["qas"].append(entry)
    return articles


def _normalize(articles: Any) -> None:
    """Turns ids that are numbers into texts, and positions like "21" and 21.0 into whole numbers.

    Other values, of any structure, are left for the check.
    """
    for article in _objects(articles):
        for paragraph in _objects(article.get("paragraphs")):
            for entry in _objects(paragraph.get("qas")):
                if type(entry.get("id")) is int:
                    entry["id"] = str(entry["id"])
                for answer in _objects(entry.get("answers")):
                    start = answer.get("answer_start")
                    is_digits = isinstance(start, str) and re.fullmatch(" *[0-9]{1,18} *", start)
                    is_whole = isinstance(start, float) and start.is_integer()
                    if start is not None and (is_digits or is_whole):
                        answer["answer_start"] = int(start)


def _objects(values: Any) -> list[dict]:
    """Returns the objects in a JSON value, if it is a list."""
    if not isinstance(values, list):
        return []
    return [value for value in values if isinstance(value, dict)]


def _read_question(entry: dict, context: int, path: str, key: str) -> Question:
    """Returns the question in an entry of "qas", after checking its answers."""
    answers = []
    for number, answer in enumerate(entry.get("answers") or []):
        parent = f"{key}.answers[{number}]."
        json_files.check_object(answer, _ANSWER, path, parent, _REMEDY)
        # DuReader and others write this where there is no answer.
        if answer["text"] or answer["answer_start"] != -1:
            answers.append(Answer(answer["text"], answer["answer_start"]))
    return Question(
        id=entry["id"],
        text=entry["question"],
        context=context,
        answers=tuple(answers),
        is_impossible=bool(entry.get("is_impossible")),
    )


def check_training(
    data: SquadData, *, version_2_with_negative: bool, skip_bad_answers: Skip = False
) -> SquadData:
    """Checks and repairs the first answer of every question, the one that training uses.

    An answer whose text is not at `answer_start` is moved to the nearest occurrence within
    `REPAIR_REACH` characters; occurrences that are not part of a longer word are preferred. White
    space in the text matches any white space. So is an answer whose `answer_start` counts bytes or
    UTF-16 units, at any distance.

    Files of version 2.0 without "is_impossible" have no answers to impossible questions.

    Args:
      version_2_with_negative: questions may be marked as impossible.
      skip_bad_answers: leave out questions without a usable answer instead of refusing them, at
        most a tenth of all, or this number.

    Returns:
      The remaining questions, in their order, and a note on the repairs. Each question is
      impossible, or has exactly one answer, whose text is in its context at its start, character by
      character.

    Raises:
      UserError: questions are marked as impossible without `version_2_with_negative`; questions
        have no usable answer and are not to be skipped, or too many for that.
    """
    # Impossible questions have no span to train on unless the model may answer with none.
    if data.has_impossible and not version_2_with_negative:
        ids = [question.id for question in data.questions if question.is_impossible]
        raise UserError(
            f"{data.path}: questions are marked is_impossible ({len(ids):,}: {_some(ids)}): this "
            "is SQuAD 2.0, give --version_2_with_negative"
        )
    questions: list[Question] = []
    repaired: list[str] = []
    faults: dict[str, str] = {}
    longest_move = 0
    # A file in which no question has answers is one to predict, not one of impossible questions.
    has_answers = any(question.answers for question in data.questions)
    is_unmarked = version_2_with_negative and has_answers and not data.has_impossible
    unmarked: list[str] = []
    for question in data.questions:
        if is_unmarked and not question.answers:
            unmarked.append(question.id)
            questions.append(dataclasses.replace(question, is_impossible=True))
            continue
        if question.is_impossible:
            questions.append(dataclasses.replace(question, answers=()))
            continue
        answer, fault = _usable_answer(question, data.contexts[question.context])
        if answer is None:
            faults[question.id] = fault
            continue
        if answer != question.answers[0]:
            repaired.append(question.id)
            # A repair may also change white space only, which moves nothing.
            longest_move = max(longest_move, abs(answer.start - question.answers[0].start))
        questions.append(dataclasses.replace(question, answers=(answer,)))
    # At least one question may be left out, since a tenth of a small file would be none.
    limit = max(len(data.questions) // 10, 1)
    if skip_bad_answers and not isinstance(skip_bad_answers, bool):
        limit = skip_bad_answers
    if (
        len(faults) == len(data.questions)
        or (faults and not skip_bad_answers)
        or len(faults) > limit
    ):
        raise _unusable(data, faults, limit, skip_bad_answers)
    notes = (*data.notes, *_repair_notes(data.path, repaired, longest_move, list(faults)))
    if unmarked:
        notes += (
            f"{data.path}: there is no is_impossible: {len(unmarked):,} questions without answers "
            f"are taken for impossible ({_some(unmarked)})",
        )
    left_out = [{"file": data.path, "id": id, "fault": fault} for id, fault in faults.items()]
    return dataclasses.replace(data, questions=questions, notes=notes, left_out=tuple(left_out))


def _unusable(
    data: SquadData, faults: dict[str, str], limit: int, skip_bad_answers: Skip
) -> UserError:
    """Returns the error for questions without a usable answer, by the faults of their ids."""
    ids = [f"{id} ({fault})" for id, fault in faults.items()]
    # Many questions have one cause, and leaving them out would spoil the training.
    if set(faults.values()) == {_NO_ANSWER} and len(faults) < len(data.questions):
        remedy = "for SQuAD 2.0 give --version_2_with_negative"
    else:
        remedy = "fix them"
    if skip_bad_answers:
        remedy += f", or give their number, --skip_bad_answers={len(faults)}"
    elif len(faults) <= limit:
        remedy += ", or leave them out with --skip_bad_answers"
    return UserError(
        f"{data.path}: {len(faults):,} of {len(data.questions):,} questions have no usable answer: "
        f"{_some(ids)}; {remedy}"
    )


def _repair_notes(path: str, repaired: list[str], longest_move: int, bad: list[str]) -> list[str]:
    """Returns a note on the ids of repaired and bad answers, or none if there are none."""
    parts = []
    if repaired:
        parts.append(
            f"answers repaired, moved by at most {longest_move} characters: {len(repaired):,} "
            f"({_some(repaired)})"
        )
    if bad:
        parts.append(f"questions skipped, no usable answer: {len(bad):,} ({_some(bad)})")
    if not parts:
        return []
    return [f"{path}: {'; '.join(parts)}"]


def _usable_answer(question: Question, context: str) -> tuple[Answer | None, str]:
    """Returns (the first answer, moved if necessary, "") or (None, its fault)."""
    if not question.answers:
        return None, _NO_ANSWER
    answer = question.answers[0]
    if not answer.text.strip():
        return None, "its text is empty"
    # Python takes a negative start from the end of the text, where the answer may stand by chance.
    if answer.start >= 0 and context.startswith(answer.text, answer.start):
        return answer, ""
    # In a text of ASCII all units are characters.
    for encoding in () if context.isascii() else ("utf-16-le", "utf-8"):
        start = character_position(context, answer.start, encoding)
        if start >= 0 and context.startswith(answer.text, start):
            return Answer(answer.text, start), ""
    # Edited paragraphs often differ from the answer in line breaks or double spaces.
    words = r"\s+".join(re.escape(value) for value in answer.text.split())
    first_start = max(answer.start - REPAIR_REACH, 0)
    last_start = answer.start + REPAIR_REACH
    # An answer may be up to twice as long with other white space.
    searched = context[: max(last_start, 0) + 2 * len(answer.text)]
    best: tuple[tuple[bool, int, int], Answer] | None = None
    # Lookahead consumes nothing, so that overlapping occurrences are found, too.
    for match in re.compile(f"(?=({words}))").finditer(searched, first_start):
        start, end = match.span(1)
        if start > last_start:
            break
        # Whole words come first, then the nearest occurrence, then the first one.
        rank = (_cuts_word(context, start, end), abs(start - answer.start), start)
        if best is None or rank < best[0]:
            best = (rank, Answer(context[start:end], start))
    if best is None:
        return None, (
            f"{answer.text[:40]!r} is not within {REPAIR_REACH} characters of answer_start "
            f"{answer.start}"
        )
    return best[1], ""


def _cuts_word(context: str, start: int, end: int) -> bool:
    """Returns whether context[start:end] begins or ends inside a word."""
    cuts_start = start > 0 and context[start - 1 : start + 1].isalnum()
    cuts_end = end < len(context) and context[end - 1 : end + 1].isalnum()
    return cuts_start or cuts_end


def _some(ids: list[str]) -> str:
    """Returns the first ids, separated by commas, and the number of the others."""
    text = ", ".join(ids[:_MAX_NAMED_IDS])
    if len(ids) > _MAX_NAMED_IDS:
        text += f" and {len(ids) - _MAX_NAMED_IDS:,} more"
    return text
