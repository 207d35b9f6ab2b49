import pytest

from data_gen.labeled.multiple_choice import (
    ChoiceColumns,
    read_codah,
    read_custom,
    read_hellaswag,
    read_swag,
)
from data_gen.labeled.rows import SourceFile
from tests.data_gen.labeled.common import json_lines, refusal

HEADER = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
SWAG = (
    f"{HEADER},label\n"
    '7,v,1,"A man, old. He","A man, old.",He,gold,"says ""no"".",runs.,sits.,eats.,2\n'
    "8,v,2,x,A dog.,,gold,It barks.,It reads.,It flies.,It sings.,0\n"
)
HELLASWAG = {
    "ind": 24,
    "activity_label": "x",
    "ctx_a": "A roof.",
    "ctx_b": "he",
    "ctx": "A roof. he",
    "endings": ["is", "a", "b", "c"],
    "label": 3,
    "split": "val",
}


def test_swag(write):
    found = read_swag(SourceFile(write(SWAG, "train.csv"), "train_file"))
    assert (found.ids, found.labels.tolist(), found.num_choices.tolist()) == (
        ["7", "8"],
        [2, 0],
        [4, 4],
    )
    first, second = found.pairs()
    assert first == ["A man, old."] * 4 + ["A dog."] * 4
    assert second[:2] == ['He says "no".', "He runs."] and second[4] == "It barks."


def test_a_file_without_labels(write):
    path = write(SWAG.replace(",label", "").replace(",2\n", "\n").replace(",0\n", "\n"), "test.csv")
    assert read_swag(SourceFile(path, "test_file"), needs_labels=False).labels is None
    message = refusal(read_swag, SourceFile(path, "dev_file"))
    assert "test.csv:1: no column 'label' (--dev_file); the columns are '', 'video-id'" in message
    assert "--do_predict" in message
    path = write(SWAG.replace(",2\n", ",-1\n").replace(",0\n", ",-1\n"), "copy.csv")
    assert read_swag(SourceFile(path, "test_file"), needs_labels=False).labels is None
    assert "copy.csv has no labels" in refusal(read_swag, SourceFile(path, "dev_file"))
    path = write(
        json_lines({key: value for key, value in HELLASWAG.items() if key != "label"}), "test.jsonl"
    )
    assert read_hellaswag(SourceFile(path, "test_file", "jsonl"), needs_labels=False).labels is None
    assert "test.jsonl:1: no column 'label'" in refusal(
        read_hellaswag, SourceFile(path, "dev_file", "jsonl")
    )


def test_hellaswag(write):
    found = read_hellaswag(
        SourceFile(
            write(json_lines(HELLASWAG, {**HELLASWAG, "ind": 25, "ctx_b": "", "label": "1"})),
            "dev_file",
            "jsonl",
        )
    )
    assert (found.ids, found.labels.tolist()) == (["24", "25"], [3, 1])
    assert found.pairs() == (
        ["A roof."] * 8,
        ["he is", "he a", "he b", "he c", "is", "a", "b", "c"],
    )


def test_codahs_own_files(write):
    found = read_codah(
        SourceFile(
            write(
                'o\t"He said ""no"". She\tgoes.\tsays "hm"\tsits.\truns.\t1\nq\t2 + 2 = ?\t1\t2\t3\t4\t3\n'.replace(
                    "She\t", 'She"\t'
                ),
                "train.tsv",
            ),
            "train_file",
        )
    )
    assert found.questions == ['He said "no". She', "2 + 2 = ?"] and found.labels.tolist() == [1, 3]
    assert found.choices == [("goes.", 'says "hm"', "sits.", "runs."), ("1", "2", "3", "4")]
    assert "3 columns found" in refusal(
        read_codah, SourceFile(write("a\tb\tc\n", "bad.tsv"), "train_file")
    )


OWN = ChoiceColumns(question="q", choices=("a", "b", "c"), label="y")


@pytest.mark.parametrize(
    "labels, kind",
    [
        ("1,2,0", "auto"),
        ("B,c,a", "auto"),
        ("wet,tall,up", "auto"),
        ("1,2,0", "index"),
        ("B,C,A", "letter"),
        ("wet,tall,up", "text"),
    ],
)
def test_labels_by_number_letter_and_text(write, labels, kind):
    rows = zip(
        ("Water is", "A tree is", "The sky is"),
        ("dry,wet,", "low,red,tall", "up,down,"),
        labels.split(","),
        strict=True,
    )
    text = "q,a,b,c,y\n" + "".join(
        f"{question},{choices},{label}\n" for question, choices, label in rows
    )
    found = read_custom(SourceFile(write(text, "train.csv"), "train_file"), OWN, label_kind=kind)
    assert found.labels.tolist() == [1, 2, 0]
    assert found.num_choices.tolist() == [2, 3, 2]
    assert found.pairs()[0] == ["Water is"] * 2 + ["A tree is"] * 3 + ["The sky is"] * 2


