"""Files of sentences whose words have tags: columns as in CoNLL-2003, JSON lines.

    conll  word … tag, columns separated by blanks or tabs; a blank line after a sentence;
    -DOCSTART- between documents jsonl  {"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]}, or
           {"text": "Ada wrote", "entities": [[0, 3, "PER"]]}; "document" groups lines into
           documents

Input: a file, gzipped or not, on any file system. Output: `TaggedSentences`; `tag_schemes.py`
interprets the tags.
"""

import dataclasses
import itertools
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled.rows import BadRows, LabelledFile
from data_gen.labelled.tables import json_object, numbered_lines, shown
from data_gen.labelled.tag_schemes import (
    OUTSIDE,
    PLAIN,
    Chunks,
    find_chunks,
    interpret,
    parse_names,
)
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.wordpiece import basic_tokenize_with_offsets

FORMATS = ("auto", "conll", "jsonl")
_DOCUMENT_START = "-DOCSTART-"
_JSON_EXTENSIONS = (".jsonl", ".json", ".ndjson")


@dataclasses.dataclass(frozen=True)
class TaggedSentences(LabelledFile):
    """The sentences of a file; S of them with W words in all.

    Attributes:
      lines: [W], the line (from 1) that each word stands on.
      row_lengths: int64 [S], words of each sentence.
      tags: int32 [W], into `tag_names`; None where the file has none.
      tag_names: in the order of their first occurrence.
      documents: int32 [S], number of the document of each sentence, rising; None where the file has
        no borders.
      texts: S texts that the words were cut out of, else None.
      offsets: int32 [W, 2], word = text[start:end], where there are texts.
      scheme: that the tags are written in, and valid.
    """

    words: list[str]
    lines: Sequence[int]
    row_lengths: np.ndarray
    tags: np.ndarray | None
    tag_names: tuple[str, ...]
    documents: np.ndarray | None
    texts: list[str] | None
    offsets: np.ndarray | None
    scheme: str = PLAIN
    _of_examples = ("row_lengths", "documents", "texts")

    def take(self, chosen: np.ndarray) -> Self:
        starts = np.cumsum(self.row_lengths) - self.row_lengths
        words = ragged_range(starts[chosen], self.row_lengths[chosen])
        return dataclasses.replace(
            super().take(chosen), **self._taken(("words", "lines", "tags", "offsets"), words)
        )

    def groups(self) -> Sequence[int]:
        """Sentences of the same document."""
        return range(len(self)) if self.documents is None else self.documents.tolist()

    def where(self, word: int) -> str:
        """`file:line` of a word."""
        return f"{self.path}:{self.lines[word]}"

    def chunks(self) -> Chunks | None:
        """The chunks that the tags mean; None for plain tags."""
        names = None if self.scheme == PLAIN else parse_names(self.tag_names)
        return (
            None
            if names is None or self.tags is None
            else find_chunks(self.tags, names, self.row_lengths)
        )


class _Sentence(NamedTuple):
    """A sentence as it is read; see `TaggedSentences`.

    Attributes:
      document: number of its document, from 0; -1 before the first border.
      misfits: entities that do not fall on the borders of words.
    """

    words: list[str]
    lines: list[int]
    tags: list[str] | None
    document: int
    text: str | None = None
    offsets: Sequence[tuple[int, int]] = ()
    misfits: Sequence[str] = ()


