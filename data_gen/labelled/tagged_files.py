"""Files of sentences whose words have tags: CoNLL-2003, WNUT, CoNLL-U, OntoNotes, JSON lines.

    conll      word … tag, columns separated by blanks or tabs; -DOCSTART- between documents
    wnut       word TAB tag
    conllu     ten columns separated by tabs, # comments (# newdoc between documents), 1-2 and 1.1 are no words
    ontonotes  columns of CoNLL-2012, (ORG* * *) as tags, #begin document
    jsonl      {"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]}, or
               {"text": "Ada wrote", "entities": [[0, 3, "PER"]]}; "document" groups lines into documents

Input: a file, gzipped or not, on any file system. Output: `TaggedSentences`; `tag_schemes.py` interprets the tags.
"""

import dataclasses
import re
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import unknown_choice, whole_number
from data_gen.labelled.tables import first_items, json_object, numbered_lines, shown
from data_gen.labelled.tag_schemes import OUTSIDE
from data_gen.tokenization.basic import basic_tokenize_with_offsets

FORMATS = ("auto", "conll", "wnut", "conllu", "ontonotes", "jsonl")
DOCUMENT_START = "-DOCSTART-"

_CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# Of CoNLL-2012: document, part, number, word, …, named entities.
_ONTONOTES_WORD, _ONTONOTES_NAMES = 3, 10
_BRACKETS = re.compile(r"(\(([^()*\s]+))?\*?(\))?")


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
    file_format: one of `FORMATS`; "auto" goes by the name and the first line.
    word_column, label_column: numbers of columns, from 0, or their names in CoNLL-U ("misc:NER" is NER=… in the last
      column), or keys of JSON objects. Default: those of the format; in conll, the first and the last column; in
      conllu, "form" and "upos".
    label_names: what the tags mean where JSON lines have numbers.
    needs_tags: refuse a file without tags.

  Raises:
    UserError: names file and line: no words, not UTF-8, lines with another number of columns than the first, brackets
      that do not match, a JSON line of another form, entities that overlap or are not in their text; or there are no
      tags.
  """
  if file_format not in FORMATS:
    raise unknown_choice("format", file_format, FORMATS)
  if file_format == "auto":
    file_format = _find_format(path, flag)
  collected = _Collected(path, tuple(label_names))
  lines = numbered_lines(path, flag)
  if file_format == "jsonl":
    _read_json(collected, lines, word_column, label_column)
  elif file_format == "conllu":
    _read_conllu(collected, lines, word_column or "form", label_column or "upos")
  else:
    _read_columns(collected, lines, file_format, word_column, label_column)
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


def _find_format(path: str, flag: str) -> str:
  name = path.removesuffix(".gz").lower()
  if name.endswith((".jsonl", ".json", ".ndjson")):
    return "jsonl"
  if name.endswith(".conllu"):
    return "conllu"
  files.check_read_again(path, flag)
  _, first = next(numbered_lines(path, flag), (0, ""))
  return "ontonotes" if first.startswith("#begin document") else "conll"


def _number(column: str | None, flag: str, default: int) -> int:
  if column is None:
    return default
  if not column.removeprefix("-").isdecimal():
    raise UserError(f"--{flag}={column}: a number is expected, from 0; from the end, -1")
  return whole_number(column)


def _read_columns(collected: _Collected, lines: Iterator[tuple[int, str]], file_format: str, word: str | None,
                  label: str | None) -> None:
  """conll, wnut and ontonotes."""
  path, is_ontonotes = collected.path, file_format == "ontonotes"
  parse = _bracket_parser(path) if is_ontonotes and label is None else None
  word_column = _number(word, "word_column", _ONTONOTES_WORD if is_ontonotes else 0)
  label_column = _number(label, "label_column", _ONTONOTES_NAMES if is_ontonotes else -1)
  last_column = max(word_column, label_column)
  separator, width, has_tags = None, 0, False
  for number, text in lines:
    text = text.rstrip("\r\n")
    if is_ontonotes and text.startswith("#"):
      if text.startswith("#begin document"):
        collected.start_document()
      continue
    if not text.strip(" \t"):
      if parse:
        parse(None, number)
      collected.end_sentence()
      continue
    if text.startswith(DOCUMENT_START):
      collected.start_document()
      continue
    if separator is None:
      separator = "\t" if file_format == "wnut" or "\t" in text else " "
    fields = text.split(separator) if separator == "\t" else [field for field in text.split(" ") if field]
    if not width:
      width = len(fields)
      _check_columns(path, number, width, file_format, word_column, label_column)
      has_tags = width > 1 and (width + label_column) % width != (width + word_column) % width
    # The last columns of OntoNotes are the arguments of verbs, as many as the sentence has verbs.
    if is_ontonotes and len(fields) <= last_column or not is_ontonotes and len(fields) != width:
      raise UserError(f"{path}:{number}: {last_column + 1 if is_ontonotes else width} columns expected"
                      f"{' at least' if is_ontonotes else ', as in the first line'}, but {len(fields)} found")
    collected.words.append(fields[word_column])
    collected.lines.append(number)
    if has_tags:
      collected.tag(parse(fields[label_column], number) if parse else fields[label_column])
  if parse:
    parse(None, number)


def _check_columns(path: str, line: int, width: int, file_format: str, word_column: int, label_column: int) -> None:
  if file_format == "wnut" and width != 2:
    raise UserError(f"{path}:{line}: a word, a tab and a tag are expected, but {width} columns found (--format=conll "
                    "takes any number)")
  for column, flag in ((word_column, "word_column"), (label_column, "label_column")):
    if not -width <= column < width:
      raise UserError(f"{path}:{line}: no column {column} (--{flag}): there are {width}, counted from 0")


def _bracket_parser(path: str) -> Callable[[str | None, int], str]:
  """(field, line) → tag of IOB2; None for a field ends the sentence."""
  kind, opened = None, 0

  def parse(field: str | None, line: int) -> str:
    nonlocal kind, opened
    if field is None:
      if kind is not None:
        raise UserError(f"{path}:{opened}: the bracket ({kind} is not closed before the sentence ends")
      return OUTSIDE
    match = _BRACKETS.fullmatch(field)
    if match is None or field == "":
      raise UserError(f"{path}:{line}: {shown(field)} is no bracket of a name: (ORG*, *, *) or (ORG) is expected")
    starts, name, ends = match.groups()
    if starts and kind is not None:
      raise UserError(f"{path}:{line}: {field} opens a name inside of ({kind} of line {opened}")
    if ends and not starts and kind is None:
      raise UserError(f"{path}:{line}: {field} closes a name that was not opened")
    if starts:
      kind, opened = name, line
    tag = OUTSIDE if kind is None else f"{'B' if starts else 'I'}-{kind}"
    if ends:
      kind = None
    return tag

  return parse


def _read_conllu(collected: _Collected, lines: Iterator[tuple[int, str]], word_column: str, label_column: str) -> None:
  path, width = collected.path, len(_CONLLU_COLUMNS)
  word, _ = _conllu_column(word_column, "word_column")
  label, key = _conllu_column(label_column, "label_column")
  has_tag = False
  for number, text in lines:
    text = text.rstrip("\r\n")
    if text.startswith("#"):
      if text[1:].strip().startswith("newdoc"):
        collected.start_document()
      continue
    if not text.strip():
      collected.end_sentence()
      continue
    fields = text.split("\t")
    if len(fields) != width:
      raise UserError(f"{path}:{number}: {width} columns separated by tabs expected, but {len(fields)} found")
    if not fields[0].isdecimal():
      if not re.fullmatch(r"\d+[-.]\d+", fields[0]):
        raise UserError(f"{path}:{number}: {shown(fields[0])} is no number of a word: 1, 1-2 or 1.1 is expected")
      continue
    collected.words.append(fields[word])
    collected.lines.append(number)
    value = fields[label]
    if key is not None:
      value = dict(part.partition("=")[::2] for part in value.split("|")).get(key, OUTSIDE)
    has_tag |= value not in ("_", OUTSIDE) or key is not None
    collected.tag(value)
  if not has_tag:
    del collected.tags[:]
    collected.numbers.clear()


def _conllu_column(column: str, flag: str) -> tuple[int, str | None]:
  """(number of the column, key in it)."""
  name, _, key = column.partition(":")
  if name.isdecimal() and whole_number(name) < len(_CONLLU_COLUMNS):
    return int(name), key or None
  if name.lower() not in _CONLLU_COLUMNS:
    raise UserError(f"--{flag}={column} is no column of CoNLL-U: use one of {', '.join(_CONLLU_COLUMNS)}, or 0 to 9")
  return _CONLLU_COLUMNS.index(name.lower()), key or None


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
      collected.tag(_json_tag(tag, collected.label_names, where))
  collected.words += words


def _json_tag(tag: object, label_names: tuple[str, ...], where: str) -> str:
  if isinstance(tag, str):
    return tag
  if type(tag) is not int:
    raise UserError(f"{where}: a tag must be a string, not {shown(tag)}")
  if not label_names:
    raise UserError(f"{where}: the tag {tag} is a number: give what the numbers mean, e.g. --label_names=O,B-PER,I-PER")
  if not 0 <= tag < len(label_names):
    raise UserError(f"{where}: the tag {tag} has no name: --label_names has {len(label_names)}")
  return label_names[tag]


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
  for start, end, label in sorted(_entity(entity, text, where) for entity in entities):
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


def _entity(entity: object, text: str, where: str) -> tuple[int, int, str]:
  parts = [entity.get(key) for key in ("start", "end", "label")] if isinstance(entity, dict) else entity
  if not isinstance(parts, list) or len(parts) != 3 or [type(part) for part in parts] != [int, int, str]:
    raise UserError(f"{where}: {shown(entity)} is no entity: [start, end, label] is expected")
  start, end, label = parts
  if not 0 <= start < end <= len(text) or not label:
    raise UserError(f"{where}: the entity {shown(entity)} is not in its text, which has {len(text)} characters")
  return start, end, label
