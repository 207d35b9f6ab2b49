"""Files of sentences whose words have tags: columns as in CoNLL-2003, or objects.

    conll  a word and its tag in every line, see `word_columns.py`
    jsonl  {"tokens": ["Ada", "wrote"], "ner_tags": ["B-PER", "O"]}, or
           {"text": "Ada wrote", "entities": [[0, 3, "PER"]]}, or an object of one of
           `annotation_tools.py`; equal "document" values of neighboring lines form a document.
           So do rows of Parquet and Arrow

Input: a file, compressed or not, on any file system. Output: `TaggedSentences`, whose tags
`tag_schemes.py` interprets.
"""

import dataclasses
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from bert_common.errors import UserError
from bert_common.text_lines import character_position
from data_gen.labeled.annotation_tools import IS_FINISHED, entity_parts, with_entities
from data_gen.labeled.row_formats import OBJECT_FORMATS, format_of, read_rows
from data_gen.labeled.rows import LabeledFile, SourceFile, items_of, quoted
from data_gen.labeled.tag_schemes import (
    OUTSIDE,
    PLAIN,
    Chunks,
    find_chunks,
    interpret,
    parse_names,
    respell,
)
from data_gen.labeled.word_columns import Sentence, read_word_columns
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.wordpiece import basic_tokenize_with_offsets

FORMATS = ("auto", "conll", *OBJECT_FORMATS)
# Number of sentences that may have no chunk by chance.
_FEW_SENTENCES = 10


