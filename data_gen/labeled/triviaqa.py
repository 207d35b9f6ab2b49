"""TriviaQA-Wiki → training data in the format of SQuAD 1.1, as described in footnote 12 of the
paper.

A question of TriviaQA comes with Wikipedia articles and with all names of its answer, but not with
the position of the answer in the articles. Training uses the first 400 tokens of each article that
contains one of the names there; the answer is the first occurrence. Input: the official archive.
Output: a file for `squad.read_squad`. The command is `data_gen/convert_triviaqa.py`.
"""

import functools
import os
import re

from bert_common import files, json_files, outputs
from bert_common.errors import UserError, say
from bert_common.progress import Progress
from data_gen.options import TriviaQaOptions

# Fields of a file of questions, for `json_files.check_object`.
_FIELDS = {
    "Data": [
        {
            "QuestionId": str,
            "Question": str,
            "EntityPages": [{"Filename": str}],
            "Answer": {"Value": str, "Aliases": list, "NormalizedAliases": list | None},
        }
    ]
}
# Number of missing files that the report names.
_MAX_NAMED_FILES = 5


def run(options: TriviaQaOptions) -> None:
    """Runs the command: checks the paths, converts, writes the SQuAD file and prints a report.

    Raises:
      UserError: as `convert`; or the output can't be written.
    """
    qa_file = files.check_readable(options.qa_file, "qa_file")
    outputs.prepare_output_file(options.output_file, "output_file")
    contents, report = convert(qa_file, options.evidence_dir, options.max_tokens)
    json_files.write(options.output_file, contents)
    say(report)


def convert(qa_file: str, evidence_dir: str, max_tokens: int) -> tuple[dict, str]:
    """Converts TriviaQA's data to SQuAD's.

    Args:
      evidence_dir: the folder with the articles that `qa_file` names, e.g. evidence/wikipedia.
      max_tokens: number of tokens, separated by white space, to use of each article.

    Returns:
      (contents of a SQuAD file, a report of a few lines). The id of a question about an article is
      QuestionId--Filename.

    Raises:
      UserError: `qa_file` is not JSON or not in TriviaQA's format (names the key), an article lies
        outside of `evidence_dir` or is not UTF-8, all articles are missing, or there is no example.
    """
    entries = _read_questions(qa_file)
    # Articles recur under several questions.
    read_context = functools.cache(functools.partial(_read_start, evidence_dir, max_tokens))
    articles: dict[str, dict] = {}
    missing: list[str] = []
    num_articles = 0
    num_without_answer = 0
    num_examples = 0
    num_answerable = 0
    with Progress("converting", len(entries), "questions") as progress:
        for entry in entries:
            answer = entry["Answer"]
            # Aliases may be numbers in JSON.
            names = [str(value) for value in [answer["Value"], *answer["Aliases"]]]
            spellings = [str(value) for value in (answer.get("NormalizedAliases") or [])]
            is_answerable = False
            for filename, title in _titles(entry).items():
                num_articles += 1
                context = read_context(filename)
                if context is None:
                    missing.append(filename)
                    continue
                span = find_answer(context, names, spellings)
                if span is None:
                    num_without_answer += 1
                    continue
                # All questions about an article share its paragraph.
                if filename not in articles:
                    articles[filename] = {
                        "title": title,
                        "paragraphs": [{"context": context, "qas": []}],
                    }
                start, end = span
                articles[filename]["paragraphs"][0]["qas"].append(
                    {
                        "id": f"{entry['QuestionId']}--{filename}",
                        "question": entry["Question"],
                        "answers": [{"text": context[start:end], "answer_start": start}],
                    }
                )
                num_examples += 1
                is_answerable = True
            num_answerable += is_answerable
            progress.advance(1, examples=num_examples)
    # Single missing articles are reported; if all are missing, the folder is wrong.
    if num_articles and len(missing) == num_articles:
        raise UserError(
            f"--evidence_dir: {evidence_dir} holds none of the {num_articles:,} files that "
            f"{qa_file} names, e.g. {missing[0]}"
        )
    if not num_examples:
        raise UserError(
            f"{qa_file}: no example comes of its {len(entries):,} questions and "
            f"{num_articles:,} articles: no article names an answer in its first {max_tokens} "
            "tokens"
        )
    report = [
        f"{len(entries):,} questions, {num_articles:,} articles for them",
        f"{num_without_answer:,} articles left out: no answer among their first tokens",
    ]
    if missing:
        named = missing[:_MAX_NAMED_FILES]
        if len(missing) > len(named):
            named.append("...")
        report.append(
            f"{len(missing):,} articles left out: no such evidence file ({', '.join(named)})"
        )
    report.append(
        f"{num_examples:,} examples about {len(articles):,} contexts, from {num_answerable:,} of "
        "the questions"
    )
    return {"version": "1.1", "data": list(articles.values())}, "\n".join(report)


