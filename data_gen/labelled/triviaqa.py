"""TriviaQA-Wiki → training data in the layout of SQuAD 1.1, as the paper's footnote 12 describes it.

A question of TriviaQA comes with Wikipedia articles and with all names of its answer, but not with the place of the
answer in the articles. What is trained on is each article's first 400 tokens, if one of the names is among them; the
answer is the first place where it stands. Behind `data_gen/convert_triviaqa.py`. Input: the official archive. Output: a
file for `squad.read_squad`.
"""

import dataclasses
import os
import re
from typing import Any

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.labelled.squad import kind_of, read_field
from data_gen.options import TriviaQaOptions

# Read of an article at first; more where these are fewer tokens than needed.
_CHARACTERS_PER_TOKEN = 10
# Missing files that are named.
_MOST_NAMES = 5


@dataclasses.dataclass
class Counts:
  """Counts of questions, articles and examples.

  Attributes:
    questions: in the file.
    articles: that the questions name, counted once for each question.
    missing: files that were not there, once for each question.
    missing_names: the first few of these.
    without_answer: articles that don't name the answer in their first tokens, once for each question.
    examples: questions about an article that were written.
    answerable_questions: questions of which at least one example was written.
    contexts: different articles among the examples.
  """

  questions: int = 0
  articles: int = 0
  missing: int = 0
  missing_names: list[str] = dataclasses.field(default_factory=list)
  without_answer: int = 0
  examples: int = 0
  answerable_questions: int = 0
  contexts: int = 0

  def report(self) -> str:
    """A few lines for the user."""
    lines = [f"{self.questions:,} questions, {self.articles:,} articles for them",
             f"{self.without_answer:,} articles left out: no answer among their first tokens"]
    if self.missing:
      more = ", ..." if self.missing > len(self.missing_names) else ""
      lines.append(f"{self.missing:,} articles left out: no such evidence file ({', '.join(self.missing_names)}{more})")
    lines.append(f"{self.examples:,} examples about {self.contexts:,} contexts, from {self.answerable_questions:,} of "
                 "the questions")
    return "\n".join(lines)


def run(options: TriviaQaOptions) -> None:
  """The command: checks the paths, converts, writes the SQuAD file, prints what came of it.

  Raises:
    UserError: as `convert`; or the articles are no directory, or the output can't be written.
  """
  qa_file = files.check_readable(options.qa_file, "qa_file")
  if not files.is_directory(options.evidence_dir):
    raise UserError(f"--evidence_dir: {options.evidence_dir} is no directory")
  files.prepare_output_file(options.output_file, "output_file", {"qa_file": [qa_file]})
  contents, counts = convert(qa_file, options.evidence_dir, options.max_tokens)
  json_files.write(options.output_file, contents)
  print(counts.report())


def convert(qa_file: str, evidence_dir: str, max_tokens: int) -> tuple[dict, Counts]:
  """Makes SQuAD data of TriviaQA's.

  Args:
    qa_file: e.g. wikipedia-train.json.
    evidence_dir: the folder that holds the articles which `qa_file` names, e.g. evidence/wikipedia.
    max_tokens: how many tokens, as white space delimits them, of each article are used.

  Returns:
    (contents of a SQuAD file, counts). The id of a question about an article is QuestionId--Filename.

  Raises:
    UserError: `qa_file` is not JSON or not of TriviaQA's layout (names the key), an article is not UTF-8, no article
      is there at all, or no example comes of it.
  """
  contents = json_files.read(qa_file, is_data=True)
  if not isinstance(contents, dict):
    raise UserError(f"{qa_file}: no TriviaQA file: it holds {kind_of(contents)}, not an object with the key Data")
  entries = read_field(contents, "Data", list, qa_file, "")
  counts = Counts()
  contexts: dict[str, str | None] = {}
  paragraphs: dict[str, dict] = {}
  with Progress("converting", len(entries), "questions") as progress:
    for number, entry in enumerate(entries):
      where = f"Data[{number}]"
      names = _read_names(entry, qa_file, where)
      id = read_field(entry, "QuestionId", str, qa_file, where)
      question = read_field(entry, "Question", str, qa_file, where)
      examples = counts.examples
      for filename, title in _read_pages(entry, qa_file, where).items():
        counts.articles += 1
        if filename not in contexts:
          contexts[filename] = _read_start(os.path.join(evidence_dir, filename), max_tokens)
        context = contexts[filename]
        if context is None:
          counts.missing += 1
          if len(counts.missing_names) < _MOST_NAMES:
            counts.missing_names.append(filename)
          continue
        place = find_answer(context, *names)
        if place is None:
          counts.without_answer += 1
          continue
        article = paragraphs.setdefault(filename, {"title": title, "paragraphs": [{"context": context, "qas": []}]})
        article["paragraphs"][0]["qas"].append({
          "id": f"{id}--{filename}", "question": question,
          "answers": [{"text": context[slice(*place)], "answer_start": place[0]}]})
        counts.examples += 1
      counts.questions += 1
      counts.answerable_questions += counts.examples > examples
      progress.advance(1, examples=counts.examples)
  counts.contexts = len(paragraphs)
  if counts.articles and counts.missing == counts.articles:
    raise UserError(f"--evidence_dir: {evidence_dir} holds none of the {counts.missing:,} files that {qa_file} names, "
                    f"e.g. {counts.missing_names[0]}")
  if not counts.examples:
    raise UserError(f"{qa_file}: no example comes of its {counts.questions:,} questions and {counts.articles:,} "
                    f"articles: no article names an answer in its first {max_tokens} tokens")
  return {"version": "1.1", "data": list(paragraphs.values())}, counts