@dataclasses.dataclass(frozen=True)
class TaggedSentences(LabeledFile):
    """The S sentences of a file, with W words in total.

    Attributes:
      lines: [W], the line (from 1) of each word.
      row_lengths: int64 [S], number of words of each sentence.
      tags: int32 [W], into `tag_names`; None if the file has none.
      tag_names: names of the tags, in the order of their first occurrence.
      documents: int32 [S], number of the document of each sentence, ascending; None if the file
        does not mark documents.
      texts: S texts that the words were cut from; None for files of words.
      offsets: int32 [W, 2], word = text[start:end]; None for files of words.
      scheme: the scheme of the tags, in which they are valid.
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
    _example_fields = ("row_lengths", "documents", "texts")

    def take(self, rows: np.ndarray) -> Self:
        starts = np.cumsum(self.row_lengths) - self.row_lengths
        # Words are stored flat, so that their fields are gathered by the ranges of the sentences.
        words = ragged_range(starts[rows], self.row_lengths[rows])
        fields_of_words = self._select(("words", "lines", "tags", "offsets"), words)
        return dataclasses.replace(super().take(rows), **fields_of_words)

    def inputs(self) -> Iterable[tuple[str, ...]]:
        end = 0
        for length in self.row_lengths.tolist():
            end += length
            yield tuple(self.words[end - length : end])

    def groups(self) -> Sequence[int]:
        """Returns the document of each sentence, so that `split` keeps documents together."""
        if self.documents is None:
            return range(len(self))
        return self.documents.tolist()

    def where(self, word: int) -> str:
        """Returns `file:line` of a word."""
        return f"{self.path}:{self.lines[word]}"

    def chunks(self) -> Chunks | None:
        """Returns the chunks that the tags encode; None for plain tags."""
        if self.scheme == PLAIN or self.tags is None:
            return None
        names = parse_names(self.tag_names)
        if names is None:
            return None
        return find_chunks(self.tags, names, self.row_lengths)


def read_tagged_file(
    source: SourceFile,
    *,
    word_column: str | None = None,
    label_column: str | None = None,
    label_names: Sequence[str] = (),
    needs_tags: bool = True,
    tag_scheme: str = PLAIN,
) -> TaggedSentences:
    """Reads a file of tagged sentences.

    Args:
      source: a file in one of `FORMATS`; its bad rows are sentences.
      word_column, label_column: numbers of columns, from 0, or from the end, -1; or keys of JSON
        objects. By default the columns that hold words and tags, "tokens", and "ner_tags" or
        "entities".
      label_names: names of the tags for files with numbers.
      tag_scheme: one of `tag_schemes.SCHEMES`, in which the tags must be valid.

    Raises:
      UserError: names file and lines: no words, not UTF-8, lines with another number of columns
        than the first, a JSON line of another structure, entities that overlap or are not in their
        text, wrong tags; or there are no tags.
    """
    path = source.path
    file_format = source.file_format
    if file_format == "auto":
        file_format = format_of(path) or "conll"
    if file_format in OBJECT_FORMATS:
        rows = read_rows(source, file_format)
        sentences = list(_read_objects(source, rows, word_column or "tokens", label_column))
    else:
        sentences = list(
            read_word_columns(
                source,
                word_column,
                label_column,
                is_table=file_format != "conll",
                reads_brackets=tag_scheme != PLAIN,
            )
        )
    if not sentences:
        raise UserError(
            f"{path} holds no word: sentences are expected, one word per line (--format names "
            "others)"
        )
    _name_tags(source, sentences, label_names)
    # A first pass finds the faults of tags, which depend on the tags of the neighboring words.
    guesses = tuple(f"{path}: {guess}" for guess in source.guesses)
    result = _concatenate(path, sentences, tag_scheme, guesses)
    is_single = len(sentences) > _FEW_SENTENCES and len(result.tag_names) == 1 and not source.faults
    # A column that says nothing, such as the last one of CoNLL-U and GermEval.
    if is_single and result.tag_names[0] != OUTSIDE:
        raise UserError(
            f"{path}: every word has the tag {result.tag_names[0]}: --label_column names the "
            "column of the tags, counted from 0, or from the end, -1"
        )
    # A text to evaluate on may well be without any entity.
    if is_single and source.flag == "train_file":
        raise UserError(
            f"{path}: every word has the tag O: there is no entity to learn; if the tags are in "
            "another column, --label_column names it, counted from 0"
        )
    if result.tags is not None:
        _, faults = interpret(result.tags, result.tag_names, result.row_lengths, tag_scheme)
        for word, fault in faults.items():
            source.add(result.lines[word], fault)
    if source.faults:
        # Names and scheme of the tags come from the remaining sentences.
        good = source.good_rows([sentence.lines[0] for sentence in sentences])
        result = dataclasses.replace(
            _concatenate(path, items_of(sentences, good), tag_scheme, source.notes(len(sentences))),
            left_out=source.left_out(),
        )
    if result.tags is None and needs_tags:
        raise UserError(
            f"--{source.flag}: {path} has no labels: a column of tags is expected beside the "
            "words, in objects the key 'ner_tags' or 'entities' (--label_column names another). "
            "Without labels it can only be predicted (--test_file, --do_predict)"
        )
    return result


def _concatenate(
    path: str, sentences: list[Sentence], tag_scheme: str, notes: tuple[str, ...] = ()
) -> TaggedSentences:
    """Returns the sentences as flat arrays; untagged ones among tagged ones get the tag O.

    Names of tags come from the schemes, unless the scheme is plain.
    """
    words: list[str] = []
    lines = array("q")
    texts: list[str] = []
    offsets: list[tuple[int, int]] = []
    misfits: list[str] = []
    all_tags: list[str] = []
    for sentence in sentences:
        words += sentence.words
        lines.extend(sentence.lines)
        texts.append("" if sentence.text is None else sentence.text)
        offsets += sentence.offsets
        misfits += sentence.misfits
        # A bad row has no tags; O keeps the arrays aligned until it is refused or left out.
        all_tags += sentence.tags or [OUTSIDE] * len(sentence.words)
    row_lengths = np.array([len(sentence.words) for sentence in sentences], np.int64)
    tags = None
    tag_names: tuple[str, ...] = ()
    if any(sentence.tags is not None for sentence in sentences):
        number_of_tag = {tag: number for number, tag in enumerate(dict.fromkeys(all_tags))}
        tags = np.fromiter(map(number_of_tag.__getitem__, all_tags), np.int32, len(all_tags))
        tag_names = tuple(number_of_tag)
        if tag_scheme != PLAIN:
            tag_names, note = respell(tag_names, tags)
            # Two spellings of a tag become one.
            numbers = {name: number for number, name in enumerate(dict.fromkeys(tag_names))}
            tags = np.array([numbers[name] for name in tag_names], np.int32)[tags]
            tag_names = tuple(numbers)
            if note:
                notes = (*notes, f"{path}: {note}")
        tag_scheme, _ = interpret(tags, tag_names, row_lengths, tag_scheme)
    if misfits:
        if len(misfits) > 1:
            others = f" and {len(misfits) - 1:,} more"
        else:
            others = ""
        note = (
            f"{misfits[0]}{others}: entities that end inside of a word take the whole word, those "
            "without a word are left out"
        )
        notes = (*notes, note)
    num_converted = sum(sentence.is_converted for sentence in sentences)
    if num_converted:
        note = f"{path}: entities of {num_converted:,} texts counted UTF-16 units or bytes"
        notes = (*notes, f"{note}: their positions are converted to characters")
    documents = np.array([sentence.document for sentence in sentences], np.int32)
    has_documents = documents.max() >= 0
    has_texts = sentences[0].text is not None
    return TaggedSentences(
        path=path,
        words=words,
        lines=lines,
        row_lengths=row_lengths,
        tags=tags,
        tag_names=tag_names,
        # Sentences before the first border have the number -1.
        documents=documents - documents.min() if has_documents else None,
        texts=texts if has_texts else None,
        offsets=np.array(offsets, np.int32).reshape(-1, 2) if has_texts else None,
        scheme=tag_scheme,
        notes=notes,
    )


def _name_tags(source: SourceFile, sentences: list[Sentence], label_names: Sequence[str]) -> None:
    """Replaces tags that are numbers by their names, in place.

    Numbers are JSON's, or, if there are names, also texts of digits.
    """
    for position, sentence in enumerate(sentences):
        # Most files have names.
        if sentence.tags is None or not (label_names or int in set(map(type, sentence.tags))):
            continue
        names = []
        for tag in sentence.tags:
            # Texts of digits count only with names, as they may be the tags themselves.
            is_number = type(tag) is int or (bool(label_names) and str(tag).isdecimal())
            if is_number and int(tag) < len(label_names):
                names.append(label_names[int(tag)])
            elif is_number:
                source.add(
                    sentence.lines[0],
                    f"the tag {tag} is a number without a name: give all names in their order, "
                    "e.g. --label_names=O,B-PER,I-PER",
                )
                names.append(OUTSIDE)
            else:
                names.append(tag)
        sentences[position] = sentence._replace(tags=names)


def _read_objects(
    source: SourceFile, rows: Iterable[tuple[int, dict]], word_key: str, label_key: str | None
) -> Iterator[Sentence]:
    """Yields the sentences of objects; a bad row yields the word O, without tags. Texts without a
    word are left out, and noted in `source`."""
    document = -1
    last_document = None
    first: Sentence | None = None
    without_words = []
    for number, value in rows:
        # A line without the key belongs to the document of the line before it.
        name = value.get("document", last_document)
        if "document" in value and (name != last_document or last_document is None):
            document += 1
            last_document = name
        try:
            value = with_entities(value)
            if word_key not in value and "text" in value:
                sentence = _of_text(value, label_key or "entities", source.where(number))
            else:
                sentence = _of_words(value, word_key, label_key or "ner_tags")
            if not sentence.words:
                without_words.append(number)
                continue
            # The first sentence decides about texts and labels for the whole file.
            first = first or sentence
            if (sentence.text is None) != (first.text is None):
                raise UserError("lines with tokens and lines with a text can't be in one file")
            if (sentence.tags is None) != (first.tags is None):
                raise UserError("this line and the first one differ in having labels or not")
        except UserError as error:
            source.add(number, str(error))
            sentence = Sentence([OUTSIDE], None)
        yield sentence._replace(lines=[number] * len(sentence.words), document=document)
    if without_words:
        source.guesses.append(
            f"texts without a word are left out, also of predictions: {len(without_words)}, the "
            f"first is {source.unit} {without_words[0]}"
        )


def _of_words(value: dict, word_key: str, tag_key: str) -> Sentence:
    """Returns the sentence in an object with a list of words and, optionally, one of tags."""
    words = value.get(word_key)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UserError(
            f'{quoted(word_key)} must be a list of words (--word_column), or "text" a text'
        )
    tags = value.get(tag_key)
    if tags is None:
        return Sentence(words, None)
    if not isinstance(tags, list) or len(tags) != len(words):
        raise UserError(
            f"{quoted(tag_key)} must be a list of {len(words)} tags, one for every word "
            "(--label_column)"
        )
    for tag in tags:
        # JSON has true and false, which Python counts as int.
        if type(tag) not in (str, int) or (type(tag) is int and tag < 0):
            raise UserError(f"a tag must be a string, or a number from 0, not {quoted(tag)}")
    return Sentence(words, tags)


def _of_text(value: dict, label_key: str, where: str) -> Sentence:
    """Returns the sentence in an object with a text and, optionally, its entities.

    The words are those that the model's tokenizer cuts into pieces, with their original spelling.
    An entity gets the tags B and I.
    """
    text = value["text"]
    if not isinstance(text, str):
        raise UserError(f'"text" must be a string, not {quoted(text)}')
    spans = []
    for _, starts, ends in basic_tokenize_with_offsets(text, do_lower_case=False):
        spans.append((starts[0], max(ends)))
    words = [text[start:end] for start, end in spans]
    entities = value.get(label_key)
    if entities is None and IS_FINISHED in value:
        entities = []
    if entities is None:
        return Sentence(words, None, text=text, offsets=spans)
    if not isinstance(entities, list):
        raise UserError(f"{quoted(label_key)} must be a list of [start, end, label]")
    tags = [OUTSIDE] * len(spans)
    misfits = []
    parsed, is_converted = _parse_entities(entities, text, spans)
    # Sorted entities make the first message about an overlap independent of their order.
    for start, end, label in sorted(parsed):
        numbers = _overlapping(spans, start, end)
        if not numbers or spans[numbers[0]][0] != start or spans[numbers[-1]][1] != end:
            misfits.append(
                f"{where}: {quoted(text[start:end])} [{start}, {end}] does not fall on the borders "
                "of words"
            )
        prefix = "B"
        for number in numbers:
            if tags[number] != OUTSIDE:
                raise UserError(
                    f"entities overlap at {quoted(words[number])} [{start}, {end}, {quoted(label)}]"
                )
            # IOB2: every entity starts with B.
            tags[number] = f"{prefix}-{label}"
            prefix = "I"
    return Sentence(
        words, tags, text=text, offsets=spans, misfits=misfits, is_converted=is_converted
    )


def _overlapping(spans: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """Returns the numbers of the spans that share a character with text[start:end]."""
    return [number for number, span in enumerate(spans) if span[0] < end and start < span[1]]


def _parse_entities(
    entities: list, text: str, spans: list[tuple[int, int]]
) -> tuple[list[tuple[int, int, str]], bool]:
    """Returns (start, end, label) of the entities in characters, and whether they were converted.

    They are converted if not all of them begin and end with words, but all do once their positions
    are taken for UTF-16 units, which editors count, or else for bytes of UTF-8. If no way of
    counting fits all entities, they are returned as they are, and the caller reports the misfits.

    Args:
      spans: (start, end) of the words, in characters.

    Raises:
      UserError: an item is no entity; or no way of counting fits, and one is outside of the text.
    """
    starts = {start for start, _ in spans}
    ends = {end for _, end in spans}
    parsed = [_parse_entity(entity) for entity in entities]
    # Characters are tried first, so that correct positions are never converted.
    for encoding in (None, "utf-16-le", "utf-8"):
        converted = parsed
        if encoding is not None:
            converted = []
            for start, end, label in parsed:
                start = character_position(text, start, encoding)
                end = character_position(text, end, encoding)
                converted.append((start, end, label))
        if all(start in starts and end in ends and start < end for start, end, _ in converted):
            return converted, converted != parsed
    for start, end, label in parsed:
        if not 0 <= start < end <= len(text):
            raise UserError(
                f"the entity {quoted([start, end, label])} is not in its text, which has "
                f"{len(text)} characters"
            )
    return parsed, False


def _parse_entity(entity: Any) -> tuple[int, int, str]:
    """Returns (start, end, label) of an entity, a list of these or an object with these keys."""
    parts: Any
    if isinstance(entity, dict):
        parts = entity_parts(entity)
    else:
        parts = entity
    is_entity = isinstance(parts, list) and [type(value) for value in parts] == [int, int, str]
    if not is_entity or not parts[2]:
        raise UserError(f"{quoted(parts)} is no entity: [start, end, label] is expected")
    start, end, label = parts
    return start, end, label
