"""Makes a tagged corpus with documents out of text, for measuring what --context of run_ner.py is worth.

  python data_gen/prepare_corpus.py --input_file='novels/*.txt' --output_file=train.txt
  python benchmarks/tag_names.py --input_file=train.txt --output_file=train.conll

No corpus of named entities with documents is free to give away, so a word with a capital letter inside a sentence is
taken for a name. At the beginning of a sentence or after a quotation mark it is one if the document has it elsewhere
inside a sentence and nowhere in small letters. Fine-tune an uncased model: it does not see the letters, and has to know
from the context. docs/ner.md has the commands.
"""

import dataclasses
import itertools

import numpy as np

from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import Options, option
from data_gen.tokenization.basic import basic_tokenize

# A word after these may have a capital letter without being a name.
_OPENING = frozenset(".!?:;\"'“”‘’()[]—-–*_")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagNamesOptions(Options):
  """Text, and how much of it."""

  input_file: str = option(None, "Prepared text: a sentence a line, blank lines between documents.", required=True)
  output_file: str = option(None, "The sentences with their tags, in the layout of CoNLL-2003.", required=True)
  sentences: int = option(1500, "So many at most.", minimum=1)
  document_sentences: int = option(30, "The first ones of every document.", minimum=1)


def tag_names(document: list[str]) -> list[list[tuple[str, str]]]:
  """(word, tag) of the sentences of a document, tags in IOB2; see the top of this file.

  Args:
    document: sentences.
  """
  sentences = [basic_tokenize(sentence, do_lower_case=False) for sentence in document]
  inside = {word for words in sentences for before, word in itertools.pairwise(words)
            if before not in _OPENING and _is_capitalised(word)}
  small = {word for words in sentences for word in words if word[:1].islower()}
  tagged = []
  for words in sentences:
    tags, last = [], "O"
    for before, word in zip([".", *words], words, strict=False):
      is_name = _is_capitalised(word) and (
          before not in _OPENING or (word in inside and word.lower() not in small))
      last = "O" if not is_name else "B-NAME" if last == "O" else "I-NAME"
      tags.append(last)
    tagged.append(list(zip(words, tags, strict=True)))
  return tagged


def main(options: TagNamesOptions) -> None:
  """Writes the first sentences of documents, which are spread over the whole text.

  Raises:
    UserError: the text can't be read, or no document has two sentences.
  """
  with files.open_file(files.check_readable(options.input_file, "input_file")) as file:
    documents = [[line.rstrip("\n") for line in lines][:options.document_sentences]
                 for is_text, lines in itertools.groupby(file, key=lambda line: bool(line.strip())) if is_text]
  documents = [document for document in documents if len(document) > 1]
  if not documents:
    raise UserError(f"{options.input_file}: no document has two sentences; expected are sentences, one a line, with "
                    "blank lines between documents, as data_gen/prepare_corpus.py writes them")
  count = min(len(documents), -(-options.sentences // options.document_sentences))
  written = 0
  with files.atomic_write(options.output_file) as file:
    for number in np.linspace(0, len(documents) - 1, count).round().astype(int):
      file.write("-DOCSTART- O\n\n")
      for sentence in tag_names(documents[number])[:options.sentences - written]:
        file.write("".join(f"{word} {tag}\n" for word, tag in sentence) + "\n")
        written += 1
  print(f"{written:,} sentences of {count:,} documents")


def _is_capitalised(word: str) -> bool:
  return word[:1].isupper() and word != "I"


if __name__ == "__main__":
  cli.run(TagNamesOptions, main)
