"""The WordPiece vocabulary: one token per line, its number is its id.

Input: a file on any file system. Output: tokens and ids, for `wordpiece.py` and all that reads ids.

    vocabulary = Vocabulary.from_file("vocab.txt")
    vocabulary.id_of("[CLS]")  # 101
"""

import functools
import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)

# What an editor leaves at the end of a line, or on a line that looks empty.
_INVISIBLE = " \t\r\v\f"
_BOM = b"\xef\xbb\xbf"

# Entries that a release holds free for custom words; their embeddings are as they were initialised.
_is_unused = re.compile(r"\[unused\d+\]").fullmatch


class Vocabulary:
  """Tokens and their ids.

  Attributes:
    tokens: list of str; the id of a token is its index.
    size: number of tokens.
    path: the file it was read from, or None.
    notes: what `from_file` found odd and accepted, one line of text each, for the script to print.
    pad_id, unk_id, cls_id, sep_id, mask_id: ids of the special tokens, int.
  """

  def __init__(self, tokens: Iterable[str], path: str | None = None, notes: Sequence[str] = ()):
    """Takes the tokens in the order of their ids.

    Raises:
      UserError: a token is empty or occurs twice, or a special token is missing.
    """
    self.tokens = list(tokens)
    self.size = len(self.tokens)
    self.path = path
    self.notes = list(notes)
    self._file_sha256: str | None = None
    self._ids: dict[str, int] = {}
    for index, token in enumerate(self.tokens):
      if not token:
        raise UserError(f"{self._place(index)}: empty token")
      first = self._ids.setdefault(token, index)
      if first != index:
        raise UserError(f"{self._place(index)}: {token!r} is already line {first + 1}: every token must be there once "
                        "(removing a line changes the ids after it)")
    missing = [token for token in SPECIAL_TOKENS if token not in self._ids]
    if missing:
      raise UserError(f"{path or 'the vocabulary'} has no {', '.join(missing)} among its {self.size} tokens: "
                      "is it a BERT vocabulary, one token per line?")
    self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(self._ids.__getitem__, SPECIAL_TOKENS)

  @classmethod
  def from_file(cls, path: str) -> "Vocabulary":
    """Reads and checks a vocabulary file: UTF-8, one token per line; only "\\n" (or "\\r\\n") ends a line.

    As in `load_vocab` of the original, white space around a token is not part of it. What the checks accept
    and what they refuse is listed in docs/tokenization.md.

    Raises:
      UserError: the file can't be read, is empty, not UTF-8, has a blank line between tokens, a token twice,
        or lacks a special token.
    """
    path = str(path)
    try:
      if files.is_directory(path):
        raise UserError(f"{path} is a directory: name the vocabulary file in it, e.g. {path.rstrip('/')}/vocab.txt")
      with files.open_file(files.check_regular(path), "rb") as file:
        data = file.read()
    except OSError as error:
      raise UserError(f"can't read the vocabulary {path}: {error.strerror}") from None
    file_sha256 = hashlib.sha256(data).hexdigest()
    notes = []
    if data.startswith(_BOM):
      data = data[len(_BOM):]
      notes.append(f"{path}:1: byte order mark ignored")
    vocabulary = cls(_tokens_of_lines(_split_lines(data, path), path, notes), path, notes)
    vocabulary._file_sha256 = file_sha256
    return vocabulary

  @functools.cached_property
  def is_continuation(self) -> np.ndarray:
    """bool [size], the tokens that start with "##"."""
    return np.array([token.startswith("##") for token in self.tokens])

  def __len__(self) -> int:
    return self.size

  def __contains__(self, token: str) -> bool:
    return token in self._ids

  def id_of(self, token: str) -> int:
    """The id of a token.

    Raises:
      KeyError: not in the vocabulary. Text goes through a `Tokenizer`, which answers [UNK]; only tokens come here.
    """
    try:
      return self._ids[token]
    except KeyError:
      raise KeyError(f"{token!r} is not a token of {self.path or 'the vocabulary'}") from None

  def token_of(self, id: int) -> str:
    """The token with this id.

    Raises:
      IndexError: the id is negative or not below `size`.
    """
    if not 0 <= id < self.size:
      raise IndexError(f"{id} is not an id of {self.path or 'the vocabulary'} (0 to {self.size - 1})")
    return self.tokens[id]

  @functools.cached_property
  def fingerprint(self) -> str:
    """SHA-256 of the tokens, each with a line end, in hexadecimal: that of the file where it has nothing odd in it."""
    return hashlib.sha256("".join(f"{token}\n" for token in self.tokens).encode("utf-8", "surrogatepass")).hexdigest()

  def has_fingerprint(self, fingerprint: str) -> bool:
    """Whether a fingerprint is that of these tokens, or of the bytes of the file, as earlier versions noted it."""
    return fingerprint in (self.fingerprint, self._file_sha256)

  def replaced_unused(self, other: "Vocabulary") -> int | None:
    """The number of [unused] entries that were given tokens where another vocabulary is otherwise this one; else None.

    It may also end before this one: then some ids never occur.
    """
    pairs = list(zip(self.tokens, other.tokens, strict=False))
    differing = [there for there, here in pairs if there != here]
    return len(differing) if self.size >= other.size and all(map(_is_unused, differing)) else None

  def describe_difference(self, other: "Vocabulary") -> str:
    """The number of entries that differ and the first one, e.g. "30,000 of 30,522 entries differ, first line 6: …"."""
    longest = max(self.size, other.size)
    differing = [index for index in range(longest) if self.tokens[index:index + 1] != other.tokens[index:index + 1]]
    if not differing:
      return "no entry differs"
    there, here = (vocabulary.tokens[differing[0]] if differing[0] < vocabulary.size else "nothing"
                   for vocabulary in (self, other))
    return (f"{len(differing):,} of {longest:,} entries differ, the first in line {differing[0] + 1}: {there} there, "
            f"{here} here")

  def _place(self, index: int) -> str:
    return f"{self.path}:{index + 1}" if self.path else f"vocabulary entry {index + 1}"


