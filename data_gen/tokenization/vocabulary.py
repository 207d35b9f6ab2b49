"""The WordPiece vocabulary: one token per line, its number is its id.

Input: a file on any file system. Output: tokens and ids, for `wordpiece.py` and all that reads ids.
Beside it may stand `tokenizer_config.json` with its casing and its fingerprint, so that another one
is never taken for it: the file and the key `do_lower_case` are those of Hugging Face's tokenizers,
which pass over ours, `vocab_sha256`.

    vocabulary = Vocabulary.from_file("vocab.txt")
    vocabulary.id_of("[CLS]")  # 101
"""

import functools
import hashlib
import os
import re
from collections.abc import Iterable

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
_CASING, _FINGERPRINT = "do_lower_case", "vocab_sha256"

# What an editor leaves at the end of a line, or on a line that looks empty.
_INVISIBLE = " \t\r\v\f"

# Entries that a release holds free for custom words; their embeddings are as they were initialised.
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
            first = self._ids.setdefault(token, index)
            if not token or first != index:
                what = (
                    f"{token!r} is already line {first + 1}: every token must be there once"
                    if token
                    else "empty token"
                )
                raise UserError(
                    f"{path or 'the vocabulary'}:{index + 1}: {what} (removing a line changes the ids after it)"
                )
        missing = [token for token in SPECIAL_TOKENS if token not in self._ids]
        if missing:
            raise UserError(
                f"{path or 'the vocabulary'} has no {', '.join(missing)} among its {self.size} tokens: "
                "is it a BERT vocabulary, one token per line?"
            )
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            self._ids.__getitem__, SPECIAL_TOKENS
        )

    @classmethod
    def from_file(cls, path: str) -> "Vocabulary":
        """Reads and checks a vocabulary file: UTF-8, one token per line; only "\\n" (or "\\r\\n")
        ends a line.

        As in `load_vocab` of the original, white space around a token is not part of it. What the
        checks accept and what they refuse is listed in docs/tokenization.md.

        Raises:
          UserError: the file can't be read, is empty, not UTF-8, has a blank line between tokens, a
            token twice, or lacks a special token.
        """
        path = str(path)
        with files.user_error(f"can't read the vocabulary {path}"):
            if files.is_directory(path):
                raise UserError(
                    f"{path} is a directory: name the vocabulary file in it, e.g. {path.rstrip('/')}/vocab.txt"
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
        # Not str.splitlines(): a vocabulary may hold U+2028 or U+0085 as a token. Blank lines at
        # the end are none.
        lines = text.rstrip(f"{_INVISIBLE}\n").split("\n")
        # A line of U+2028 or U+3000 alone is a token that never matches, not a mistake: it keeps
        # its id.
        tokens = [line.strip() or line.strip(_INVISIBLE) for line in lines]
        if tokens == [""]:
            raise UserError(f"{path} is empty: one token per line is expected")
        if "" in tokens:
            number = tokens.index("") + 1
            raise UserError(
                f"{path}:{number}: blank line between tokens: remove it, or put a token such as [unused{number}] "
                "there to keep the ids after it"
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
        """The id of a token; `KeyError` for others. Text goes through a `Tokenizer`, which answers
        [UNK]."""
        return self._ids[token]

    def token_of(self, id: int) -> str:
        """The token with this id; `IndexError` where it is negative or not below `size`."""
        if not 0 <= id < self.size:
            raise IndexError(
                f"{id} is not an id of {self.path or 'the vocabulary'} (0 to {self.size - 1})"
            )
        return self.tokens[id]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the tokens, each with a line end, in hexadecimal: that of the file where it
        has nothing odd in it."""
        return hashlib.sha256(
            "".join(f"{token}\n" for token in self.tokens).encode("utf-8", "surrogatepass")
        ).hexdigest()

    def has_fingerprint(self, fingerprint: str) -> bool:
        """Whether a fingerprint is that of these tokens, or of the bytes of the file, as earlier
        versions noted it."""
        return fingerprint in (self.fingerprint, self._file_sha256)

    def replaced_unused(self, other: "Vocabulary") -> int | None:
        """The number of [unused] entries that were given tokens where another vocabulary is
        otherwise this one; else None.

        It may also end before this one: then some ids never occur.
        """
        pairs = list(zip(self.tokens, other.tokens, strict=False))
        differing = [there for there, here in pairs if there != here]
        return (
            len(differing) if self.size >= other.size and all(map(_is_unused, differing)) else None
        )

    def describe_difference(self, other: "Vocabulary") -> str:
        """The number of entries that differ and the first one, e.g. "30,000 of 30,522 entries
        differ, first line 6: …"."""
        longest = max(self.size, other.size)
        differing = [
            index
            for index in range(longest)
            if self.tokens[index : index + 1] != other.tokens[index : index + 1]
        ]
        if not differing:
            return "no entry differs"
        there, here = (
            vocabulary.tokens[differing[0]] if differing[0] < vocabulary.size else "nothing"
            for vocabulary in (self, other)
        )
        return (
            f"{len(differing):,} of {longest:,} entries differ, the first in line {differing[0] + 1}: {there} there, "
            f"{here} here"
        )


def write_tokenizer_config(
    directory: str, do_lower_case: bool | None, fingerprint: str | None, **more: object
) -> None:
    """Writes what is known, and nothing where that is nothing.

    Args:
      directory: of the vocabulary.
      do_lower_case: its casing; None where it is not known.
      fingerprint: `Vocabulary.fingerprint`; None where it is not known.
      more: further keys that Hugging Face's tokenizers read.

    Raises:
      UserError: it can't be written.
    """
    known = {
        _CASING: do_lower_case,
        "tokenizer_class": "BertTokenizer",
        **more,
        _FINGERPRINT: fingerprint,
    }
    if do_lower_case is not None or fingerprint is not None or more:
        optional = (_CASING, _FINGERPRINT)
        json_files.write(
            os.path.join(directory, TOKENIZER_CONFIG_FILE),
            {
                name: value
                for name, value in known.items()
                if value is not None or name not in optional
            },
        )


def read_tokenizer_config(directory: str) -> tuple[bool | None, str | None]:
    """The casing in the file, and the fingerprint of the vocabulary that the weights beside it were
    trained with.

    Each is None where it is not known. Raises `UserError` for a damaged file.
    """
    path = os.path.join(directory, TOKENIZER_CONFIG_FILE)
    value = json_files.read(path) if files.exists(path) else {}
    casing, fingerprint = (
        value.get(key) if isinstance(value, dict) else None for key in (_CASING, _FINGERPRINT)
    )
    return casing if isinstance(casing, bool) else None, fingerprint if isinstance(
        fingerprint, str
    ) else None


def casing_of_release(directory: str) -> bool | None:
    """The casing of a model that Google released, which only the name of its directory shows; None
    for other names."""
    path = files.absolute(directory)
    name = os.path.basename(path).lower()
    if "uncased" in name or name in ("chinese_l-12_h-768_a-12", "multilingual_l-12_h-768_a-12"):
        return True
    return False if "cased" in name else None


def check_beside(vocabulary: Vocabulary, do_lower_case: bool) -> None:
    """Refuses a vocabulary file, or a casing of it, that contradicts what stands beside it.

    Args:
      vocabulary: read from a file.
      do_lower_case: the casing that it is to be used with.

    Raises:
      UserError: the directory of the file has another casing or another fingerprint.
    """
    directory = files.parent_directory(vocabulary.path or "")
    casing, fingerprint = read_tokenizer_config(directory)
    casing = casing_of_release(directory) if casing is None else casing
    if casing is not None and casing != do_lower_case:
        raise UserError(
            f"--do_lower_case is {str(do_lower_case).lower()}, but the vocabulary {vocabulary.path} is of "
            f"{'lower-cased' if casing else 'cased'} text: give --do_lower_case={str(casing).lower()}"
        )
    check_fingerprint(vocabulary, fingerprint)


def check_fingerprint(vocabulary: Vocabulary, fingerprint: str | None) -> None:
    """Raises `UserError` where a vocabulary is not the one that the weights beside it were trained
    with."""
    if fingerprint is not None and not vocabulary.has_fingerprint(fingerprint):
        raise UserError(
            f"{vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is not the vocabulary that the "
            f"weights beside it were trained with ({short(fingerprint)} in {TOKENIZER_CONFIG_FILE}): put that "
            "one back; one in which only [unused] entries are replaced may lie elsewhere, as --vocab_file"
        )


def short(fingerprint: str) -> str:
    """A fingerprint as messages show it."""
    return fingerprint[:12]
