import gzip
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.pretraining import corpus
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(Vocabulary(TOKENS))


def scan(*contents: bytes, tmp_path, block_bytes: int = 64, **options) -> corpus.Corpus:
    paths = []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(content)
        paths.append(str(path))
    return corpus.join([corpus.scan(path, path, block_bytes * 16, **options) for path in paths])


def original_documents(contents, tokenizer) -> list[list[list[int]]]:
    """What the original reads, except that a file's end is a document's end."""
    documents = []
    for content in contents:
        documents.append([])
        for line in content.decode(errors="replace").split("\n"):
            if not line.strip():
                documents.append([])
            elif ids := tokenizer.encode(line).tolist():
                documents[-1].append(ids)
    return [document for document in documents if document]


def as_lists(documents: corpus.Documents) -> list[list[list[int]]]:
    sentences = np.split(documents.ids, documents.sentence_offsets[1:-1])
    return [
        [sentence.tolist() for sentence in sentences[begin:end]]
        for begin, end in zip(
            documents.document_offsets[:-1], documents.document_offsets[1:], strict=True
        )
    ]


LINES = st.lists(
    st.sampled_from(
        [
            b"",
            b"",
            b" \t",
            b"\r",
            b"\xc2\xa0",
            b"\0",
            b"a",
            b"a b\r",
            b"c d e f g",
            b"x y",
            b"h " * 50,
        ]
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(
    files=st.lists(LINES, min_size=1, max_size=3),
    final=st.booleans(),
    block_bytes=st.integers(8, 200),
)
def test_blocks_hold_the_documents_of_the_original(tmp_path_factory, files, final, block_bytes):
    tokenizer = Tokenizer(Vocabulary(TOKENS))
    contents = [b"\n".join(lines) + b"\n" * final for lines in files]
    text = scan(*contents, tmp_path=tmp_path_factory.mktemp("corpus"), block_bytes=block_bytes)
    documents = corpus.load(text.blocks, tokenizer)
    expected = original_documents(contents, tokenizer)
    assert documents.counts["documents"] == len(expected)
    # Long lines are cut in two, so compare what is left when sentences are joined.
    assert [sum(document, []) for document in as_lists(documents)] == [
        sum(document, []) for document in expected
    ]
    if block_bytes > 100:
        assert as_lists(documents) == expected
    sizes = [block.end - block.start for block in text.blocks]
    assert max(sizes, default=0) <= 2 * block_bytes


@pytest.mark.parametrize("block_bytes", [20, 100, 10_000])
def test_parts_of_a_long_document_keep_their_identity(tmp_path, tokenizer, block_bytes):
    text = scan(
        b"a b c\n" * 100 + b"\n" + b"d e\n" * 100, tmp_path=tmp_path, block_bytes=block_bytes
    )
    numbers = []
    for block in text.blocks:
        documents = corpus.load([block], tokenizer)
        numbers += [
            (number, as_lists(documents)[index][0][0])
            for index, number in enumerate(documents.document_ids)
        ]
    assert len({number for number, _ in numbers}) == 2
    assert len(set(numbers)) == 2


def test_a_giant_line_is_cut_at_a_space_and_never_inside_a_character(tmp_path, tokenizer):
    text = scan(b"a b c " * 1000, tmp_path=tmp_path)
    assert len(text.blocks) > 10
    assert corpus.load(text.blocks, tokenizer).counts["tokens"] == 3000
    text = scan("世界".encode() * 1000, tmp_path=tmp_path)
    assert corpus.load(text.blocks, tokenizer).counts["tokens"] == 2000


def test_portions_are_random_samples_of_all_blocks(tmp_path):
    text = scan(b"a b c d e f g h\n\n" * 1000, tmp_path=tmp_path, block_bytes=34)
    portions = corpus.make_portions(text, np.random.default_rng(0))
    assert sorted(block.number for portion in portions for block in portion) == list(
        range(len(text.blocks))
    )
    assert len(portions) > 10
    for portion in portions:
        assert (
            max(block.number for block in portion) - min(block.number for block in portion)
            > len(text.blocks) / 2
        )


def test_another_document_is_found_for_a_portion_of_one(tmp_path, tokenizer):
    text = scan(b"a\n" * 500 + b"\nb\n", tmp_path=tmp_path)
    (found,) = corpus.find_other_documents(text.blocks, text.blocks[:3])
    assert found.last_document != text.blocks[0].first_document
    text = scan(b"a\n" * 500, tmp_path=tmp_path)
    assert corpus.find_other_documents(text.blocks, text.blocks[:3]) == []


def test_bad_utf8_is_named_or_replaced(tmp_path, tokenizer):
    content = b"a b\n" * 100 + b"c \xff d\n" + b"e\n" * 100
    with pytest.raises(
        UserError, match=r"0\.txt:101: byte 402 \(0xff\) is not UTF-8: .*--on_bad_utf8=replace"
    ):
        scan(content, tmp_path=tmp_path)
    text = scan(content, tmp_path=tmp_path, on_bad_utf8="replace")
    assert corpus.load(text.blocks, tokenizer, "replace").counts["tokens"] == 302


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path, tokenizer):
    text = scan(b"a b\n" * 10, tmp_path=tmp_path)
    (tmp_path / "0.txt").write_bytes(b"a")
    with pytest.raises(UserError, match="0.txt was changed"):
        corpus.load(text.blocks, tokenizer)


def test_unzips_by_content(tmp_path):
    plain, zipped, target = tmp_path / "plain.gz", tmp_path / "zipped.txt", str(tmp_path / "target")
    data = bytes(random.Random(0).choices(range(97, 123), k=100_000))
    plain.write_bytes(data)
    assert corpus.plain_file(str(plain), target) == str(plain)
    zipped.write_bytes(gzip.compress(data))
    assert corpus.plain_file(str(zipped), target) == target
    assert (tmp_path / "target").read_bytes() == data
    zipped.write_bytes(gzip.compress(data)[:-100])
    with pytest.raises(UserError, match="zipped.txt to .*target: damaged or cut off"):
        corpus.plain_file(str(zipped), target)


def test_parts_with_a_gap_between_them_are_not_joined(tmp_path, tokenizer):
    text = scan(b"a b c\n" * 200, tmp_path=tmp_path)
    joined = corpus.load(text.blocks[:2], tokenizer)
    apart = corpus.load([text.blocks[0], text.blocks[2]], tokenizer)
    assert (joined.size, apart.size) == (1, 2)
    assert len(set(apart.document_ids)) == 1
    assert apart.counts["documents"] == joined.counts["documents"] == 1
