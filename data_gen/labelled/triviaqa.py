"""TriviaQA-Wiki → training data in the layout of SQuAD 1.1, as the paper's footnote 12 describes it.

A question of TriviaQA comes with Wikipedia articles and with all names of its answer, but not with the place of the
answer in the articles. What is trained on is each article's first 400 tokens, if one of the names is among them; the
answer is the first place where it stands. Behind `data_gen/convert_triviaqa.py`. Input: the official archive. Output: a
file for `squad.read_squad`.
"""

import os
import re

from bert_common import files, json_files, outputs
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.labelled.squad import read_field
from data_gen.options import TriviaQaOptions


def run(options: TriviaQaOptions) -> None:
  """The command: checks the paths, converts, writes the SQuAD file, prints what came of it.

  Raises:
    UserError: as `convert`; or the articles are no directory, or the output can't be written.
  """
  qa_file = files.check_readable(options.qa_file, "qa_file")
  if not files.is_directory(options.evidence_dir):
    raise UserError(f"--evidence_dir: {options.evidence_dir} is no directory")
  outputs.prepare_output_file(options.output_file, "output_file", {"qa_file": [qa_file]})
  contents, report = convert(qa_file, options.evidence_dir, options.max_tokens)
  json_files.write(options.output_file, contents)
  print(report)


def convert(qa_file: str, evidence_dir: str, max_tokens: int) -> tuple[dict, str]:
  """Makes SQuAD data of TriviaQA's.

  Args:
    qa_file: e.g. wikipedia-train.json.
    evidence_dir: the folder that holds the articles which `qa_file` names, e.g. evidence/wikipedia.
    max_tokens: how many tokens, as white space delimits them, of each article are used.

  Returns:
    (contents of a SQuAD file, a report of a few lines). The id of a question about an article is QuestionId--Filename.

  Raises:
    UserError: `qa_file` is not JSON or not of TriviaQA's layout (names the key), an article is not UTF-8, no article
      is there at all, or no example comes of it.
  """
  entries = read_field(json_files.read(qa_file), "Data", list, qa_file, "")
  missing: list[str] = []
  articles = without_answer = examples = answerable = 0
  contexts: dict[str, str | None] = {}
  paragraphs: dict[str, dict] = {}
  with Progress("converting", len(entries), "questions") as progress:
    for number, entry in enumerate(entries):
      where = f"Data[{number}]"
      id, question = (read_field(entry, key, str, qa_file, where) for key in ("QuestionId", "Question"))
      answer = read_field(entry, "Answer", dict, qa_file, where)
      names = [read_field(answer, "Value", str, qa_file, f"{where}.Answer"),
               *map(str, read_field(answer, "Aliases", list, qa_file, f"{where}.Answer"))]
      spellings = [*map(str, read_field(answer, "NormalizedAliases", list, qa_file, f"{where}.Answer")
                        if "NormalizedAliases" in answer else ())]
      # File name → title of the articles, each once.
      titles: dict[str, str] = {}
      for page_number, page in enumerate(read_field(entry, "EntityPages", list, qa_file, where)):
        filename = read_field(page, "Filename", str, qa_file, f"{where}.EntityPages[{page_number}]")
        titles.setdefault(filename, str(page.get("Title", filename)))
      before = examples
      for filename, title in titles.items():
        articles += 1
        if filename not in contexts:
          contexts[filename] = _read_start(os.path.join(evidence_dir, filename), max_tokens)
        context = contexts[filename]
        if context is None:
          missing.append(filename)
          continue
        place = find_answer(context, names, spellings)
        if place is None:
          without_answer += 1
          continue
        article = paragraphs.setdefault(filename, {"title": title, "paragraphs": [{"context": context, "qas": []}]})
        article["paragraphs"][0]["qas"].append({
          "id": f"{id}--{filename}", "question": question,
          "answers": [{"text": context[slice(*place)], "answer_start": place[0]}]})
        examples += 1
      answerable += examples > before
      progress.advance(1, examples=examples)
  if articles and len(missing) == articles:
    raise UserError(f"--evidence_dir: {evidence_dir} holds none of the {articles:,} files that {qa_file} names, e.g. "
                    f"{missing[0]}")
  if not examples:
    raise UserError(f"{qa_file}: no example comes of its {len(entries):,} questions and {articles:,} articles: no "
                    f"article names an answer in its first {max_tokens} tokens")
  lines = [f"{len(entries):,} questions, {articles:,} articles for them",
           f"{without_answer:,} articles left out: no answer among their first tokens"]
  if missing:
    lines.append(f"{len(missing):,} articles left out: no such evidence file ({', '.join(missing[:5])}"
                 f"{', ...' if len(missing) > 5 else ''})")
  lines.append(f"{examples:,} examples about {len(paragraphs):,} contexts, from {answerable:,} of the questions")
  return {"version": "1.1", "data": list(paragraphs.values())}, "\n".join(lines)


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
  plain = str.lower if flags & re.IGNORECASE else str
  text = plain(" ".join(context.split()))
  candidates = sorted((name for name in names if name.strip() and plain(" ".join(name.split())) in text), key=len,
                      reverse=True)
  if not candidates:
    return None
  pattern = "|".join(r"\s+".join(map(re.escape, name.split())) for name in candidates)
  match = re.search(rf"(?<!\w)(?:{pattern})(?!\w)", context, flags)
  return match.span() if match else None


def _read_start(path: str, max_tokens: int) -> str | None:
  """The text from the first to the `max_tokens`-th token of a file, white space between them as it is."""
  try:
    with files.open_file(path) as file:
      text = file.read().lstrip()
  except (FileNotFoundError, IsADirectoryError):
    return None
  except UnicodeDecodeError as error:
    raise UserError(f"{path} is not UTF-8 ({error.reason}): fix it, or remove it and it is left out") from None
  parts = text.split(maxsplit=max_tokens)
  rest = len(parts[max_tokens]) if len(parts) > max_tokens else 0
  return text[:len(text) - rest].rstrip()
