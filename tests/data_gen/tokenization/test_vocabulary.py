import hashlib
import json

import pytest

from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    TokenizerSettings,
    casing_of_release,
    read_settings,
    write_settings,
)
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary, check_beside
from tests.refusals import assert_refused

TOKENS = [*SPECIAL_TOKENS, "the", "##s", "é"]


def write(tmp_path, data):
    path = tmp_path / "vocab.txt"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def lines(*tokens, end="\n"):
    return "".join(token + end for token in tokens)


def test_ids_and_tokens(tmp_path):
    path = write(tmp_path, lines(*TOKENS))
    vocabulary = Vocabulary.from_file(path)
    assert vocabulary.tokens == TOKENS
    assert vocabulary.size == len(vocabulary) == 8
    assert vocabulary.path == path
    assert (
        vocabulary.pad_id,
        vocabulary.unk_id,
        vocabulary.cls_id,
        vocabulary.sep_id,
        vocabulary.mask_id,
    ) == (0, 1, 2, 3, 4)
    assert [vocabulary.id_of(token) for token in TOKENS] == list(range(8))
    assert [vocabulary.token_of(id) for id in range(8)] == TOKENS
    assert "the" in vocabulary and "The" not in vocabulary


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + lines(*TOKENS).encode(),
        lines(*TOKENS, end="\r\n"),
        lines(*TOKENS) + " \n\t\n",
        lines(*TOKENS).replace("the", " the \t").replace("##s", "##s\u3000"),
    ],
)
def test_harmless_is_accepted(tmp_path, data):
    assert Vocabulary.from_file(write(tmp_path, data)).tokens == TOKENS


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c"])
def test_only_newline_ends_a_line(tmp_path, separator):
    """The multilingual vocabularies have such tokens; str.splitlines() would shift every id behind
    them."""
    vocabulary = Vocabulary.from_file(write(tmp_path, lines(*SPECIAL_TOKENS, separator, "the")))
    assert vocabulary.id_of("the") == 6
    assert vocabulary.id_of(separator) == 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lines(*TOKENS, "the"), "vocab.txt:9: 'the' is already line 6:"),
        (lines("[PAD]", " \t", *TOKENS[1:], end="\r\n"), "vocab.txt:2: blank line between tokens:"),
        (
            lines("[PAD]", "[UNK]", "[SEP]", "the"),
            "vocab.txt has no [CLS], [MASK] among its 4 tokens:",
        ),
        (b"\xef\xbb\xbf\r\n\n", "vocab.txt is empty:"),
        (lines(*TOKENS).encode("latin-1"), "vocab.txt:8: 0xe9 is not UTF-8:"),
    ],
)
def test_refused_with_file_and_line(tmp_path, data, message):
    path = write(tmp_path, data)
    assert_refused(lambda: Vocabulary.from_file(path), str(tmp_path / message))


OTHERS = [*SPECIAL_TOKENS, "[unused0]", "[unused1]", "the", "##s", "é"]


def write_in(directory, tokens=OTHERS, end="\n") -> Vocabulary:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "vocab.txt").write_bytes("".join(f"{token}{end}" for token in tokens).encode())
    return Vocabulary.from_file(str(directory / "vocab.txt"))


def test_another_file_of_the_tokenizer_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{\n  "model": {\n    "vocab": {}\n  }\n}\n')
    with pytest.raises(UserError, match=f"{path} .* vocab.txt"):
        Vocabulary.from_file(path)


def test_the_fingerprint_is_that_of_the_tokens_however_the_file_is_written(tmp_path):
    plain, windows = write_in(tmp_path / "a"), write_in(tmp_path / "b", end="\r\n")
    assert plain.fingerprint == windows.fingerprint == Vocabulary(OTHERS).fingerprint
    assert plain.fingerprint == hashlib.sha256((tmp_path / "a/vocab.txt").read_bytes()).hexdigest()
    # What earlier versions noted: the bytes of the file.
    of_bytes = hashlib.sha256((tmp_path / "b/vocab.txt").read_bytes()).hexdigest()
    assert windows.has_fingerprint(of_bytes) and not plain.has_fingerprint(of_bytes)
    assert write_in(tmp_path / "c", OTHERS[::-1]).fingerprint != plain.fingerprint


def test_differences_of_two_vocabularies():
    there = Vocabulary(OTHERS)
    assert there.replaced_unused(Vocabulary(OTHERS)) == 0
    assert there.replaced_unused(Vocabulary([*SPECIAL_TOKENS, "a", "b", *OTHERS[7:]])) == 2
    assert there.replaced_unused(Vocabulary([*OTHERS[:7], "a", *OTHERS[8:]])) is None
    assert there.replaced_unused(Vocabulary(OTHERS[:-1])) == 0
    assert there.replaced_unused(Vocabulary([*OTHERS, "more"])) is None
    # The other way round the weights know words where the vocabulary has none.
    assert Vocabulary([*SPECIAL_TOKENS, "a", *OTHERS[6:]]).replaced_unused(there) is None
    assert there.describe_difference(Vocabulary([*OTHERS[:7], "a", *OTHERS[8:]])) == (
        "1 of 10 entries differ, the first in line 8: the there, a here"
    )
    assert there.describe_difference(Vocabulary(OTHERS[:8])) == (
        "2 of 10 entries differ, the first in line 9: ##s there, nothing here"
    )


def test_what_is_written_is_read(tmp_path):
    write_settings(str(tmp_path), TokenizerSettings())
    assert not list(tmp_path.iterdir())
    assert read_settings(str(tmp_path)) == TokenizerSettings()
    settings = TokenizerSettings(do_lower_case=False, fingerprint="abc")
    write_settings(str(tmp_path), settings, model_max_length=12, strip_accents=None)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == {
        "do_lower_case": False,
        "tokenizer_class": "BertTokenizer",
        "model_max_length": 12,
        "strip_accents": None,
        "vocab_sha256": "abc",
    }
    assert read_settings(str(tmp_path)) == settings


@pytest.mark.parametrize(
    ("name", "casing"),
    [
        ("uncased_L-12_H-768_A-12", True),
        ("cased_L-12_H-768_A-12", False),
        ("multi_cased_L-12_H-768_A-12", False),
        ("multilingual_L-12_H-768_A-12", True),
        ("chinese_L-12_H-768_A-12", True),
        ("mine", None),
    ],
)
def test_the_casing_of_a_release(tmp_path, name, casing):
    assert casing_of_release(str(tmp_path / name)) is casing
    vocabulary = write_in(tmp_path / name)
    check_beside(vocabulary, casing is not False)
    if casing is not None:
        with pytest.raises(UserError, match=f"give --do_lower_case={str(casing).lower()}"):
            check_beside(vocabulary, not casing)


def test_a_vocabulary_that_contradicts_what_stands_beside_it(tmp_path):
    vocabulary = write_in(tmp_path / "run")
    write_settings(str(tmp_path / "run"), vocabulary.settings(False, vocabulary.fingerprint))
    check_beside(vocabulary, False)
    with pytest.raises(UserError, match="--do_lower_case is true, .* --do_lower_case=false"):
        check_beside(vocabulary, True)
    with pytest.raises(
        UserError,
        match="vocab.txt .* is not the vocabulary that the weights beside it were trained",
    ):
        check_beside(write_in(tmp_path / "run", [*OTHERS[:-1], "other"]), False)