def _split_lines(data: bytes, path: str) -> list[str]:
  try:
    text = data.decode("utf-8")
  except UnicodeDecodeError as error:
    line = data.count(b"\n", 0, error.start) + 1
    column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
    hint = " (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    raise UserError(f"{path}:{line}: byte {column} of the line (0x{data[error.start]:02x}) is not UTF-8{hint}: "
                    "save the file as UTF-8") from None
  if "\r" in text and "\n" not in text:
    raise UserError(f"{path}:1: the lines end with a bare CR: save the file with LF line ends")
  # Not str.splitlines(): a vocabulary may hold U+2028 or U+0085 as a token.
  return text.split("\n")


def _tokens_of_lines(lines: list[str], path: str, notes: list[str]) -> list[str]:
  """Takes the tokens out of the lines and appends to `notes` what is odd and harmless."""
  if not lines[-1]:
    lines.pop()  # what follows the last "\n" is not a line
  windows = sum(line.endswith("\r") for line in lines)
  if windows:
    notes.append(f"{path}: {windows} of {len(lines)} lines have Windows line ends (CR LF); the CR is ignored")
  lines = [line.removesuffix("\r") for line in lines]
  used = len(lines)
  while used and not lines[used - 1].strip(_INVISIBLE):
    used -= 1
  if not used:
    raise UserError(f"{path} is empty: one token per line is expected")
  if used < len(lines):
    notes.append(f"{path}:{used + 1}: {_count(len(lines) - used, 'blank line')} at the end ignored")
  tokens, padded, inside = [], [], []
  for number, line in enumerate(lines[:used], 1):
    # A line of U+2028 or U+3000 alone is a token that never matches, not a mistake: it keeps its id.
    token = line.strip() or line.strip(_INVISIBLE)
    if not token:
      raise UserError(f"{path}:{number}: blank line between tokens: remove it, or put a token such as [unused{number}] "
                      "there to keep the ids after it")
    if token != line:
      padded.append(number)
    if len(token.split()) > 1:
      inside.append(number)
    tokens.append(token)
  if padded:
    notes.append(f"{path}:{padded[0]}: white space around the token ignored{_and_others(padded)}")
  if inside:
    notes.append(f"{path}:{inside[0]}: white space inside the token, which can therefore never match"
                 f"{_and_others(inside)}")
  if PAD in tokens and tokens[0] != PAD:
    notes.append(f"{path}:{tokens.index(PAD) + 1}: [PAD] has id {tokens.index(PAD)}; other programs pad with id 0")
  return tokens


def _count(number: int, what: str) -> str:
  return f"{number} {what}{'s' if number > 1 else ''}"


def _and_others(numbers: list[int]) -> str:
  return f" (and on {_count(len(numbers) - 1, 'other line')})" if len(numbers) > 1 else ""
