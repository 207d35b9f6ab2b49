"""The WordPiece vocabulary: one token per line; the number of a line is the id of its token.

Input: a file on any file system. Output: tokens and ids, for `wordpiece.py` and all that reads ids.
`tokenizer_config.json` in the same directory may contain the casing and the fingerprint of the
vocabulary, so that another one is never taken for it. The file and its key `do_lower_case` are
those of Hugging Face's tokenizers, which ignore our key `vocab_sha256`.

    vocabulary = Vocabulary.from_file("vocab.txt")
    vocabulary.id_of("[CLS]")  # 101
"""

import functools
import hashlib
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError

PAD = "[PAD]"
UNK = "[UNK]"
CLS = "[CLS]"
SEP = "[SEP]"
MASK = "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
_CASING = "do_lower_case"
_FINGERPRINT = "vocab_sha256"

# Characters that editors leave at the end of a line, or on a line that looks empty.
_INVISIBLE = " \t\r\v\f"

# Entries that a release reserves for custom words; their embeddings have their initial values.
_is_unused = re.compile(r"\[unused\d+\]").fullmatch


class Vocabulary:
    """Tokens and their ids.

    Attributes:
      tokens: list of str; the id of a token is its index.
      size: number of tokens.
      path: the file it was read from, or None.
      pad_id, unk_id, cls_id, sep_id, mask_id: ids of the special tokens, int.
    """

    def __init__(self, tokens: Iterable[str], path: str | None = None):
        """Takes the tokens in the order of their ids.

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
        if missing:
            raise UserError(
                f"{path or 'the vocabulary'} has no {', '.join(missing)} among its {self.size} "
                "tokens: is it a BERT vocabulary, one token per line?"
            )
        self.pad_id = self._ids[PAD]
        self.unk_id = self._ids[UNK]
        self.cls_id = self._ids[CLS]
        self.sep_id = self._ids[SEP]
        self.mask_id = self._ids[MASK]

    def _bad_entry(self, index: int, problem: str) -> UserError:
        return UserError(
            f"{self.path or 'the vocabulary'}:{index + 1}: {problem} (removing a line changes the "
            "ids after it)"
        )

    @classmethod
    def from_file(cls, path: str) -> "Vocabulary":
        """Reads and checks a vocabulary file: UTF-8, one token per line.

        Only "\\n" (or "\\r\\n") ends a line. As in `load_vocab` of the original, white space around
        a token is not part of it. docs/tokenization.md lists what the checks accept and refuse.

        Raises:
          UserError: the file can't be read, is empty, not UTF-8, has a blank line between tokens, a
            token twice, or lacks a special token.
        """
        path = str(path)
        with files.user_error(f"can't read the vocabulary {path}"):
            if files.is_directory(path):
                raise UserError(
                    f"{path} is a directory: name the vocabulary file in it, e.g. "
                    f"{path.rstrip('/')}/vocab.txt"
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
        vocabulary = cls(tokens, path)
        vocabulary._file_sha256 = hashlib.sha256(data).hexdigest()
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
        """Returns the id of a token; raises `KeyError` for others.

        Text goes through a `Tokenizer`, which returns [UNK] instead.
        """
        return self._ids[token]

    def token_of(self, id: int) -> str:
        """Returns the token with this id; raises `IndexError` unless it is from 0 to size - 1."""
        if not 0 <= id < self.size:
            raise IndexError(
                f"{id} is not an id of {self.path or 'the vocabulary'} (0 to {self.size - 1})"
            )
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


class TokenizerConfig(NamedTuple):
    """Contents of `tokenizer_config.json` that we read; None for what it does not contain.

    Attributes:
      do_lower_case: casing of the vocabulary.
      fingerprint: fingerprint of the vocabulary that the weights were trained with.
    """

    do_lower_case: bool | None
    fingerprint: str | None


def write_tokenizer_config(
    directory: str, do_lower_case: bool | None, fingerprint: str | None, **more: object
) -> None:
    """Writes `tokenizer_config.json`, unless nothing is known.

    Args:
      directory: directory of the vocabulary.
      do_lower_case: its casing; None if it is not known.
      fingerprint: `Vocabulary.fingerprint`; None if it is not known.
      more: further keys that Hugging Face's tokenizers read.

    Raises:
      UserError: the file can't be written.
    """
    if do_lower_case is None and fingerprint is None and not more:
        return
    values: dict[str, object] = {}
    if do_lower_case is not None:
        values[_CASING] = do_lower_case
    values["tokenizer_class"] = "BertTokenizer"
    values.update(more)
    if fingerprint is not None:
        values[_FINGERPRINT] = fingerprint
    json_files.write(os.path.join(directory, TOKENIZER_CONFIG_FILE), values)


def read_tokenizer_config(directory: str) -> TokenizerConfig:
    """Reads `tokenizer_config.json`, if there is one; raises `UserError` if it is damaged."""
    path = os.path.join(directory, TOKENIZER_CONFIG_FILE)
    values = json_files.read(path) if files.exists(path) else {}
    if not isinstance(values, dict):
        values = {}
    casing = values.get(_CASING)
    if not isinstance(casing, bool):
        casing = None
    fingerprint = values.get(_FINGERPRINT)
    if not isinstance(fingerprint, str):
        fingerprint = None
    return TokenizerConfig(casing, fingerprint)


def casing_of_release(directory: str) -> bool | None:
    """Returns the casing of a model that Google released, by the name of its directory.

    The releases contain no other hint. None for other names.
    """
    path = files.absolute(directory)
    name = os.path.basename(path).lower()
    if "uncased" in name or name in ("chinese_l-12_h-768_a-12", "multilingual_l-12_h-768_a-12"):
        return True
    if "cased" in name:
        return False
    return None


def check_beside(vocabulary: Vocabulary, do_lower_case: bool) -> None:
    """Checks a vocabulary file and its casing against the files in its directory.

    Args:
      vocabulary: read from a file.
      do_lower_case: the casing that it will be used with.

    Raises:
      UserError: the directory of the file has another casing or another fingerprint.
    """
    directory = files.parent_directory(vocabulary.path or "")
    config = read_tokenizer_config(directory)
    casing = config.do_lower_case
    if casing is None:
        casing = casing_of_release(directory)
    if casing is not None and casing != do_lower_case:
        casing_name = "lower-cased" if casing else "cased"
        raise UserError(
            f"--do_lower_case is {str(do_lower_case).lower()}, but the vocabulary "
            f"{vocabulary.path} is for {casing_name} text: give "
            f"--do_lower_case={str(casing).lower()}"
        )
    check_fingerprint(vocabulary, config.fingerprint)


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
