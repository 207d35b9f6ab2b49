"""Windows over sentences of words: every word is scored, with its context, and the ids are those of
a plain loop."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.labeled.word_windows import encode_words, make_windows
from tests.data_gen.tokenization.common import TOKENIZERS, VOCABULARY

TOKENIZER = TOKENIZERS[True]
# One, three, five and no sub-tokens; one word that fills a small window.
WORDS = ["the", "unaffable", "un-able", "\x00", "ab" * 9, "!"]
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9)
DOCUMENTS = st.lists(st.lists(SENTENCE, min_size=1, max_size=7), min_size=1, max_size=4)


class Case:
    """Documents of sentences, and what a plain loop says about them."""

    def __init__(self, documents):
        sentences = [sentence for document in documents for sentence in document]
        self.words = [word for sentence in sentences for word in sentence]
        self.row_lengths = np.array(list(map(len, sentences)))
        self.documents = np.repeat(np.arange(len(documents)), list(map(len, documents)))
        self.pieces = encode_words(TOKENIZER, self.words)
        self.sentence_of = np.repeat(np.arange(len(sentences)), self.row_lengths)
        self.document_of = self.documents[self.sentence_of]

    def windows(self, context="document", **options):
        return make_windows(
            self.pieces,
            self.row_lengths,
            self.documents if context == "document" else None,
            VOCABULARY,
            **options,
        )

    def kept(self, length):
        ids = iter(self.pieces.ids.tolist())
        return [
            [next(ids) for _ in range(count)][: length - 2] for count in self.pieces.row_lengths
        ]


def test_sub_tokens_are_those_of_each_word_and_never_none():
    words = ["unaffable", "\x00", "the", "", "the"]
    pieces = encode_words(TOKENIZER, words)
    expected = [TOKENIZER.encode(word).tolist() or [VOCABULARY.unk_id] for word in words]
    assert pieces.ids.tolist() == [id for ids in expected for id in ids]
    assert pieces.row_lengths.tolist() == list(map(len, expected))
    assert pieces.num_without == 2


@settings(max_examples=150, deadline=None)
@given(
    DOCUMENTS,
    st.integers(3, 40),
    st.sampled_from(["sentence", "document"]),
    st.integers(0, 12),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([1, 3]),
)
def test_every_word_is_scored_in_a_window_of_its_own_text(
    documents, length, context, margin, most, votes
):
    case = Case(documents)
    windows = case.windows(
        context, max_seq_length=length, min_context=margin, sentences_per_window=most, votes=votes
    )
    kept = case.kept(length)
    stream = case.document_of if context == "document" else case.sentence_of
    assert windows.row_lengths.max() <= length
    counts = np.bincount(windows.words, minlength=len(case.words))
    assert (counts >= 1).all() if votes > 1 else (counts == 1).all()
    starts = np.cumsum(windows.row_lengths) - windows.row_lengths
    window_of = np.searchsorted(starts, windows.positions, side="right") - 1
    for number, (start, size) in enumerate(zip(starts, windows.row_lengths, strict=True)):
        ids = windows.input_ids[start : start + size].tolist()
        assert (ids[0], ids[-1]) == (VOCABULARY.cls_id, VOCABULARY.sep_id)
        places, words = windows.positions[window_of == number], windows.words[window_of == number]
        # The words shown, read from the first that is scored to both sides, are those of the text.
        place, word = places[0] - start, words[0]
        while place > 1:
            word -= 1
            place -= len(kept[word])
        assert place == 1
        shown = [word]
        while sum(len(kept[one]) for one in shown) < size - 2:
            shown.append(shown[-1] + 1)
        assert ids[1:-1] == [id for one in shown for id in kept[one]]
        assert len(set(stream[shown])) == 1
        assert set(words) <= set(shown)
        for one, where in zip(words, places, strict=True):
            assert where - start == 1 + sum(len(kept[other]) for other in shown if other < one)
        if most is not None and votes == 1:
            assert len(set(case.sentence_of[words])) <= most


@settings(max_examples=100, deadline=None)
@given(DOCUMENTS, st.integers(12, 40), st.integers(0, 8))
def test_sentences_are_whole_and_windows_are_filled_from_both_sides(documents, length, margin):
    case = Case(documents)
    windows = case.windows(max_seq_length=length, min_context=margin)
    kept = np.array(list(map(len, case.kept(length))))
    room, longest = length - 2, kept.max()
    margin = min(margin, room // 4)
    token_starts = np.concatenate([[0], np.cumsum(kept)])
    starts = np.cumsum(windows.row_lengths) - windows.row_lengths
    window_of = np.searchsorted(starts, windows.positions, side="right") - 1
    sentence_tokens = np.bincount(case.sentence_of, kept)
    for number, start in enumerate(starts):
        words, places = windows.words[window_of == number], windows.positions[window_of == number]
        whole = np.flatnonzero(case.document_of == case.document_of[words[0]])
        size = kept[whole].sum()
        if size <= room:
            assert set(words) == set(whole)
            continue
        assert windows.row_lengths[number] - 2 > room - 2 * longest
        scored = kept[words].sum()
        sentences = set(case.sentence_of[words])
        for sentence in sentences:
            if sentence_tokens[sentence] <= room:
                assert set(np.flatnonzero(case.sentence_of == sentence)) <= set(words)
        if len(sentences) > 1:
            before = places[0] - start - 1
            after = windows.row_lengths[number] - 2 - before - scored
            assert before > min(margin, token_starts[words[0]] - token_starts[whole[0]]) - longest
            assert (
                after
                > min(margin, token_starts[whole[-1] + 1] - token_starts[words[-1] + 1]) - longest
            )


def test_windows_are_packed():
    """A document of 40 sentences of 10 tokens: five windows of 128 tokens, not 40."""
    case = Case([[["the"] * 10] * 40])
    windows = case.windows(max_seq_length=128, min_context=20)
    assert len(windows) == 5
    assert windows.row_lengths.sum() <= 5 * 128
    assert len(case.windows(max_seq_length=128, sentences_per_window=1)) == 40
    alone = case.windows("sentence", max_seq_length=128)
    assert len(alone) == 40
    assert alone.row_lengths.tolist() == [12] * 40


def test_a_sentence_longer_than_a_window_has_context_at_every_cut():
    case = Case([[["the"] * 50, ["!"] * 3]])
    windows = case.windows("sentence", max_seq_length=22, min_context=5)
    assert windows.num_split_sentences == 1
    starts = np.cumsum(windows.row_lengths) - windows.row_lengths
    offsets = windows.positions - np.repeat(
        starts, np.diff(np.searchsorted(windows.positions, [*starts, 10**9]))
    )
    first = np.flatnonzero(np.diff(windows.words, prepend=-2) != 1)
    assert first.tolist() == [0]
    inner = (windows.words > 10) & (windows.words < 40)
    assert offsets[inner].min() - 1 >= 5
    assert (22 - 2 - offsets[inner]).min() >= 5


def test_labels_and_probabilities_of_words():
    case = Case([[["unaffable", "the"], ["!", "unaffable", "the"]] * 4])
    windows = case.windows(max_seq_length=16, min_context=2, votes=3)
    assert np.bincount(windows.words).max() > 1
    labels = np.arange(len(case.words))
    label_ids = windows.label_ids(labels)
    np.testing.assert_array_equal(label_ids[windows.positions], windows.words)
    assert (np.delete(label_ids, windows.positions) == -1).all()
    values = np.stack([label_ids, np.ones(len(label_ids))], axis=1).astype(np.float32)
    np.testing.assert_allclose(
        windows.to_words(values), np.stack([labels, np.ones(len(labels))], axis=1), rtol=1e-6
    )
    once = case.windows(max_seq_length=16)
    np.testing.assert_array_equal(once.to_words(once.label_ids(labels)), labels)