def read_tagged_file(
    path: str,
    flag: str,
    file_format: str = "auto",
    *,
    word_column: str | None = None,
    label_column: str | None = None,
    label_names: Sequence[str] = (),
    needs_tags: bool = True,
    tag_scheme: str = PLAIN,
    skip_bad_rows: bool | None = None,
) -> TaggedSentences:
    """Reads a file.

    Args:
      file_format: one of `FORMATS`; "auto" goes by the name.
      word_column, label_column: numbers of columns, from 0, or from the end, -1; or keys of JSON
        objects. By default the first and the last column, "tokens", and "ner_tags" or "entities".
      label_names: what the tags mean where JSON lines have numbers.
      tag_scheme: one of `tag_schemes.SCHEMES`, in which the tags must be valid.
      skip_bad_rows: see `BadRows`; rows are sentences here.

    Raises:
      UserError: names file and lines: no words, not UTF-8, lines with another number of columns
        than the first, a JSON line of another form, entities that overlap or are not in their text,
        wrong tags; or there are no tags.
    """
    if file_format == "auto":
        file_format = (
            "jsonl" if path.removesuffix(".gz").lower().endswith(_JSON_EXTENSIONS) else "conll"
        )
    bad = BadRows(path, skip_bad_rows)
    sentences = list(
        _read_json(bad, flag, word_column or "tokens", label_column, label_names)
        if file_format == "jsonl"
        else _read_columns(bad, flag, word_column or "0", label_column or "-1")
    )
    if not sentences:
        raise UserError(
            f"{path} holds no word: sentences are expected, one word per line (--format names others)"
        )
    result = _concatenated(path, sentences, tag_scheme)
    if result.tags is not None:
        _, faults = interpret(result.tags, result.tag_names, result.row_lengths, tag_scheme)
        for word, what in faults.items():
            bad.add(result.lines[word], what)
    if bad.faults:
        # The names of tags, and the scheme, are those of what is left.
        kept = bad.good_rows([sentence.lines[0] for sentence in sentences])
        result = _concatenated(
            path,
            [sentences[number] for number in kept.tolist()],
            tag_scheme,
            bad.notes(len(sentences)),
        )
    if result.tags is None and needs_tags:
        raise UserError(
            f"--{flag}: {path} has no labels: a column of tags is expected beside the words. Without labels it "
            "can only be predicted (--test_file, --do_predict)"
        )
    return result


def _concatenated(
    path: str, sentences: list[_Sentence], tag_scheme: str, notes: tuple[str, ...] = ()
) -> TaggedSentences:
    row_lengths = np.array([len(sentence.words) for sentence in sentences], np.int64)
    tags, numbers = None, dict[str, int]()
    if any(sentence.tags is not None for sentence in sentences):
        tags = np.array(
            [
                numbers.setdefault(tag, len(numbers))
                for sentence in sentences
                for tag in sentence.tags or [OUTSIDE] * len(sentence.words)
            ],
            np.int32,
        )
        tag_scheme, _ = interpret(tags, tuple(numbers), row_lengths, tag_scheme)
    documents = np.array([sentence.document for sentence in sentences], np.int32)
    has_texts = sentences[0].text is not None
    misfits = [one for sentence in sentences for one in sentence.misfits]
    if misfits:
        more = f" and {len(misfits) - 1:,} more" if len(misfits) > 1 else ""
        notes = (
            *notes,
            f"{misfits[0]}{more}: entities that end inside of a word take the whole word, those without a "
            "word are left out",
        )
    return TaggedSentences(
        path,
        [word for sentence in sentences for word in sentence.words],
        array("q", (line for sentence in sentences for line in sentence.lines)),
        row_lengths,
        tags,
        tuple(numbers),
        documents - documents.min() if documents.max() >= 0 else None,
        [sentence.text or "" for sentence in sentences] if has_texts else None,
        np.array([span for sentence in sentences for span in sentence.offsets], np.int32).reshape(
            -1, 2
        )
        if has_texts
        else None,
        tag_scheme,
        notes=notes,
    )


def _read_columns(bad: BadRows, flag: str, word: str, label: str) -> Iterator[_Sentence]:
    columns = {"word_column": word, "label_column": label}
    for name, given in columns.items():
        if not re.fullmatch(r"-?[0-9]{1,9}", given):
            raise UserError(f"--{name}={given}: a number is expected, from 0; from the end, -1")
    word_column, label_column = map(int, columns.values())
    separator, width, has_tags, document = " ", 0, False, -1
    words, lines, tags = list[str](), list[int](), list[str]()
    for number, line in itertools.chain(numbered_lines(bad.path, flag, bad), [(0, "")]):
        text = line.rstrip("\r\n")
        is_border = text.startswith(_DOCUMENT_START)
        if is_border or not text.strip(" \t"):
            if words:
                yield _Sentence(words, lines, tags if has_tags else None, document)
                words, lines, tags = [], [], []
            document += is_border
            continue
        if not width and "\t" in text:
            separator = "\t"
        # Not str.split(): a word may hold other white space.
        fields = (
            text.split(separator)
            if separator == "\t"
            else [field for field in text.split(" ") if field]
        )
        if not width:
            width = len(fields)
            for name, column in zip(columns, (word_column, label_column), strict=True):
                if not -width <= column < width:
                    raise UserError(
                        f"{bad.path}:{number}: no column {column} (--{name}): there are {width}, counted from 0"
                    )
            has_tags = (label_column - word_column) % width != 0
        if len(fields) != width:
            bad.add(
                number, f"{width} columns expected, as in the first line, but {len(fields)} found"
            )
            fields = [OUTSIDE] * width
        words.append(fields[word_column])
        lines.append(number)
        tags.append(fields[label_column])


