"""Texts that every machine with this project's environment holds, for benchmarks that were given no file."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import Options, option

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = "vocab/english_uncased/vocab.txt"


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
  """Vocabulary."""

  vocab_file: str = option(str(PROJECT / VOCABULARY), "WordPiece vocabulary, uncased.", default_text=VOCABULARY)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
  """Text."""

  text_file: str | None = option(None, "English text, a paragraph a line; comma-separated patterns.",
                                 default_text="the docstrings of the installed packages")

  def lines(self) -> list[str]:
    """The lines of --text_file that are not blank, or sentences of docstrings.

    Raises:
      UserError: see `files.expand_patterns`; or a file is not UTF-8, or there is no text.
    """
    with tempfile.TemporaryDirectory() as folder:
      patterns, lines = self.text_file or docstring_corpus(folder), []
      for path in files.expand_patterns(patterns, "text_file"):
        try:
          with open(path, encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in file if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
          raise UserError(f"--text_file: can't read {path} as UTF-8 text: {error}") from None
    if not lines:
      raise UserError(f"--text_file: no text in {patterns}")
    return lines


def docstring_corpus(folder: str) -> str:
  """Writes a prepared corpus of the docstrings of the installed packages into a folder; returns its path."""
  docstrings, corpus = os.path.join(folder, "docstrings.jsonl"), os.path.join(folder, "docstrings.txt")
  for script, *flags in (("data_gen/extract_docstrings.py", f"--output_file={docstrings}"),
                         ("data_gen/prepare_corpus.py", f"--input_file={docstrings}", f"--output_file={corpus}")):
    subprocess.run([sys.executable, str(PROJECT / script), *flags], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
  return corpus
