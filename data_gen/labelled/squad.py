"""SQuAD files, versions 1.1 and 2.0, as arrays of contexts and questions.

    data = read_squad("dev-v2.0.json", "predict_file")
    data.questions[0].text, data.contexts[data.questions[0].context]

Before this: a file of https://rajpurkar.github.io/SQuAD-explorer or one of the same layout. After it:
`data_gen/labelled/squad_check.py` for training data, then `data_gen/labelled/squad_features.py`.
"""

import dataclasses

from common import files
from common.errors import UserError
from data_gen.labelled.json_fields import kind_of, read_field


@dataclasses.dataclass(frozen=True)
class Answer:
  """A piece of a context.

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
    text: may be empty (see `SquadData.empty_question_ids`).
    context: its number in `SquadData.contexts`.
    answers: all that the file gives; none where there are none, or where the file does not tell.
    is_impossible: version 2.0 says that the context does not hold the answer.
  """

  id: str
  text: str
  context: int
  answers: tuple[Answer, ...]
  is_impossible: bool


@dataclasses.dataclass(frozen=True)
class SquadData:
  """What a SQuAD file holds.

  Attributes:
    path: the file, for messages.
    contexts: the paragraphs, in the order of the file; may be empty texts.
    questions: in the order of the file; at least one.
    has_answers: every question has an entry "answers" (which may be an empty list): predictions can be scored.
    has_impossible: some question is marked as impossible to answer, so this is version 2.0.
  """

  path: str
  contexts: list[str]
  questions: list[Question]
  has_answers: bool
  has_impossible: bool

  @property
  def empty_question_ids(self) -> list[str]:
    """Questions without text, likely a mistake. They get an answer as in the original: what stands out without one."""
    return [question.id for question in self.questions if not question.text.strip()]


def read_squad(path: str, flag: str) -> SquadData:
  """Reads a SQuAD file, as `read_squad_examples` of the original, and checks its shape.

  "is_impossible" and "answers" may be absent. Whether answers stand where they should is another question:
  `data_gen.squad_check.check_training`.

  Args:
    path: the file.
    flag: name of the flag the path came from, for errors.

  Raises:
    UserError: the file is missing, empty, not JSON (names line and column) or of another shape (names the key, e.g.
      data[3].paragraphs[0].qas[2].id), or a question has the id of another one, or there is none at all.
  """
  contents = files.read_json(files.check_readable(path, flag))
  if not isinstance(contents, dict):
    raise UserError(f"--{flag}: {path} is no SQuAD file: it holds {kind_of(contents)}, not an object with the key "
                    "data")
  contexts: list[str] = []
  questions: list[Question] = []
  places: dict[str, str] = {}
  has_answers = True
  for a, article in enumerate(read_field(contents, "data", list, path, "")):
    for p, paragraph in enumerate(read_field(article, "paragraphs", list, path, f"data[{a}]")):
      where = f"data[{a}].paragraphs[{p}]"
      contexts.append(read_field(paragraph, "context", str, path, where))
      for q, entry in enumerate(read_field(paragraph, "qas", list, path, where)):
        place = f"{where}.qas[{q}]"
        question = _read_question(entry, len(contexts) - 1, path, place)
        first = places.setdefault(question.id, place)
        if first != place:
          raise UserError(f"{path}: {place} has the id {question.id!r} of {first}: predictions are filed under ids, so "
                          "these must differ")
        questions.append(question)
        has_answers = has_answers and "answers" in entry
  if not questions:
    raise UserError(f"--{flag}: {path} holds no question")
  return SquadData(path, contexts, questions, has_answers, any(question.is_impossible for question in questions))


def _read_question(entry: object, context: int, path: str, where: str) -> Question:
  id = read_field(entry, "id", str, path, where)
  text = read_field(entry, "question", str, path, where)
  answers = []
  if "answers" in entry:
    for n, answer in enumerate(read_field(entry, "answers", list, path, where)):
      place = f"{where}.answers[{n}]"
      answers.append(Answer(read_field(answer, "text", str, path, place),
                            read_field(answer, "answer_start", int, path, place)))
  is_impossible = "is_impossible" in entry and read_field(entry, "is_impossible", bool, path, where)
  return Question(id, text, context, tuple(answers), is_impossible)
