"""Files of sentences whose words have tags: columns as in CoNLL-2003, JSON lines.

    conll  word … tag, columns separated by blanks or tabs; a blank line after a sentence; -DOCSTART- between documents
    jsonl  {"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]}, or
           {"text": "Ada wrote", "entities": [[0, 3, "PER"]]}; "document" groups lines into documents

Input: a file, gzipped or not, on any file system. Output: `TaggedSentences`; `tag_schemes.py` interprets the tags.
"""

import dataclasses
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled.tables import first_items, json_object, numbered_lines, shown
from data_gen.labelled.tag_schemes import OUTSIDE
from data_gen.tokenization.wordpiece import basic_tokenize_with_offsets

FORMATS = ("auto", "conll", "jsonl")
_DOCUMENT_START = "-DOCSTART-"
_JSON_EXTENSIONS = (".jsonl", ".json", ".ndjson")


@dataclasses.dataclass(frozen=True)
class TaggedSentences:
  """The sentences of a file; S of them with W words in all.

  Attributes:
    path: the file.
    words: W of them.
    lines: [W], the line (from 1) that each word stands on.
    row_lengths: int64 [S], words of each sentence.
    tags: int32 [W], into `tag_names`; None where the file has none.
    tag_names: in the order of their first occurrence.
    documents: int32 [S], number of the document of each sentence, rising; None where the file has no borders.
    texts: S texts that the words were cut out of, else None.
    offsets: int32 [W, 2], word = text[start:end], where there are texts.
    notes: what the user should know.
  """

  path: str
  words: list[str]
  lines: Sequence[int]
  row_lengths: np.ndarray
  tags: np.ndarray | None
  tag_names: tuple[str, ...]
  documents: np.ndarray | None
  texts: list[str] | None
  offsets: np.ndarray | None
  notes: tuple[str, ...]

  def __len__(self) -> int:
    return len(self.row_lengths)

  def first(self, count: int | None) -> "TaggedSentences":
    """The first so many sentences; None for all."""
    words = first_items(self, int(self.row_lengths[:count].sum()), "words", "lines", "tags", "offsets")
    return first_items(words, count, "row_lengths", "documents", "texts")

  def where(self, word: int) -> str:
    """`file:line` of a word."""
    return f"{self.path}:{self.lines[word]}"


def read_tagged_file(path: str, flag: str, file_format: str = "auto", *, word_column: str | None = None,
                     label_column: str | None = None, label_names: Sequence[str] = (), needs_tags: bool = True
                     ) -> TaggedSentences:
  """Reads a file.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    file_format: one of `FORMATS`; "auto" goes by the name.
    word_column, label_column: numbers of columns, from 0, or from the end, -1; or keys of JSON objects. By default the
      first and the last column, "tokens", and "ner_tags" or "entities".
    label_names: what the tags mean where JSON lines have numbers.
    needs_tags: refuse a file without tags.

  Raises:
    UserError: names file and line: no words, not UTF-8, lines with another number of columns than the first, a JSON
      line of another form, entities that overlap or are not in their text; or there are no tags.
  """
  if file_format == "auto":
    file_format = "jsonl" if path.removesuffix(".gz").lower().endswith(_JSON_EXTENSIONS) else "conll"
  collected = _Collected(path, tuple(label_names))
  lines = numbered_lines(path, flag)
  if file_format == "jsonl":
    _read_json(collected, lines, word_column, label_column)
  else:
    _read_columns(collected, lines, word_column, label_column)
  result = collected.finish()
  if result.tags is None and needs_tags:
    raise UserError(f"--{flag}: {path} has no labels: a column of tags is expected beside the words. Without labels it "
                    "can only be predicted (--test_file, --do_predict)")
  return result


class _Collected:
  """Sentences as they are read."""

  def __init__(self, path: str, label_names: tuple[str, ...]):
    self.path = path
    self.words: list[str] = []
    self.lines = array("q")
    self.tags = array("i")
    self.numbers: dict[str, int] = {}
    self.row_lengths = array("q")
    self.documents = array("i")
    self.texts: list[str] = []
    self.offsets: list[tuple[int, int]] = []
    self.label_names = label_names
    self.notes: list[str] = []
    self._document = -1
    self._finished = 0

  def tag(self, name: str) -> None:
    self.tags.append(self.numbers.setdefault(name, len(self.numbers)))

  def end_sentence(self) -> None:
    """Words since the last end are a sentence, if there are any."""
    length = len(self.words) - self._finished
    if length:
      self.row_lengths.append(length)
      self.documents.append(max(self._document, 0))
      self._finished += length

  def start_document(self) -> None:
    self.end_sentence()
    if self._document < 0 and self.row_lengths:
      # What stands before the first border is a document, too.
      self._document = 0
    self._document += 1

  def finish(self) -> TaggedSentences:
    self.end_sentence()
    if not self.words:
      raise UserError(f"{self.path} holds no word: sentences are expected, one word per line (--format names others)")
    tags = np.array(self.tags, np.int32) if len(self.tags) else None
    return TaggedSentences(
        self.path, self.words, self.lines, np.array(self.row_lengths, np.int64), tags, tuple(self.numbers),
        np.array(self.documents, np.int32) if self._document >= 0 else None, self.texts or None,
        np.array(self.offsets, np.int32).reshape(-1, 2) if self.texts else None, tuple(self.notes))