def _read_questions(qa_file: str) -> list[dict]:
    """Returns the questions of a file; the first of equal ids counts, and the others are said."""
    contents = json_files.read(qa_file)
    json_files.check_object(contents, _FIELDS, qa_file)
    entries: dict[str, dict] = {}
    for entry in contents["Data"]:
        entries.setdefault(entry["QuestionId"], entry)
        for filename in _titles(entry):
            if files.leads_out(filename):
                raise UserError(f"{qa_file}: {filename!r} leads out of --evidence_dir")
    repeated = len(contents["Data"]) - len(entries)
    if repeated:
        say(f"warning: {repeated:,} questions left out: their ids are there before")
    return list(entries.values())


def _titles(entry: dict) -> dict[str, str]:
    """Returns file name → title of a question's articles; the first of equal names counts."""
    titles: dict[str, str] = {}
    for page in entry["EntityPages"]:
        titles.setdefault(page["Filename"], str(page.get("Title", page["Filename"])))
    return titles


def find_answer(
    context: str, names: list[str], other_spellings: list[str]
) -> tuple[int, int] | None:
    """Returns the first occurrence of an answer, as (start, end) in characters, or None.

    It consists of whole words, with any white space between them; of names that begin at the same
    position the longest counts. Names are tried as they are written first, then they and the other
    spellings regardless of case.

    Args:
      names: e.g. ["Sinclair Lewis", "Harry Sinclair Lewis"].
      other_spellings: e.g. ["sinclair lewis"]; TriviaQA's are in lower case and without
        punctuation.
    """
    span = _find_first(context, names, ignore_case=False)
    if span is None:
        span = _find_first(context, names + other_spellings, ignore_case=True)
    return span


def _find_first(context: str, names: list[str], ignore_case: bool) -> tuple[int, int] | None:
    # An answer has dozens of names, of which hardly any occurs: a plain search leaves few of them
    # for the slower regular expression.
    plain_context = _plain(context, ignore_case)
    candidates = []
    for name in names:
        plain_name = _plain(name, ignore_case)
        if plain_name and plain_name in plain_context:
            candidates.append(name)
    if not candidates:
        return None
    # The first alternative that matches wins in a regular expression.
    candidates.sort(key=len, reverse=True)
    patterns = [r"\s+".join(re.escape(item) for item in name.split()) for name in candidates]
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    match = re.search(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", context, flags)
    return match and match.span()


def _plain(text: str, ignore_case: bool) -> str:
    """Returns a text with single spaces, in lower case to ignore the case."""
    text = " ".join(text.split())
    if ignore_case:
        text = text.lower()
    return text


def _read_start(directory: str, max_tokens: int, filename: str) -> str | None:
    """Returns the first `max_tokens` tokens of a file with the white space between them, or None if
    there is no such file."""
    path = os.path.join(directory, filename)
    try:
        with files.open_file(path) as file:
            text = file.read().lstrip()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 ({error.reason}): fix it, or remove it and it is left out"
        ) from None
    # The last is Python's for a name with a NUL.
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError):
        return None
    # str.split() keeps everything after the last split in one piece.
    rest = "".join(text.split(maxsplit=max_tokens)[max_tokens:])
    return text[: len(text) - len(rest)].rstrip()
