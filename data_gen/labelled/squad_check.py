"""Checks what SQuAD data must have to be trained on, and repairs answers that stand a little beside their place.

    checked = check_training(read_squad("train-v1.1.json", "train_file"), version_2_with_negative=False)
    checked.data, checked.report()

Before this: `data_gen/labelled/squad.py`. After it: `data_gen/labelled/squad_features.py`.
"""

import dataclasses
import re

from common.errors import UserError
from data_gen.labelled.squad import Answer, Question, SquadData

# Characters between `answer_start` and the answer's text. Stripped blanks, counting bytes or UTF-16 units in place of
# characters and edited paragraphs make small errors; far away the same text is likely about something else.
REPAIR_REACH = 100

# Ids named in a message.
_MOST_IDS = 5


@dataclasses.dataclass(frozen=True)
class CheckedTraining:
  """Data to be trained on.

  Attributes:
    data: the questions that are left, in their order. Each is impossible, or has exactly one answer, whose text
      stands in its context at its start, character by character.
    repaired_ids: questions whose answer was moved, or taken from the context because it has other white space there.
    farthest_repair: the greatest distance by which an answer was moved, in characters.
    skipped_ids: questions left out.
  """

  data: SquadData
  repaired_ids: tuple[str, ...]
  farthest_repair: int
  skipped_ids: tuple[str, ...]

  def report(self) -> str:
    """One line, or "" where nothing was done."""
    parts = []
    if self.repaired_ids:
      parts.append(f"answers repaired, moved by at most {self.farthest_repair} characters: "
                   f"{len(self.repaired_ids):,} ({_some(self.repaired_ids)})")
    if self.skipped_ids:
      parts.append(f"questions skipped, no usable answer: {len(self.skipped_ids):,} ({_some(self.skipped_ids)})")
    return f"{self.data.path}: {'; '.join(parts)}" if parts else ""


def check_training(data: SquadData, *, version_2_with_negative: bool, skip_bad_answers: bool = False
                   ) -> CheckedTraining:
  """Checks the first answer of every question, the one that counts in training.

  An answer whose text is not at `answer_start` is moved to the nearest place within `REPAIR_REACH` characters where
  it is; places at which it is not part of a longer word go first. How white space is written does not matter.

  Args:
    data: any SQuAD data.
    version_2_with_negative: questions may be marked as impossible.
    skip_bad_answers: leave out questions without a usable answer, don't refuse them.

  Raises:
    UserError: questions are marked as impossible but that was not said; a question has no usable answer (and is not
      to be skipped); no question is left.
  """
  if data.has_impossible and not version_2_with_negative:
    ids = [question.id for question in data.questions if question.is_impossible]
    raise UserError(f"{data.path}: questions are marked is_impossible ({len(ids):,}: {_some(ids)}): this is SQuAD 2.0, "
                    "give --version_2_with_negative")
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
    raise UserError(f"{data.path}: {len(bad):,} of {len(data.questions):,} questions have no usable answer: "
                    f"{_some([f'{id} ({reason})' for id, reason in bad.items()])}; mend them, or leave them out with "
                    "--skip_bad_answers")
  if not kept:
    raise UserError(f"{data.path}: no question has a usable answer, nothing is left to train on")
  return CheckedTraining(dataclasses.replace(data, questions=kept), tuple(repaired), farthest, tuple(bad))


def _usable_answer(question: Question, context: str) -> tuple[Answer, str] | tuple[None, str]:
  """(the first answer, moved if need be, "") or (None, what is wrong)."""
  if not question.answers:
    return None, "it has no answer"
  answer = question.answers[0]
  if not answer.text.strip():
    return None, "its text is empty"
  if answer.start >= 0 and context.startswith(answer.text, answer.start):
    return answer, ""
  found = _find_nearest(context, answer)
  if found is None:
    return None, f"{answer.text[:40]!r} is not within {REPAIR_REACH} characters of answer_start {answer.start}"
  return found, ""


def _find_nearest(context: str, answer: Answer) -> Answer | None:
  words = r"\s+".join(map(re.escape, answer.text.split()))
  # Looking ahead consumes nothing, so that places which overlap are found.
  pattern = re.compile(f"(?=({words}))")
  first = max(answer.start - REPAIR_REACH, 0)
  last = answer.start + REPAIR_REACH
  spans = [match.span(1) for match in pattern.finditer(context[:max(last, 0) + 2 * len(answer.text)], first)
           if match.start() <= last]
  if not spans:
    return None
  start, end = min(spans, key=lambda span: (_is_part_of_word(context, *span), abs(span[0] - answer.start)))
  return Answer(context[start:end], start)


def _is_part_of_word(context: str, start: int, end: int) -> bool:
  return (start > 0 and context[start - 1:start + 1].isalnum()) or (
    end < len(context) and context[end - 1:end + 1].isalnum())


def _some(ids: list[str] | tuple[str, ...]) -> str:
  more = len(ids) - _MOST_IDS
  return ", ".join(ids[:_MOST_IDS]) + (f" and {more:,} more" if more > 0 else "")