def find_answer(context: str, names: list[str], other_spellings: list[str]) -> tuple[int, int] | None:
  """The first occurrence of an answer, as (start, end) in characters, or None.

  As whole words, with any white space between them; the longest of the names that begin at the same place. First the
  names as they are written are tried, then these and the other spellings without regard to case.

  Args:
    context: any text.
    names: e.g. ["Sinclair Lewis", "Harry Sinclair Lewis"].
    other_spellings: e.g. ["sinclair lewis"]; TriviaQA's are in lower case and without punctuation.
  """
  return _find_first(context, names, 0) or _find_first(context, names + other_spellings, re.IGNORECASE)


def _find_first(context: str, names: list[str], flags: int) -> tuple[int, int] | None:
  # Names by the dozen, and nearly all of them are not there: a plain search leaves only few for the expression.
  plain = _plain(context, flags)
  candidates = sorted((name for name in names if name.strip() and _plain(name, flags) in plain), key=len, reverse=True)
  if not candidates:
    return None
  pattern = "|".join(r"\s+".join(map(re.escape, name.split())) for name in candidates)
  match = re.search(rf"(?<!\w)(?:{pattern})(?!\w)", context, flags)
  return match.span() if match else None


def _plain(text: str, flags: int) -> str:
  text = " ".join(text.split())
  return text.lower() if flags & re.IGNORECASE else text


def _read_names(entry: Any, path: str, where: str) -> tuple[list[str], list[str]]:
  """(the names of the answer, their normalised spellings)."""
  answer = read_field(entry, "Answer", dict, path, where)
  where = f"{where}.Answer"
  names = [read_field(answer, "Value", str, path, where), *_read_texts(answer, "Aliases", path, where)]
  return names, _read_texts(answer, "NormalizedAliases", path, where) if "NormalizedAliases" in answer else []


def _read_texts(parent: dict, key: str, path: str, where: str) -> list[str]:
  texts = read_field(parent, key, list, path, where)
  for number, text in enumerate(texts):
    if type(text) is not str:
      raise UserError(f"{path}: {where}.{key}[{number}] must be text, not {kind_of(text)}")
  return texts


def _read_pages(entry: Any, path: str, where: str) -> dict[str, str]:
  """File name → title of the articles of a question, each once."""
  pages: dict[str, str] = {}
  for number, page in enumerate(read_field(entry, "EntityPages", list, path, where)):
    place = f"{where}.EntityPages[{number}]"
    filename = read_field(page, "Filename", str, path, place)
    pages.setdefault(filename, read_field(page, "Title", str, path, place) if "Title" in page else filename)
  return pages


def _read_start(path: str, max_tokens: int) -> str | None:
  """The text from the first to the `max_tokens`-th token of a file, white space between them as it is."""
  try:
    with files.open_file(path) as file:
      text = ""
      # A token is known to be whole when the next one has begun. Each read doubles the text, or endless tokens would be
      # split again and again.
      while part := file.read(max(max_tokens * _CHARACTERS_PER_TOKEN, len(text))):
        text += part
        if len(text.split(maxsplit=max_tokens)) > max_tokens:
          break
  except (FileNotFoundError, IsADirectoryError):
    return None
  except OSError as error:
    raise UserError(f"can't read {path}: {error.strerror}") from None
  except UnicodeDecodeError as error:
    raise UserError(f"{path} is not UTF-8 ({error.reason}): fix it, or remove it and it is left out") from None
  text = text.lstrip()
  parts = text.split(maxsplit=max_tokens)
  rest = len(parts[max_tokens]) if len(parts) > max_tokens else 0
  return text[:len(text) - rest].rstrip()
