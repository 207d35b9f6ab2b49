"""Texts that every machine with this project's environment holds, for benchmarks that were given no file."""

import dataclasses
import os
import pathlib
import random
import string
import subprocess
import sys
import tempfile
import zlib

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import Options, option

PROJECT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = "vocab/english_uncased/vocab.txt"
# Where the letters a to z go in each script: 26 letters of it, beginning at a code point.
_SCRIPTS = {"Greek": 0x3B1, "Cyrillic": 0x430, "Armenian": 0x561, "Hebrew": 0x5D0, "Arabic": 0x627, "Devanagari": 0x915,
            "Thai": 0xE01, "Georgian": 0x10D0, "Hangul": 0xAC00, "accented": 0xE0, "ideographs": 0x4E00}
# Ideographs stand for words rather than letters in this many different shapes.
_IDEOGRAPHS = 2500


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
    """The lines of --text_file that are not blank, or sentences of docstrings."""
    if self.text_file:
      return read_lines(self.text_file, "text_file")
    with tempfile.TemporaryDirectory() as folder:
      return read_lines(docstring_corpus(folder), "text_file")


def read_lines(patterns: str, flag: str) -> list[str]:
  """The lines of text files that are not blank.

  Raises:
    UserError: see `files.expand_patterns`; or a file is not UTF-8 or has no text.
  """
  lines = []
  for path in files.expand_patterns(patterns, flag):
    try:
      with open(path, encoding="utf-8") as file:
        lines += [line.rstrip("\n") for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
      raise UserError(f"--{flag}: can't read {path} as UTF-8 text: {error}") from None
  if not lines:
    raise UserError(f"--{flag}: no text in {patterns}")
  return lines


def run_script(script: str, *flags: str) -> None:
  """Runs a script of the project without its output."""
  subprocess.run([sys.executable, str(PROJECT / script), *flags], check=True, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL)


def docstring_corpus(folder: str) -> str:
  """Writes a prepared corpus of the docstrings of the installed packages into a folder; returns its path."""
  docstrings, corpus = os.path.join(folder, "docstrings.jsonl"), os.path.join(folder, "docstrings.txt")
  run_script("data_gen/extract_docstrings.py", f"--output_file={docstrings}")
  run_script("data_gen/prepare_corpus.py", f"--input_file={docstrings}", f"--output_file={corpus}")
  return corpus


def cut(source: str, target: str, megabytes: float) -> int:
  """Copies about this much of a prepared corpus, up to the end of a document; returns the bytes."""
  with open(source, "rb") as file:
    data = file.read(int(megabytes * 1e6))
    if file.read(1):
      data = data[:data.rfind(b"\n\n") + 2 or len(data)]
  with open(target, "wb") as file:
    file.write(data)
  return len(data)


def mixed_lines(english: list[str]) -> list[str]:
  """A stand-in for text of many languages: English, each line in another script, a quarter of them left as they are.

  Letter by letter, so words come back as often as in a real language; Thai and ideographs without spaces, and
  each ideograph stands for a word.
  """
  names, lines = sorted(_SCRIPTS), []
  for index, line in enumerate(english):
    if index % 4 == 0:
      lines.append(line)
      continue
    name, text = names[index % len(names)], line.lower()
    start, width = _SCRIPTS[name], 7 if name == "Hangul" else 1
    if name == "ideographs":
      text = "".join(chr(start + zlib.crc32(word.encode()) % _IDEOGRAPHS) for word in text.split())
    elif name == "Thai":
      text = text.replace(" ", "")
    lines.append(text.translate({ord(letter): start + width * place
                                 for place, letter in enumerate(string.ascii_lowercase)}))
  return lines


def split(lines: list[str], characters: int, seed: int = 0) -> tuple[list[str], list[str]]:
  """Two samples without a line in common: (to warm up with, to measure), each of about `characters`.

  Raises:
    UserError: there is too little text for a tenth of that.
  """
  lines = list(dict.fromkeys(lines))
  random.Random(seed).shuffle(lines)
  samples = []
  for _ in range(2):
    sample, size = [], 0
    while lines and size < characters:
      sample.append(lines.pop())
      size += len(sample[-1])
    samples.append(sample)
  measured, warm_up = samples
  if 10 * sum(map(len, warm_up)) < characters:
    raise UserError(f"the text has fewer than {characters * 11 // 10:,} characters: give more of it or lower "
                    "--megabytes")
  return warm_up, measured
