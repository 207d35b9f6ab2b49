import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_gen.text.corpus_preparation import split_sentences

# Each list is what its members, joined by a space, must be split into.
_CASES = [
    ["Dr. Smith met Mr. and Mrs. Jones at St. Mary's.", "They talked."],
    ["The U.S. Army left.", "He lives in the U.S.", "She does not."],
    ["J. R. R. Tolkien wrote it.", "C.S. Lewis read it."],
    ["It works, e.g. with arrays, i.e. with lists.", "See Fig. 3 and Eq. (2) for details."],
    ["The value is 3.14 and rose by 0.5 per cent.", "It cost $4.50."],
    ['"Stop!" he cried.', '"Why?"', '"Because."'],
    ['"Is he dead?" she asked.', "No one answered."],
    ["“Come in!” said the man.", "“Sit down.", "You are late.”"],
    ["'Go away!' said he.", "'I will,' said she."],
    ["He waited... and waited.", "Then he left."],
    ["Well... I do not know.", "Perhaps."],
    ["He arrived at 5 p.m. on Monday.", "She left at 6 a.m. the next day."],
    ["Smith et al. showed this in 1999.", "Others followed (cf. Brown, vol. 2, pp. 3-5)."],
    ["What?!", "No!"],
    ["(He said so himself.)", "We believed him."],
    ["Use numpy.array to build it.", "The file is called setup.py."],
    ["No. 5 is alive.", "He said no.", "I left."],
    ["Jan. 5, 1999 was cold.", "So was Feb. 2."],
    ["This is version 2.0.1.", "Upgrade now."],
    ["Mme. Defarge and M. Defarge sat.", "They knitted."],
    ["Lt. Col. Brown and Capt. Hook arrived.", "Rev. Smith prayed."],
    ["She looked at the wall.", "He took her hand.", "The sun was in the west.", "It was over."],
]


@pytest.mark.parametrize("sentences", _CASES, ids=lambda sentences: sentences[0][:30])
def test_hard_cases(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "paragraph, sentences",
    [
        (
            "这是一支笔。那是一本书。真的吗？是的！",
            ["这是一支笔。", "那是一本书。", "真的吗？", "是的！"],
        ),
        ("「行こう。」彼は言った。", ["「行こう。」", "彼は言った。"]),
        ("यह एक किताब है। वह गया।", ["यह एक किताब है।", "वह गया।"]),
        ("هل هذا؟ نعم.", ["هل هذا؟", "نعم."]),
    ],
)
def test_other_scripts(paragraph, sentences):
    assert split_sentences(paragraph) == sentences


def test_white_space_becomes_single_spaces():
    assert split_sentences("  One\ttwo\r\nthree\u2028four\xa0five.\n\nSix. ") == [
        "One two three four five.",
        "Six.",
    ]


@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from(" \n.!?\"'”’)。।ABCab1"), st.characters(exclude_categories=["Cs"])
        )
    )
)
def test_nothing_but_white_space_is_lost(paragraph):
    sentences = split_sentences(paragraph)
    assert "".join("".join(sentences).split()) == "".join(paragraph.split())
    for sentence in sentences:
        assert sentence and sentence == " ".join(sentence.split())


def test_result_does_not_depend_on_what_came_before():
    text = "He met Mr. X. And Dr. Y. came at 5 p.m. Then they left."
    first = split_sentences(text)
    for other in ("Mr. Z. is X. And Y. And so on.", "x. y. z. Then. p.m. Dr."):
        split_sentences(other)
    assert split_sentences(text) == first
