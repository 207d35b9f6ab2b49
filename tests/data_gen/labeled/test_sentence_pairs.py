import json

import numpy as np
import pytest

from data_gen.labeled.rows import SourceFile
from data_gen.labeled.sentence_pairs import (
    read_columns,
    read_nli,
    read_questions,
    read_retrieval,
    read_sts_b,
    read_texts,
)
from tests.refusals import assert_refused

PAIR = (("a", "text_a_column"), ("b", "text_b_column"))


def test_triples_with_a_negative_that_is_missing(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text('a,b,no\none,"two, three",four\nfive,six,\n')
    found = read_columns(SourceFile(str(path), "train_file"), [*PAIR, ("no", "negative_columns")])
    assert (
        found.columns == [["one", "five"], ["two, three", "six"], ["four", ""]]
        and found.labels is None
    )
    assert found.first(1).columns == [["one"], ["two, three"], ["four"]]


def test_lists_of_texts(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [
        {"a": "one", "b": ["two"], "no": ["three", "four"]},
        {"a": "five", "b": "six", "no": []},
        {"a": "seven", "b": ["eight"], "no": "nine"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    names = [*PAIR, ("no", "negative_columns")]
    assert read_columns(SourceFile(str(path), "train_file"), names).columns == [
        ["one", "five", "seven"],
        ["two", "six", "eight"],
        ["three", "", "nine"],
        ["four", "", ""],
    ]
    path.write_text(json.dumps({"a": "one", "b": ["two", "three"], "no": ["four"]}))
    assert_refused(
        lambda: read_columns(SourceFile(str(path), "train_file"), names),
        f"{path}:1: 'b' must be a string, not ['two', 'three']",
    )


def test_scores(tmp_path):
    path = tmp_path / "dev.jsonl"
    path.write_text(
        "".join(
            json.dumps({"a": "x", "b": "y", "s": score, "t": 5 * score}) + "\n"
            for score in (0, 0.5, 1)
        )
    )
    found = read_columns(SourceFile(str(path), "dev_file"), PAIR, ("s", "label_column"))
    np.testing.assert_allclose(found.labels, [0, 0.5, 1])
    same = read_columns(
        SourceFile(str(path), "dev_file"), PAIR, ("t", "label_column"), highest_score=5
    )
    np.testing.assert_array_equal(same.labels, found.labels)
    assert_refused(
        lambda: read_columns(SourceFile(str(path), "dev_file"), PAIR, ("t", "label_column")),
        f"{path}: 2 of 3 rows are bad: line 2: the score is 2.5, at most 1 is expected: give the highest as "
        "--highest_score",
    )
    assert_refused(
        lambda: read_columns(SourceFile(str(path), "dev_file"), (PAIR[0], ("c", "text_b_column"))),
        "no column 'c' (--text_b_column)",
    )


def test_empty_texts_are_refused(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("a\tb\nx\ty\nz\t \n")
    assert_refused(
        lambda: read_columns(SourceFile(str(path), "train_file"), PAIR),
        f"{path}:3: the text is empty (column 'b')",
    )
    (tmp_path / "blank.txt").write_text("\n\n")
    assert_refused(
        lambda: read_texts(SourceFile(str(tmp_path / "blank.txt"), "train_file"), None),
        "one text per line is expected",
    )


def test_texts_alone_belong_to_themselves(tmp_path):
    (tmp_path / "lines.txt").write_text("One, two.\n\nThree.\n")
    found = read_texts(SourceFile(str(tmp_path / "lines.txt"), "train_file"), None)
    assert found.columns == [["One, two.", "Three."]] * 2


def test_entailments_are_pairs_and_contradictions_hard_negatives(tmp_path):
    path = tmp_path / "nli.tsv"
    rows = [
        ("p", "e1", "entailment"),
        ("q", "n", "neutral"),
        ("p", "c1", "contradiction"),
        ("p", "e2", "entailment"),
        ("p", "e3", "entailment"),
        ("p", "c2", "contradiction"),
        ("r", "e4", "entailment"),
        ("r", "x", "-"),
    ]
    path.write_text("s1\ts2\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    names = [("s1", "text_a_column"), ("s2", "text_b_column"), ("label", "label_column")]
    assert read_nli(SourceFile(str(path), "train_file"), names).columns == [
        ["p", "p", "p", "r"],
        ["e1", "e2", "e3", "e4"],
        ["c1", "c2", "c1", ""],
    ]
    path.write_text("s1\ts2\tlabel\np\tq\tneutral\n")
    assert_refused(
        lambda: read_nli(SourceFile(str(path), "train_file"), names),
        "no row is labeled 'entailment'",
    )


def test_sts_b(tmp_path):
    header = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
    (tmp_path / "dev.tsv").write_text(
        f"{header}\tscore\n0\tg\tf\t1\t0\ta\tb\tA man.\tA dog.\t3.8\n"
    )
    found = read_sts_b(str(tmp_path), "dev", None)
    assert found.columns == [["A man."], ["A dog."]] and found.labels == pytest.approx([0.76])


def write_retrieval(folder, relevance: str) -> list[str]:
    (folder / "q.jsonl").write_text('{"_id": "1", "text": "who"}\n{"_id": "2", "text": "what"}\n')
    (folder / "d.tsv").write_text("_id\ttext\nx\tone\ny\ttwo\n")
    (folder / "r.tsv").write_text(f"query-id\tcorpus-id\tscore\n{relevance}")
    return [str(folder / name) for name in ("q.jsonl", "d.tsv", "r.tsv")]


def test_retrieval(tmp_path):
    paths = write_retrieval(tmp_path, "2\ty\t2\n2\tx\t0\n7\tx\t1\n")
    found, left_out = read_retrieval(*paths, "_id", "text")
    assert (found.queries, found.documents, found.relevant, left_out) == (
        ["what"],
        ["one", "two"],
        [{1: 2.0}],
        1,
    )
    paths = write_retrieval(tmp_path, "1\tz\t1\n")
    assert_refused(
        lambda: read_retrieval(*paths, "_id", "text"), f"{paths[2]}:2: no document has the id 'z'"
    )
    # The same grade twice says nothing new.
    write_retrieval(tmp_path, "2\ty\t2\n1\tx\t1\n2\ty\t2\n")
    assert read_retrieval(*paths, "_id", "text")[0].relevant == [{0: 1.0}, {1: 2.0}]
    write_retrieval(tmp_path, "2\ty\t2\n1\tx\t1\n2\ty\t0\n")
    assert_refused(
        lambda: read_retrieval(*paths, "_id", "text"), f"{paths[2]}:4: '2' and 'y' have two"
    )
    # The first relevance would be taken for names of columns.
    (tmp_path / "r.tsv").write_text("1\tx\t1\n2\ty\t1\n")
    assert_refused(
        lambda: read_retrieval(*paths, "_id", "text"), f"{paths[2]}:1: a header is expected"
    )
    write_retrieval(tmp_path, "1\tx\t0\n")
    assert_refused(
        lambda: read_retrieval(*paths, "_id", "text"), "has no relevant document for any query"
    )
    (tmp_path / "d.tsv").write_text("_id\ttext\nx\tone\nx\ttwo\n")
    assert_refused(
        lambda: read_retrieval(*paths, "_id", "text"), f"{paths[1]}:3: the id 'x' is there twice"
    )


def test_questions_and_their_paragraphs(tmp_path):
    path = tmp_path / "questions.json"
    texts = [
        ("1", "who ?", False),
        ("2", "not answered ?", True),
        ("3", " ", False),
        ("4", "where ?", False),
    ]
    questions = [
        {"id": id, "question": text, "is_impossible": impossible} for id, text, impossible in texts
    ]
    path.write_text(
        json.dumps(
            {
                "data": [
                    {
                        "paragraphs": [
                            {"context": "a list", "qas": questions[:3]},
                            {"context": "an array", "qas": questions[3:]},
                        ]
                    }
                ]
            }
        )
    )
    found = read_questions(str(path), "train_file")
    assert found.columns == [["who ?", "where ?"], ["a list", "an array"]] and found.labels is None
    path.write_text(
        json.dumps({"data": [{"paragraphs": [{"context": "a list", "qas": questions[1:2]}]}]})
    )
    assert_refused(
        lambda: read_questions(str(path), "train_file"),
        f"--train_file: {path} has no question that its",
    )
