"""nanotoken, a tokenizer in Rust, as the engine of `tokenizer.py` for many texts.

    engine = NanotokenEngine(vocabulary, do_lower_case=True)
    ids, row_lengths = engine.encode(["Hello, world!", "And you?"])

Input: texts. Output: their ids, for versions that were compared with the original: from the
vocabulary's own settings it makes the original's ids, but for characters that its older tables of
Unicode lack, for private ones, and for the capital sigma, whose lower case depends on its word.
`is_exact` finds texts without any of these.
"""

import functools
import json
import multiprocessing
import sys
from collections.abc import Sequence

import numpy as np

from bert_common import version
from bert_common.errors import say
from data_gen.tokenization.vocabulary import UNK, Vocabulary
from data_gen.tokenization.wordpiece import MAX_WORD_CHARACTERS

# Versions whose ids tests/data_gen/tokenization/test_nanotoken_engine.py has compared.
_VERSIONS = ("0.1.0",)
# UTF-16 of characters that were compared. Outside are the capital sigma, scripts with characters
# that are younger than Unicode 9, private characters, and what UTF-16 writes with two numbers.
_COMPARED = (
    (0x0000, 0x03A2),
    (0x03A4, 0x061C),
    (0x061E, 0x07FC),
    (0x0900, 0x09FC),
    (0x0E00, 0x0EB9),
    (0x1E00, 0x2E42),
    (0x2E5E, 0xA7CA),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFFFF),
)
_IS_OTHER = np.ones(0x10000, bool)
for _first, _last in _COMPARED:
    _IS_OTHER[_first : _last + 1] = False


@functools.cache
def installed() -> str | None:
    """Returns the package with its version, if it can be used; says so if it can't."""
    release = version("nanotoken")
    if release is None:
        return None
    if release in _VERSIONS:
        return f"nanotoken {release}"
    # The process that has started the workers says it for all.
    if multiprocessing.parent_process() is None:
        say(
            f"note: nanotoken {release} is not used: only the ids of {', '.join(_VERSIONS)} were "
            "compared with the original's",
            file=sys.stderr,
        )
    return None


def is_exact(text: str) -> bool:
    """Whether `NanotokenEngine.encode` gives the original's ids of a text."""
    if text.isascii():
        return True
    numbers = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    # Few characters are left for the table.
    return not _IS_OTHER[numbers[numbers > 127]].any()


class NanotokenEngine:
    """The engine for one vocabulary, where `installed`."""

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool):
        """Takes a vocabulary, as `Tokenizer` does."""
        import nanotoken

        ids = {token: id for id, token in enumerate(vocabulary.word_pieces)}
        normalizer = {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": vocabulary.strip_accents,
            "lowercase": do_lower_case,
        }
        model = {
            "type": "WordPiece",
            "unk_token": UNK,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": MAX_WORD_CHARACTERS,
            "vocab": ids,
        }
        # Without `added_tokens`: marks in a text are no tokens here.
        self._tokenizer = nanotoken.Tokenizer.from_json(
            json.dumps(
                {
                    "version": "1.0",
                    "added_tokens": [],
                    "normalizer": normalizer,
                    "pre_tokenizer": {"type": "BertPreTokenizer"},
                    "model": model,
                }
            )
        )

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns ids, int32 [T], and numbers of tokens, int64 [R], of texts that are exact.

        On the thread that calls: the work is divided among processes elsewhere.
        """
        rows = self._tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False)
        return rows.ids.view(np.int32), np.diff(rows.offsets)
