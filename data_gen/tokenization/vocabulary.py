"""The WordPiece vocabulary: one token per line; the number of a line is the id of its token.

Input: a file on any file system. Output: tokens and ids, for `wordpiece.py` and all that reads ids.
Files in the same directory may contain casing, accents, added tokens and the fingerprint of the
vocabulary, see `settings.py`.

    vocabulary = Vocabulary.from_file("vocab.txt")
    vocabulary.id_of("[CLS]")  # 101
"""

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    CLS,
    MASK,
    PAD,
    SEP,
    SPECIAL_TOKENS,
    TOKENIZER_CONFIG_FILE,
    TOKENIZER_FILE,
    UNK,
    AddedToken,
    TokenizerSettings,
    casing_of_release,
    read_settings,
    write_settings,
)

# Characters that editors leave at the end of a line, or on a line that looks empty.
_INVISIBLE = " \t\r\v\f"

# Entries that a release reserves for custom words; their embeddings have their initial values.
_is_unused = re.compile(r"\[unused\d+\]").fullmatch
# Markers such as [CLS] and <S>.
_is_marker = re.compile(r"\[.+\]|<.+>").fullmatch
# A vocabulary is cased if this share of its entries has upper-case letters; a third is usual.
_CASED_SHARE = 0.01


class Vocabulary:
    """Tokens and their ids.

    Attributes:
      tokens: list of str; the id of a token is its index.
      size: number of tokens.
      path: the file it was read from, or None.
      strip_accents: whether accents are stripped from its texts; None for the default, which is to
        strip them where text is lower-cased.
      added_tokens: tokens that are found in a text before it is split into words.
      pad_id, unk_id, cls_id, sep_id, mask_id: ids of the special tokens, int.
      special_tokens: the special tokens, all but maybe [MASK].
    """

    def __init__(
        self,
        tokens: Iterable[str],
        path: str | None = None,
        strip_accents: bool | None = None,
        added_tokens: Iterable[AddedToken] = (),
    ):
        """Takes the tokens in the order of their ids; an added token without an entry is left out.

        Raises:
          UserError: a token is empty or occurs twice, or a special token is missing.
        """
        self.tokens = list(tokens)
        self.size = len(self.tokens)
        self.path = path
        self._file_sha256: str | None = None
        self._ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            if not token:
                raise self._bad_entry(index, "empty token")
            first = self._ids.setdefault(token, index)
            if first != index:
                raise self._bad_entry(
                    index, f"{token!r} is already line {first + 1}: every token must occur once"
                )
        missing = [token for token in SPECIAL_TOKENS if token not in self._ids]
        # A vocabulary may have lost a token that only masked-LM needs, but no other file lacks it
        # alone.
        if missing and missing != [MASK]:
            raise UserError(
                f"{self.name} has no {', '.join(missing)} among its {self.size} "
                "tokens: is it a BERT vocabulary, one token per line?"
            )
        self.strip_accents = strip_accents
        self.added_tokens: list[AddedToken] = []
        for added in added_tokens:
            if added.content in self._ids:
                self.added_tokens.append(added._replace(id=self._ids[added.content]))
        self.pad_id = self._ids[PAD]
        self.unk_id = self._ids[UNK]
        self.cls_id = self._ids[CLS]
        self.sep_id = self._ids[SEP]

    @property
    def special_tokens(self) -> list[str]:
        return [token for token in SPECIAL_TOKENS if token in self._ids]

    @property
    def mask_id(self) -> int:
        if MASK not in self._ids:
            raise UserError(f"{self.name} has no {MASK}, which masked words need")
        return self._ids[MASK]

    @property
    def name(self) -> str:
        """Name for messages: the path of the file, or "the vocabulary"."""
        return "the vocabulary" if self.path is None else self.path

    def _bad_entry(self, index: int, problem: str) -> UserError:
        return UserError(
            f"{self.name}:{index + 1}: {problem} (removing a line changes the ids after it)"
        )

    @classmethod
    def from_file(cls, path: str) -> "Vocabulary":
        """Reads and checks a vocabulary file: UTF-8, one token per line.

        Only "\\n" (or "\\r\\n") ends a line. As in `load_vocab` of the original, white space around
        a token is not part of it. docs/tokenization.md lists what the checks accept and refuse.

        Raises:
          UserError: the file can't be read, is empty, not UTF-8, has a blank line between tokens, a
            token twice, or lacks a special token; the files beside it are of another tokenizer.
        """
        path = str(path)
        with files.user_error(f"can't read the vocabulary {path}"):
            if files.is_directory(path):
                raise UserError(
                    f"{path} is a directory: name the vocabulary file in it, e.g. "
                    f"{path.rstrip('/')}/vocab.txt"
                )
            if os.path.basename(path) == TOKENIZER_FILE:
                raise UserError(
                    f"{path} is not one token per line: give a vocab.txt, which "
                    "convert_checkpoint.py writes for the directory of this file"
                )
            with files.open_file(path, "rb") as file:
                data = file.read()
        try:
            text = data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise UserError(
                f"{path}:{line}: 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
            ) from None
        # str.splitlines() would split at U+2028 and U+0085, which may be tokens. Blank lines at the
        # end do not count.
        lines = text.rstrip(f"{_INVISIBLE}\n").split("\n")
        # A line of U+2028 or U+3000 alone is a token that never matches, not a mistake: it keeps
        # its id.
        tokens = [line.strip() or line.strip(_INVISIBLE) for line in lines]
        if tokens == [""]:
            raise UserError(f"{path} is empty: one token per line is expected")
        if "" in tokens:
            number = tokens.index("") + 1
            raise UserError(
                f"{path}:{number}: blank line between tokens: remove it, or put a token such as "
                f"[unused{number}] there to keep the ids after it"
            )
        settings = read_settings(files.parent_directory(path))
        vocabulary = cls(tokens, path, settings.strip_accents, settings.added_tokens)
        vocabulary._file_sha256 = hashlib.sha256(data).hexdigest()
        return vocabulary

    @functools.cached_property
    def is_continuation(self) -> np.ndarray:
        """bool [size], the tokens that start with "##"."""
        return np.array([token.startswith("##") for token in self.tokens])

    @functools.cached_property
    def upper_case_entry(self) -> str | None:
        """An entry with upper-case letters of a cased vocabulary; None for an uncased one.

        Uncased vocabularies have a few such entries at most, which never occur.
        """
        entries = []
        for token in self.word_pieces:
            if token != token.lower() and not _is_marker(token):
                entries.append(token)
        if len(entries) < _CASED_SHARE * self.size:
            return None
        return max(entries, key=len, default=None)

    @functools.cached_property
    def word_pieces(self) -> list[str]:
        """The tokens that words are made of: all but the added ones at the end.

        Those are found in a text, but are no pieces of words, in which they would hide others.
        """
        added = {token.content for token in self.added_tokens}
        size = self.size
        while size and self.tokens[size - 1] in added:
            size -= 1
        return self.tokens[:size]

    def settings(self, do_lower_case: bool | None, fingerprint: str | None) -> TokenizerSettings:
        """Returns what the files beside a copy of the vocabulary must contain."""
        return TokenizerSettings(
            do_lower_case=do_lower_case,
            strip_accents=self.strip_accents,
            added_tokens=tuple(self.added_tokens),
            fingerprint=fingerprint,
        )

    def __len__(self) -> int:
        return self.size

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def id_of(self, token: str) -> int:
        """Returns the id of a token; raises `KeyError` for others.

        Text goes through a `Tokenizer`, which returns [UNK] instead.
        """
        return self._ids[token]

    def token_of(self, id: int) -> str:
        """Returns the token with this id; raises `IndexError` unless it is from 0 to size - 1."""
        if not 0 <= id < self.size:
            raise IndexError(f"{id} is not an id of {self.name} (0 to {self.size - 1})")
        return self.tokens[id]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the tokens, each with a line end, in hexadecimal.

        It equals the digest of the file if that has no byte order mark, "\\r" or extra spaces.
        """
        text = "".join([f"{token}\n" for token in self.tokens])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def has_fingerprint(self, fingerprint: str) -> bool:
        """Whether a fingerprint belongs to these tokens.

        Earlier versions recorded the digest of the file's bytes, which counts, too.
        """
        return fingerprint in (self.fingerprint, self._file_sha256)

    def replaced_unused(self, other: "Vocabulary") -> int | None:
        """Returns in how many [unused] entries another vocabulary has words; None if it differs in
        other entries.

        The other one may also end earlier: then some ids never occur.
        """
        if self.size < other.size:
            return None
        num_replaced = 0
        for token, other_token in zip(self.tokens, other.tokens, strict=False):
            if token != other_token:
                if not _is_unused(token):
                    return None
                num_replaced += 1
        return num_replaced

    def describe_difference(self, other: "Vocabulary") -> str:
        """Returns how many entries differ and the first one.

        E.g. "30,000 of 30,522 entries differ, the first in line 6: …".
        """
        num_entries = max(self.size, other.size)
        differing = []
        for index in range(num_entries):
            if self.tokens[index : index + 1] != other.tokens[index : index + 1]:
                differing.append(index)
        if not differing:
            return "no entry differs"
        first = differing[0]
        tokens = []
        for vocabulary in (self, other):
            tokens.append(vocabulary.tokens[first] if first < vocabulary.size else "nothing")
        return (
            f"{len(differing):,} of {num_entries:,} entries differ, the first in line {first + 1}: "
            f"{tokens[0]} there, {tokens[1]} here"
        )


def temporary_vocabulary(tokens: Iterable[str], settings: TokenizerSettings) -> str:
    """Writes a `vocab.txt` with its settings that exists until the program ends; returns its path.

    All readers of vocabularies take a path, and find the settings beside the file.
    """
    folder = tempfile.mkdtemp(
        prefix="vocabulary.", dir=files.temporary_folder(temporary_vocabulary)
    )
    path = os.path.join(folder, "vocab.txt")
    with open(path, "w", encoding="utf-8", newline="") as file:
        for token in tokens:
            file.write(f"{token}\n")
    write_settings(folder, settings)
    return path


def check_beside(
    vocabulary: Vocabulary, do_lower_case: bool, strip_accents: bool | None = None
) -> None:
    """Checks a vocabulary file and the settings of its tokenizer against the files beside it.

    Args:
      vocabulary: read from a file.
      do_lower_case, strip_accents: the settings that it will be used with; None for those beside
        the file.

    Raises:
      UserError: the directory of the file has other settings or another fingerprint.
    """
    directory = files.parent_directory(str(vocabulary.path))
    settings = read_settings(directory)
    if settings.do_lower_case is None:
        casing = casing_of_release(directory)
    else:
        casing = settings.do_lower_case
    if casing is not None and casing != do_lower_case:
        casing_name = "lower-cased" if casing else "cased"
        raise UserError(
            f"--do_lower_case is {str(do_lower_case).lower()}, but the vocabulary "
            f"{vocabulary.path} is for {casing_name} text: give "
            f"--do_lower_case={str(casing).lower()}"
        )
    stored = settings.strip_accents
    if None not in (stored, strip_accents) and stored != strip_accents:
        raise UserError(
            f"--strip_accents={str(strip_accents).lower()} contradicts the files beside "
            f"{vocabulary.path}: leave the flag out"
        )
    check_fingerprint(vocabulary, settings.fingerprint)


def check_fingerprint(vocabulary: Vocabulary, fingerprint: str | None) -> None:
    """Raises `UserError` if the weights beside a vocabulary were trained with another one."""
    if fingerprint is not None and not vocabulary.has_fingerprint(fingerprint):
        raise UserError(
            f"{vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is not the "
            f"vocabulary that the weights beside it were trained with ({short(fingerprint)} in "
            f"{TOKENIZER_CONFIG_FILE}): put that one back; a vocabulary in which only [unused] "
            "entries are replaced may be elsewhere, as --vocab_file"
        )


def short(fingerprint: str) -> str:
    """Returns a fingerprint as messages show it."""
    return fingerprint[:12]