def _read_columns(collected: _Collected, lines: Iterator[tuple[int, str]], word: str | None, label: str | None) -> None:
  columns = []
  for flag, given, default in (("word_column", word, "0"), ("label_column", label, "-1")):
    try:
      columns.append((flag, int(given or default)))
    except ValueError:
      raise UserError(f"--{flag}={given}: a number is expected, from 0; from the end, -1") from None
  (_, word_column), (_, label_column) = columns
  separator, width, has_tags = " ", 0, False
  for number, text in lines:
    text = text.rstrip("\r\n")
    if not text.strip(" \t"):
      collected.end_sentence()
      continue
    if text.startswith(_DOCUMENT_START):
      collected.start_document()
      continue
    if not width and "\t" in text:
      separator = "\t"
    # Not str.split(): a word may hold other white space.
    fields = text.split(separator) if separator == "\t" else [field for field in text.split(" ") if field]
    if not width:
      width = len(fields)
      for flag, column in columns:
        if not -width <= column < width:
          raise UserError(f"{collected.path}:{number}: no column {column} (--{flag}): there are {width}, counted from "
                          "0")
      has_tags = (label_column - word_column) % width != 0
    if len(fields) != width:
      raise UserError(f"{collected.path}:{number}: {width} columns expected, as in the first line, but {len(fields)} "
                      "found")
    collected.words.append(fields[word_column])
    collected.lines.append(number)
    if has_tags:
      collected.tag(fields[label_column])


def _read_json(collected: _Collected, lines: Iterator[tuple[int, str]], word_key: str | None, label_key: str | None
               ) -> None:
  last_document, has_texts, misfits = None, None, []
  for number, line in lines:
    if not line.strip():
      continue
    where = f"{collected.path}:{number}"
    value = json_object(line, collected.path, number)
    is_text = (word_key or "tokens") not in value and "text" in value
    if has_texts is None:
      has_texts = is_text
    elif has_texts != is_text:
      raise UserError(f"{where}: lines with tokens and lines with a text can't be in one file")
    if "document" in value and (value["document"] != last_document or last_document is None):
      collected.start_document()
      last_document = value["document"]
    first = len(collected.words)
    if is_text:
      misfits += _add_text(collected, value, label_key or "entities", where)
    else:
      _add_tokens(collected, value, word_key or "tokens", label_key or "ner_tags", where)
    collected.lines.extend([number] * (len(collected.words) - first))
    if len(collected.tags) not in (0, len(collected.words)):
      raise UserError(f"{where}: this line {'has no labels' if len(collected.tags) == first else 'has labels'}, unlike "
                      "those before it")
    collected.end_sentence()
  if misfits:
    more = f" and {len(misfits) - 1:,} more" if len(misfits) > 1 else ""
    collected.notes.append(f"{misfits[0]}{more}: entities that end inside of a word take the whole word, those without "
                           "a word are left out")


def _add_tokens(collected: _Collected, value: dict, word_key: str, label_key: str, where: str) -> None:
  words, tags = value.get(word_key), value.get(label_key)
  if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
    raise UserError(f"{where}: {shown(word_key)} must be a list of words (--word_column), or \"text\" a text")
  if tags is not None:
    if not isinstance(tags, list) or len(tags) != len(words):
      raise UserError(f"{where}: {shown(label_key)} must be a list of {len(words)} tags, one for every word "
                      "(--label_column)")
    for tag in tags:
      if type(tag) is int:
        if not 0 <= tag < len(collected.label_names):
          raise UserError(f"{where}: the tag {tag} is a number without a name: give all names in their order, e.g. "
                          "--label_names=O,B-PER,I-PER")
        tag = collected.label_names[tag]
      if not isinstance(tag, str):
        raise UserError(f"{where}: a tag must be a string, not {shown(tag)}")
      collected.tag(tag)
  collected.words += words


def _add_text(collected: _Collected, value: dict, label_key: str, where: str) -> list[str]:
  """Returns what does not fall on the borders of words."""
  text, entities = value["text"], value.get(label_key)
  if not isinstance(text, str):
    raise UserError(f"{where}: \"text\" must be a string, not {shown(text)}")
  # The words of the model's tokenizer before they are cut into pieces, as they are written.
  spans = [(starts[0], max(ends)) for _, starts, ends in basic_tokenize_with_offsets(text, do_lower_case=False)]
  if spans:
    collected.texts.append(text)
    collected.words += [text[start:end] for start, end in spans]
    collected.offsets += spans
  if entities is None:
    return []
  tags, misfits = [OUTSIDE] * len(spans), []
  if not isinstance(entities, list):
    raise UserError(f"{where}: {shown(label_key)} must be a list of [start, end, label]")
  parts: list[Any] = [[entity.get(key) for key in ("start", "end", "label")] if isinstance(entity, dict) else entity
           for entity in entities]
  for entity in parts:
    if not isinstance(entity, list) or [type(part) for part in entity] != [int, int, str]:
      raise UserError(f"{where}: {shown(entity)} is no entity: [start, end, label] is expected")
    if not 0 <= entity[0] < entity[1] <= len(text) or not entity[2]:
      raise UserError(f"{where}: the entity {shown(entity)} is not in its text, which has {len(text)} characters")
  for start, end, label in sorted(parts):
    covered = [place for place, span in enumerate(spans) if span[0] < end and start < span[1]]
    if not covered or (spans[covered[0]][0], spans[covered[-1]][1]) != (start, end):
      misfits.append(f"{where}: {shown(text[start:end])} [{start}, {end}] does not fall on the borders of words")
    for place in covered:
      if tags[place] != OUTSIDE:
        raise UserError(f"{where}: entities overlap at {shown(text[spans[place][0]:spans[place][1]])} "
                        f"[{start}, {end}, {shown(label)}]")
      tags[place] = f"{'B' if place == covered[0] else 'I'}-{label}"
  for tag in tags:
    collected.tag(tag)
  return misfits