def _read_json(
    bad: BadRows, flag: str, word_key: str, label_key: str | None, label_names: Sequence[str]
) -> Iterator[_Sentence]:
    document, last_document = -1, None
    first: _Sentence | None = None
    tag_key = label_key or "ner_tags"
    for number, line in numbered_lines(bad.path, flag, bad):
        if not line.strip():
            continue
        try:
            value = json_object(line)
            if "document" in value and (
                value["document"] != last_document or last_document is None
            ):
                document, last_document = document + 1, value["document"]
            if word_key not in value and "text" in value:
                sentence = _of_text(value, label_key or "entities", f"{bad.path}:{number}")
            else:
                words, tags = value.get(word_key), value.get(tag_key)
                if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                    raise UserError(
                        f'{shown(word_key)} must be a list of words (--word_column), or "text" a text'
                    )
                if tags is not None and (not isinstance(tags, list) or len(tags) != len(words)):
                    raise UserError(
                        f"{shown(tag_key)} must be a list of {len(words)} tags, one for every word (--label_column)"
                    )
                for tag in tags or ():
                    if type(tag) is int and not 0 <= tag < len(label_names):
                        raise UserError(
                            f"the tag {tag} is a number without a name: give all names in their order, e.g. "
                            "--label_names=O,B-PER,I-PER"
                        )
                    if type(tag) is not int and not isinstance(tag, str):
                        raise UserError(f"a tag must be a string, not {shown(tag)}")
                tags = tags and [label_names[tag] if type(tag) is int else tag for tag in tags]
                sentence = _Sentence(words, [], tags, -1)
            if not sentence.words:
                continue
            first = first or sentence
            if (sentence.text is None) != (first.text is None):
                raise UserError("lines with tokens and lines with a text can't be in one file")
            if (sentence.tags is None) != (first.tags is None):
                raise UserError(
                    f"this line has {'no ' if sentence.tags is None else ''}labels, unlike those before it"
                )
        except UserError as error:
            bad.add(number, str(error))
            sentence = _Sentence([OUTSIDE], [], None, -1)
        yield sentence._replace(lines=[number] * len(sentence.words), document=document)


def _of_text(value: dict, label_key: str, where: str) -> _Sentence:
    text, entities = value["text"], value.get(label_key)
    if not isinstance(text, str):
        raise UserError(f'"text" must be a string, not {shown(text)}')
    # The words of the model's tokenizer before they are cut into pieces, as they are written.
    spans = [
        (starts[0], max(ends))
        for _, starts, ends in basic_tokenize_with_offsets(text, do_lower_case=False)
    ]
    sentence = _Sentence([text[start:end] for start, end in spans], [], None, -1, text, spans)
    if entities is None:
        return sentence
    if not isinstance(entities, list):
        raise UserError(f"{shown(label_key)} must be a list of [start, end, label]")
    parts: list[Any] = [
        [entity.get(key) for key in ("start", "end", "label")]
        if isinstance(entity, dict)
        else entity
        for entity in entities
    ]
    for entity in parts:
        if not isinstance(entity, list) or [type(part) for part in entity] != [int, int, str]:
            raise UserError(f"{shown(entity)} is no entity: [start, end, label] is expected")
        if not 0 <= entity[0] < entity[1] <= len(text) or not entity[2]:
            raise UserError(
                f"the entity {shown(entity)} is not in its text, which has {len(text)} characters"
            )
    tags, misfits = [OUTSIDE] * len(spans), []
    for start, end, label in sorted(parts):
        covered = [place for place, span in enumerate(spans) if span[0] < end and start < span[1]]
        if not covered or (spans[covered[0]][0], spans[covered[-1]][1]) != (start, end):
            misfits.append(
                f"{where}: {shown(text[start:end])} [{start}, {end}] does not fall on the borders of words"
            )
        for place in covered:
            if tags[place] != OUTSIDE:
                raise UserError(
                    f"entities overlap at {shown(text[spans[place][0] : spans[place][1]])} [{start}, {end}, "
                    f"{shown(label)}]"
                )
            tags[place] = f"{'B' if place == covered[0] else 'I'}-{label}"
    return sentence._replace(tags=tags, misfits=misfits)
