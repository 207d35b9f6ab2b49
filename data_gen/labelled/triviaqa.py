"""TriviaQA-Wiki → training data in the layout of SQuAD 1.1, as the paper's footnote 12 describes
it.

A question of TriviaQA comes with Wikipedia articles and with all names of its answer, but not with
the place of the answer in the articles. What is trained on is each article's first 400 tokens, if
one of the names is among them; the answer is the first place where it stands. Behind
`data_gen/convert_triviaqa.py`. Input: the official archive. Output: a file for `squad.read_squad`.
"""

import functools
import os
import re

from bert_common import files, json_files, outputs
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.options import TriviaQaOptions

# Fields of a file of questions, see `json_files.check_object`.
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


def run(options: TriviaQaOptions) -> None:
    """The command: checks the paths, converts, writes the SQuAD file, prints what came of it.

    Raises:
      UserError: as `convert`; or the output can't be written.
    """
    qa_file = files.check_readable(options.qa_file, "qa_file")
    outputs.prepare_output_file(options.output_file, "output_file", {"qa_file": [qa_file]})
    contents, report = convert(qa_file, options.evidence_dir, options.max_tokens)
    json_files.write(options.output_file, contents)
    print(report)


def convert(qa_file: str, evidence_dir: str, max_tokens: int) -> tuple[dict, str]:
    """Makes SQuAD data of TriviaQA's.

    Args:
      evidence_dir: the folder that holds the articles which `qa_file` names, e.g.
        evidence/wikipedia.
      max_tokens: how many tokens, as white space delimits them, of each article are used.

    Returns:
      (contents of a SQuAD file, a report of a few lines). The id of a question about an article is
      QuestionId--Filename.

    Raises:
      UserError: `qa_file` is not JSON or not of TriviaQA's layout (names the key), an article is
        not UTF-8, no article is there at all, or no example comes of it.
    """
    contents = json_files.read(qa_file)
    json_files.check_object(contents, _FIELDS, qa_file)
    entries = contents["Data"]
    missing: list[str] = []
    articles = without_answer = examples = answerable = 0
    context_of = functools.cache(functools.partial(_read_start, evidence_dir, max_tokens))
    paragraphs: dict[str, dict] = {}
    with Progress("converting", len(entries), "questions") as progress:
        for entry in entries:
            answer = entry["Answer"]
            names = list(map(str, [answer["Value"], *answer["Aliases"]]))
            spellings = list(map(str, answer.get("NormalizedAliases") or []))
            before = examples
            # File name → title of the articles, each once.
            titles = {
                page["Filename"]: str(page.get("Title", page["Filename"]))
                for page in reversed(entry["EntityPages"])
            }
            for filename in dict.fromkeys(page["Filename"] for page in entry["EntityPages"]):
                articles += 1
                context = context_of(filename)
                place = None if context is None else find_answer(context, names, spellings)
                if context is None:
                    missing.append(filename)
                elif place is None:
                    without_answer += 1
                else:
                    article = paragraphs.setdefault(
                        filename,
                        {
                            "title": titles[filename],
                            "paragraphs": [{"context": context, "qas": []}],
                        },
                    )
                    article["paragraphs"][0]["qas"].append(
                        {
                            "id": f"{entry['QuestionId']}--{filename}",
                            "question": entry["Question"],
                            "answers": [{"text": context[slice(*place)], "answer_start": place[0]}],
                        }
                    )
                    examples += 1
            answerable += examples > before
            progress.advance(1, examples=examples)
    if articles and len(missing) == articles:
        raise UserError(
            f"--evidence_dir: {evidence_dir} holds none of the {articles:,} files that {qa_file} names, e.g. "
            f"{missing[0]}"
        )
    if not examples:
        raise UserError(
            f"{qa_file}: no example comes of its {len(entries):,} questions and {articles:,} articles: no "
            f"article names an answer in its first {max_tokens} tokens"
        )
    lost = (
        f"\n{len(missing):,} articles left out: no such evidence file ({', '.join(missing[:5])}"
        + (", ...)" if len(missing) > 5 else ")")
        if missing
        else ""
    )
    return {"version": "1.1", "data": list(paragraphs.values())}, (
        f"{len(entries):,} questions, {articles:,} articles for them\n"
        f"{without_answer:,} articles left out: no answer among their first tokens{lost}\n"
        f"{examples:,} examples about {len(paragraphs):,} contexts, from {answerable:,} of the questions"
    )


def find_answer(
    context: str, names: list[str], other_spellings: list[str]
) -> tuple[int, int] | None:
    """The first occurrence of an answer, as (start, end) in characters, or None.

    As whole words, with any white space between them; the longest of the names that begin at the
    same place. First the names as they are written are tried, then these and the other spellings
    without regard to case.

    Args:
      names: e.g. ["Sinclair Lewis", "Harry Sinclair Lewis"].
      other_spellings: e.g. ["sinclair lewis"]; TriviaQA's are in lower case and without
        punctuation.
    """
    for plain, spellings, flags in (
        (str, names, 0),
        (str.lower, names + other_spellings, re.IGNORECASE),
    ):
        # Names by the dozen, and nearly all of them are not there: a plain search leaves only few
        # for the expression.
        text = plain(" ".join(context.split()))
        candidates = sorted(
            (name for name in spellings if name.strip() and plain(" ".join(name.split())) in text),
            key=len,
            reverse=True,
        )
        pattern = "|".join(r"\s+".join(map(re.escape, name.split())) for name in candidates)
        if candidates and (match := re.search(rf"(?<!\w)(?:{pattern})(?!\w)", context, flags)):
            return match.span()
    return None


def _read_start(directory: str, max_tokens: int, filename: str) -> str | None:
    """The first `max_tokens` tokens of a file, white space between them as it is; None where there
    is no such file."""
    path = os.path.join(directory, filename)
    try:
        with files.open_file(path) as file:
            text = file.read().lstrip()
    except (FileNotFoundError, IsADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 ({error.reason}): fix it, or remove it and it is left out"
        ) from None
    rest = "".join(text.split(maxsplit=max_tokens)[max_tokens:])
    return text[: len(text) - len(rest)].rstrip()
