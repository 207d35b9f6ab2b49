import json
import unicodedata

import numpy as np
import pytest
import tokenizers

from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.tokenizer_file import tokenizer_values

_TEXTS = 25_000
# First and last character of scripts, and what else tokenizers stumble over.
_SCRIPTS = [
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x370, 0x3FF),
    (0x400, 0x52F),
    (0x530, 0x58F),
    (0x590, 0x5FF),
    (0x600, 0x6FF),
    (0x900, 0x97F),
    (0x980, 0x9FF),
    (0xB80, 0xBFF),
    (0xE00, 0xE7F),
    (0xF00, 0xFFF),
    (0x10A0, 0x10FF),
    (0x1100, 0x11FF),
    (0x1E00, 0x1FFF),
    (0x3040, 0x30FF),
    (0x4E00, 0x4FFF),
    (0xAC00, 0xADFF),
    (0xFF00, 0xFFEF),
    (0x2C00, 0x2DFF),
    (0x1F300, 0x1F6FF),
    (0x1E900, 0x1E95F),
]
_ODD = [
    *"ΣΣς'.\u00ad\u0345İı\u0130ßẞǅſK\u0301\u0323\u200b\u200d\ufeff\ufffd\x00\x0b\x1c\x85\u2028\u3000\xa0\t\n\r$^`~",
    "\ue000",
    "\U0002f800",
    "\uf900",
    "㐀",
    "\U0002ceb0",
    "\U0010ffff",
    "[",
    "]",
    "##",
    *SPECIAL_TOKENS,
]


def texts(seed):
    """Words of one script, with odd characters among them; some are very long."""
    rng = np.random.default_rng(seed)
    for _ in range(_TEXTS):
        first, last = _SCRIPTS[rng.integers(len(_SCRIPTS))]
        words = [
            "".join(
                _ODD[rng.integers(len(_ODD))]
                if rng.random() < 0.15
                else chr(rng.integers(first, last + 1))
                for _ in range(rng.integers(1, 12))
            )
            for _ in range(rng.integers(1, 8))
        ]
        if rng.random() < 0.01:
            words.append("a" * int(rng.integers(95, 210)))
        yield " ".join(words)


@pytest.fixture(scope="module", params=["uncased", "cased"])
def pair(request, golden):
    """(our tokenizer, that of the package with our file)."""
    vocabulary = Vocabulary.from_file(str(golden / f"bert/{request.param}_vocab.txt"))
    uncased = request.param == "uncased"
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_values(vocabulary, uncased)))
    return Tokenizer(vocabulary, uncased), theirs


def assert_same(pair, lines):
    ours, theirs = pair
    found = theirs.encode_batch(lines, add_special_tokens=False)
    differing = [
        (line, ours.encode(line, special_tokens=True).tolist(), one.ids)
        for line, one in zip(lines, found, strict=True)
        if ours.encode(line, special_tokens=True).tolist() != one.ids
    ]
    assert not differing, (len(differing), differing[:3])


def test_50_000_texts_of_many_scripts(pair):
    lines = list(texts(int(pair[0].do_lower_case)))
    assert len(set(lines)) > 0.98 * _TEXTS
    assert_same(pair, lines)


def test_golden_texts(pair, golden_set):
    casing = "uncased" if pair[0].do_lower_case else "cased"
    with open(golden_set / f"tokenization/tokenization_{casing}.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line)["text"] for line in file]
    assert_same(pair, [line for line in lines if line.encode(errors="ignore").decode() == line])


def test_every_character_that_lower_case_or_accents_know(pair):
    characters = [
        chr(code)
        for code in range(0x20000)
        if not 0xD800 <= code < 0xE000
        and (
            chr(code).lower() != chr(code)
            or unicodedata.normalize("NFD", chr(code)) != chr(code)
            and code < 0x3400
        )
    ]
    assert len(characters) > 2000
    assert_same(pair, [f"{character}a AΣ{character}" for character in characters])


def test_pairs_and_segments(pair):
    ours, theirs = pair
    found = theirs.encode("the cat", "a [MASK] dog")
    cls, sep = ours.vocabulary.cls_id, ours.vocabulary.sep_id
    first, second = (
        ours.encode(text, special_tokens=True).tolist() for text in ("the cat", "a [MASK] dog")
    )
    assert found.ids == [cls, *first, sep, *second, sep] and ours.vocabulary.mask_id in second
    assert found.type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)