def test_json_lines_hold_lists_of_any_length(write):
    path = write(
        json_lines(
            {"id": "x", "article": "Long.", "q": "Who?", "options": ["A man", "I"], "y": "A"},
            {
                "id": 5,
                "article": None,
                "q": "What?",
                "options": ["a", "b", "c", "d", "e"],
                "y": "E",
            },
        ),
        "race.jsonl",
    )
    found = read_custom(
        SourceFile(path, "train_file"),
        ChoiceColumns(choices=("options",), question="q", context="article", label="y", id="id"),
    )
    assert (found.ids, found.labels.tolist(), found.num_choices.tolist()) == (
        ["x", "5"],
        [0, 4],
        [2, 5],
    )
    assert [pair for pair in zip(*found.pairs(), strict=True)][:3] == [
        ("Long.", "Who? A man"),
        ("Long.", "Who? I"),
        ("What?", "a"),
    ]


def test_choices_with_names_of_their_own(write):
    path = write(
        json_lines(
            {"q": "Who?", "choices": {"text": ["a", "b", "c"], "label": ["1", "2", "3"]}, "y": "3"}
        ),
        "x.jsonl",
    )
    columns = ChoiceColumns(choices=("choices",), question="q", label="y")
    assert read_custom(SourceFile(path, "train_file"), columns).labels.tolist() == [2]
    # CommonsenseQA and ARC have letters, which need not be in order.
    lettered = {"text": ["a", "b", "c"], "label": ["C", "A", "B"]}
    rows = [{"q": "Who?", "choices": lettered, "y": letter} for letter in "ABC"]
    path = write(json_lines(*rows), "letters.jsonl")
    assert read_custom(SourceFile(path, "train_file"), columns).labels.tolist() == [1, 2, 0]
    path = write(
        json_lines({"q": "Who?", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "y": "0"}),
        "y.jsonl",
    )
    assert "y.jsonl:1: the label '0' is none of the 2 choices: 1, 2 is expected" in refusal(
        read_custom, SourceFile(path, "train_file"), columns
    )


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("\n8,", "\n7,", "train.csv:3: the id '7' is also that of line 2"),
        (",2\n", ",4\n", "train.csv:2: the label '4' is none of the 4 choices: 0 to 3 is expected"),
        (",2\n", ",x\n", "train.csv:2: the label 'x' is none of the 4 choices"),
        (",2\n", ",\n", "train.csv:2: the label '' is none of the 4 choices"),
        ("runs.", "  ", "train.csv:2: choice 1, counted from 0, is empty"),
        ("runs.,sits.,eats.", ",,", "train.csv:2: 1 choice found, 2 to 26 are expected"),
        (
            "sent1",
            "sentence",
            "train.csv:1: no column 'sent1' (--train_file): did you mean sent2? The columns are '', "
            "'video-id', 'fold-ind'",
        ),
        ("A dog.,,", ",,", "train.csv:3: there is neither a question nor a context"),
        ("8,v,2", "8,v", "train.csv:3: 12 columns expected, as in the first row, but 11 found"),
    ],
)
def test_bad_rows(write, old, new, expected):
    assert old in SWAG
    source = SourceFile(write(SWAG.replace(old, new), "train.csv"), "train_file")
    assert expected in refusal(read_swag, source)


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"options": ["a"]}, "1 choice found"),
        ({"options": ["a"] * 27}, "27 choices found, 2 to 26 are expected"),
        ({"options": ["a", ""]}, "choice 1, counted from 0, is empty"),
        ({"options": "ab"}, "'options' must be a list of"),
        ({"options": ["a", 3]}, "'options' must be a list of"),
        ({"q": 3}, "'q' must be a string, not 3"),
        ({"y": "C"}, "the label 'C' is none of the 2 choices: A to B is expected"),
        (
            {"y": "b b"},
            "the label 'b b' is none of the 2 choices: the text of exactly one of them is expected",
        ),
        ({"options": {"text": ["a", "b"], "label": ["A"]}}, "must be 2 different names"),
    ],
)
def test_bad_objects(write, value, expected):
    path = write(json_lines({"q": "Who?", "options": ["a", "b"], "y": "B"} | value), "train.jsonl")
    message = refusal(
        read_custom,
        SourceFile(path, "train_file"),
        ChoiceColumns(choices=("options",), question="q", label="y"),
    )
    assert message.startswith(f"{path}:1: ") and expected in message


def test_the_real_files(real_data):
    swag = read_swag(SourceFile(str(real_data / "swag/swag_val_first91.csv"), "dev_file"))
    assert len(swag) == 91 and swag.labels.max() == 3
    sizes = [
        len(read_swag(SourceFile(str(real_data / f"swag/codah_fold0_{split}.swag.csv"), "x")))
        for split in ("train", "dev", "test")
    ]
    assert sizes == [1665, 556, 555]
