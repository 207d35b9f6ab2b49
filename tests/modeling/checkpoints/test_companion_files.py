import json
import os

import pytest

from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.preprocessing.preprocessor import BertPreprocessor
from tests.modeling.checkpoints.common import assert_refused as assert_path_refused
from tests.modeling.checkpoints.common import random_weights, write_huggingface
from tests.refusals import assert_refused
from tests.tiny import TOKENS, write_tiny

ENTRIES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "é", "##s"]


@pytest.fixture
def folder(tmp_path):
    return write_huggingface(tmp_path / "model", random_weights())


def write_tokenizer(folder, vocabulary=None, **values):
    ids = {token: id for id, token in enumerate(ENTRIES)} if vocabulary is None else vocabulary
    steps = {
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": ids},
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(steps | values))


@pytest.mark.parametrize("lowercase", [True, False])
def test_newer_tools_write_one_file_only(folder, lowercase):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    write_tokenizer(
        folder,
        normalizer={"type": "BertNormalizer", "lowercase": lowercase},
        added_tokens=[{"id": 0, "content": "[PAD]"}, {"id": 7, "content": "[NEW]", **flags}],
    )
    source = read_checkpoint(str(folder))
    assert source.do_lower_case is lowercase
    assert open(source.vocab_file, encoding="utf-8").read().split("\n") == [*ENTRIES, "[NEW]", ""]
    assert os.listdir(folder) and not (folder / "vocab.txt").exists()


def test_the_older_files_win(folder):
    write_tokenizer(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nother\n")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    source = read_checkpoint(str(folder))
    assert (source.vocab_file, source.do_lower_case) == (str(folder / "vocab.txt"), False)


def test_vocabularies_that_contradict_each_other_or_make_no_list(folder):
    write_tokenizer(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[SEP]\n[CLS]\n[MASK]\n")
    assert_path_refused(folder, "vocab.txt:3: [SEP] has id 3 in tokenizer.json")
    (folder / "vocab.txt").unlink()
    for vocabulary in ({"a": 0, "b": 0}, {"a": 0, "b": 2}):
        write_tokenizer(folder, vocabulary)
        assert_path_refused(folder, "tokenizer.json: the ids of the vocabulary are not")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("tokenizer.json", "{", "1: not JSON"),
        ("tokenizer_config.json", "{", "1: not JSON"),
        ("tokenizer.json", "[1]", " a JSON object is expected"),
        (
            "tokenizer.json",
            '{"model": {"type": "WordPiece", "vocab": {"a": "0"}}}',
            " 'model.vocab' is",
        ),
    ],
)
def test_a_damaged_file(folder, name, text, message):
    (folder / name).write_text(text)
    assert_path_refused(folder, f"{name}:{message}")


OTHER = [*SPECIAL_TOKENS, *reversed(TOKENS[5:])]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    directory = tmp_path_factory.mktemp("tiny")
    return write_tiny(directory, "masked_lm")


def write(path, tokens) -> str:
    path.write_text("".join(f"{token}\n" for token in tokens))
    return str(path)


def test_the_same_tokens_in_another_file_are_the_same_vocabulary(tiny, tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\r\n".join(TOKENS).encode())
    assert open_checkpoint(tiny, vocab_file=str(path)).notes == ()


def test_another_vocabulary_of_the_same_size(tiny, tmp_path):
    other = write(tmp_path / "other.txt", OTHER)
    parts = (
        "--vocab_file",
        other,
        f"{tiny}/vocab.txt",
        "entries differ",
        "line 6: the there, mask here",
    )
    assert_refused(lambda: open_checkpoint(tiny, vocab_file=other), *parts)
    assert_refused(
        lambda: convert(tiny, "huggingface", str(tmp_path / "hf"), vocab_file=other), *parts
    )
    assert not (tmp_path / "hf").exists()


def test_entries_that_a_release_holds_free_may_be_given_tokens(tmp_path):
    free = [*SPECIAL_TOKENS, *(f"[unused{number}]" for number in range(16))]
    directory = tmp_path / "free"
    directory.mkdir()
    write_tiny(directory, "masked_lm")
    write(directory / "vocab.txt", free)
    (directory / "tokenizer_config.json").unlink()
    own = write(tmp_path / "own.txt", [*free[:7], *TOKENS[7:9], *free[9:]])
    (note,) = open_checkpoint(str(directory), vocab_file=own).notes
    assert note == (
        f"{own}: 2 [unused] entries of the checkpoint's vocabulary have tokens here, whose embeddings are "
        "untrained so far"
    )
    assert note in convert(str(directory), "native", str(tmp_path / "out"), vocab_file=own)
    # From now on these tokens are the checkpoint's own.
    assert_refused(
        lambda: open_checkpoint(
            str(tmp_path / "out"), vocab_file=write(tmp_path / "free.txt", free)
        ),
        "line 8",
    )


@pytest.mark.parametrize("output_format", ["native", "huggingface"])
def test_a_fingerprint_outlives_its_vocabulary(tiny, tmp_path, output_format):
    copy = tmp_path / "copy"
    convert(tiny, output_format, str(copy))
    assert read_checkpoint(str(copy)).vocab_sha256 == read_checkpoint(tiny).vocab_sha256
    write(copy / "vocab.txt", OTHER)
    for call in (
        lambda: open_checkpoint(str(copy)),
        lambda: BertPreprocessor.from_checkpoint(str(copy)),
        lambda: convert(str(copy), "native", str(tmp_path / "again")),
    ):
        assert_refused(
            call,
            f"{copy}/vocab.txt",
            "is not the vocabulary that the weights beside it were trained with",
            "put that one back",
        )
    (copy / "vocab.txt").unlink()
    # Which has its entries, too.
    (copy / "tokenizer.json").unlink(missing_ok=True)
    other, right = write(tmp_path / "other.txt", OTHER), write(tmp_path / "right.txt", TOKENS)
    assert_refused(
        lambda: open_checkpoint(str(copy), vocab_file=other),
        other,
        "give the one that belongs to it",
    )
    assert open_checkpoint(str(copy), vocab_file=right).vocab_file == right
    # Still without its vocabulary it is known in what it is turned into.
    bare = tmp_path / "bare"
    convert(str(copy), "native", str(bare))
    assert (
        json.loads((bare / "tokenizer_config.json").read_text())["vocab_sha256"]
        == read_checkpoint(tiny).vocab_sha256
    )
    assert_refused(
        lambda: open_checkpoint(str(bare), vocab_file=other), "give the one that belongs to it"
    )


def test_words_in_unused_entries_that_no_text_can_have_are_named():
    from data_gen.tokenization.vocabulary import Vocabulary
    from modeling.checkpoints.companion_files import _unmatched_tokens

    unused = [f"[unused{number}]" for number in range(5)]
    words = ["anfield", "SARS", "covid-19", "naïve", "new york"]
    expected = Vocabulary([*SPECIAL_TOKENS, *unused, "a"])
    vocabulary = Vocabulary([*SPECIAL_TOKENS, *words, "a"])
    warning = _unmatched_tokens(vocabulary, expected, True)
    assert warning.endswith(": 'SARS', 'covid-19', 'naïve', 'new york'")
    assert _unmatched_tokens(vocabulary, expected, False).endswith(": 'covid-19', 'new york'")
    assert _unmatched_tokens(expected, expected, True) == ""
