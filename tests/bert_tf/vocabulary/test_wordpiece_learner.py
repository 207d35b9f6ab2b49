import random
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.vocabulary import wordpiece_learner
from bert_tf.vocabulary.wordpiece_learner import learn_vocabulary, most_common, special_tokens
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import WordPiece

_FIRST = special_tokens(0)


def _words(seed: int = 0, size: int = 600) -> list[tuple[str, int]]:
    generator = random.Random(seed)
    stems = ["walk", "talk", "read", "jump", "sing", "play", "work", "cook"]
    endings = ["", "s", "ed", "ing", "er", "ers"]
    counts = {}
    for rank in range(size):
        word = (
            "".join(generator.choices("abcdefgh", k=2))
            + generator.choice(stems)
            + generator.choice(endings)
        )
        counts[word] = size * 5 // (rank + 1) + 1
    return most_common(counts, size)


def _learn(words, vocab_size, **arguments):
    arguments = {
        "first_tokens": _FIRST,
        "max_characters": 1000,
        "do_lower_case": True,
        "num_workers": 1,
        **arguments,
    }
    return learn_vocabulary(words, vocab_size, **arguments)


@pytest.mark.golden
def test_special_tokens_are_as_released(golden):
    assert special_tokens(2) == [
        "[PAD]",
        "[unused0]",
        "[unused1]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    assert (
        special_tokens(994)
        == (golden / "bert" / "uncased_vocab.txt").read_text().splitlines()[:999]
    )


class TestVocabulary:
    @pytest.mark.parametrize("vocab_size", [165, 166, 300, 555])
    def test_exact_size_and_no_token_twice(self, vocab_size):
        tokens = _learn(_words(), vocab_size)
        assert len(tokens) == len(set(tokens)) == vocab_size
        assert tokens[:5] == _FIRST
        if vocab_size == 555:
            # Common words are whole, parts that words share are pieces.
            assert {word for word, _ in _words()[:20]} <= set(tokens) and {
                "##walk",
                "##ing",
                "##ers",
            } & set(tokens)

    def test_text_that_holds_fewer_pieces_and_words_of_any_length(self):
        tokens = _learn([("x" * 300, 9), ("hello", 2), ("world", 1)], 500)
        assert len(tokens) < 500
        assert {"hello", "world"} <= set(tokens)

    def test_no_word_of_known_characters_is_unknown(self):
        vocabulary = Vocabulary(_learn(_words(), 200))
        wordpiece = WordPiece(vocabulary)
        unk = wordpiece.id_bytes("[UNK]")
        for word in [
            "qqqzzz",
            "#",
            "a-b",
            "“",
            "…",
            "walking",
            "{|}~",
            "0123456789",
            *dict(_words()[:200]),
        ]:
            assert wordpiece.ids(word) != unk, word

    def test_upper_case_letters_only_where_they_are_needed(self):
        assert "A" not in _learn(_words(), 300)
        cased = _learn(_words(), 300, do_lower_case=False)
        assert {"A", "##A", "Z"} <= set(cased)

    def test_rare_characters_are_left_out_with_their_words(self):
        words = most_common({"ordinary": 100, "ωmega": 2, "ordinαry": 1}, 10)
        tokens = _learn(words, 180, max_characters=8)
        assert "ordinary" in tokens
        assert not any("ω" in token or "α" in token for token in tokens)
        assert {"ω", "##ω", "α"} <= set(_learn(words, 180))

    def test_ideographs_have_no_continuation(self):
        tokens = _learn(most_common({"東": 5, "京": 5, "a": 3}, 10), 200)
        assert {"東", "京"} <= set(tokens)
        assert "##東" not in tokens

    def test_no_room_for_the_characters(self):
        with pytest.raises(
            UserError, match=r"--vocab_size=100 is too small: 5 special .* 80 characters.* take 165"
        ):
            _learn(_words(), 100)

    def test_learner_sees_the_same_whatever_the_number_of_workers(self, project):
        code = """
from tests.bert_tf.vocabulary.test_wordpiece_learner import _learn, _words
assert _learn(_words(), 500, num_workers=2) == _learn(_words(), 500)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


class TestSearch:
    @example(fewest=1, power=0.203125, most=376965, start=1)
    @given(
        st.integers(1, 50_000), st.floats(0.2, 3.0), st.integers(10, 10**7), st.integers(1, 10**5)
    )
    def test_ends_at_the_right_size(self, fewest, power, most, start):
        def size(threshold: int) -> int:
            return int(most * threshold**-power)

        largest = 1.03 * fewest
        sizes, probes, rounds = {}, [start, start + start // 5 + 1], 0
        while probes:
            sizes.update((probe, size(probe)) for probe in probes)
            rounds += 1
            if any(fewest <= found <= largest for found in sizes.values()):
                break
            probes = wordpiece_learner._next_probes(sizes, fewest, largest)
        # A curve as flat as that of the example takes most; those of words take 4.
        assert rounds <= 40
        best = max((threshold for threshold in sizes if sizes[threshold] >= fewest), default=None)
        if best is None:
            assert size(1) < fewest and 1 in sizes
        else:
            assert sizes[best] <= largest or size(best + 1) < fewest
