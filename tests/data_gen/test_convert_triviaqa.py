import json
import pathlib

import pytest

from bert_common.errors import UserError
from data_gen.labeled import triviaqa
from data_gen.labeled.squad import Answer, check_training, read_squad
from data_gen.labeled.triviaqa import convert, find_answer
from data_gen.options import TriviaQaOptions
from tests.data_gen.commands import run_command


def entry(id, question, names, *filenames, **others):
    return {
        "Answer": {
            "Aliases": names,
            "MatchedWikiEntityName": names[0],
            "NormalizedAliases": [name.lower().replace(".", "") for name in names],
            "Type": "WikipediaEntity",
            "Value": names[0],
        },
        "EntityPages": [
            {"DocSource": "TagMe", "Filename": filename, "Title": filename[:-4].replace("_", " ")}
            for filename in filenames
        ],
        "Question": question,
        "QuestionId": id,
        "QuestionSource": "http://example.org",
    } | others


ARTICLES = {
    "Grey_Harbour.txt": "\n Grey Harbour\n\nGrey Harbour is a town.  Its mayor, ann b. Lee,\nbuilt it. Ann B. Lee sings.",
    "Ann_Lee.txt": "Ann  B.\nLee was a singer. "
    + "She sang on and on. " * 100
    + "She lived in Grey Harbour.",
    "Café.txt": "Le café est fermé: l'été, à Grey\u00a0Harbour.",
    "Empty.txt": " \n",
}
ENTRIES = [
    entry(
        "tc_1",
        "Who built the pier?",
        ["Ann B. Lee", "Lee"],
        "Grey_Harbour.txt",
        "Ann_Lee.txt",
        "Missing.txt",
    ),
    entry(
        "tc_2",
        "Where did she live?",
        ["Grey Harbour", "Harbour"],
        "Ann_Lee.txt",
        "Café.txt",
        "Café.txt",
    ),
    entry(
        "tc_3",
        "What is nowhere?",
        ["Atlantis"],
        "Grey_Harbour.txt",
        "Empty.txt",
        "Also_Missing.txt",
    ),
]


@pytest.fixture
def source(tmp_path):
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    for name, text in ARTICLES.items():
        (evidence / name).write_text(text, encoding="utf-8")
    return write(tmp_path, ENTRIES), str(evidence)


def write(folder, entries):
    path = folder / "qa.json"
    path.write_text(
        json.dumps({"Data": entries, "Domain": "Wikipedia", "VerifiedEval": False, "Version": 1.0})
    )
    return str(path)


def test_the_command(source, tmp_path, capsys):
    output = tmp_path / "out" / "train.json"
    run_command(
        TriviaQaOptions, triviaqa.run, qa_file=source[0], evidence_dir=source[1], output_file=output
    )
    assert capsys.readouterr().out == (
        "3 questions, 8 articles for them\n"
        "3 articles left out: no answer among their first tokens\n"
        "2 articles left out: no such evidence file (Missing.txt, Also_Missing.txt)\n"
        "3 examples about 3 contexts, from 2 of the questions\n"
    )
    data = read_squad(str(output), "train_file")
    assert check_training(data, version_2_with_negative=False) == data
    found = {question.id: (question.text, question.answers) for question in data.questions}
    assert found == {
        "tc_1--Grey_Harbour.txt": (
            "Who built the pier?",
            (Answer("Lee", data.contexts[0].index("Lee")),),
        ),
        "tc_1--Ann_Lee.txt": ("Who built the pier?", (Answer("Ann  B.\nLee", 0),)),
        "tc_2--Café.txt": (
            "Where did she live?",
            (Answer("Grey\u00a0Harbour", len(ARTICLES["Café.txt"]) - 13),),
        ),
    }
    assert data.contexts[0] == ARTICLES["Grey_Harbour.txt"].strip()
    assert len(data.contexts[1].split()) == 400 and ARTICLES["Ann_Lee.txt"].startswith(
        data.contexts[1]
    )


def test_a_question_that_is_there_twice_counts_once(source, capsys):
    twice = [*ENTRIES, entry("tc_1", "Who sings?", ["Lee"], "Grey_Harbour.txt")]
    once, _ = convert(source[0], source[1], 400)
    contents, _ = convert(write(pathlib.Path(source[1]).parent, twice), source[1], 400)
    assert contents == once
    assert capsys.readouterr().out.startswith("warning: 1 questions left out")


@pytest.mark.parametrize("max_tokens", [1, 3, 505, 600])
def test_the_first_tokens_of_an_article(source, max_tokens):
    contents, _ = convert(
        write(pathlib.Path(source[1]).parent, [entry("a", "Who?", ["Ann"], "Ann_Lee.txt")]),
        source[1],
        max_tokens,
    )
    context = contents["data"][0]["paragraphs"][0]["context"]
    assert context.split() == ARTICLES["Ann_Lee.txt"].split()[:max_tokens]
    assert ARTICLES["Ann_Lee.txt"].startswith(context)


@pytest.mark.parametrize(
    "context, names, others, expected",
    [
        ("An island; Iceland is an island.", ["Iceland", "island"], [], "island"),
        ("New York City", ["York", "New York", "New York City"], [], "New York City"),
        ("he came to paris. Paris!", ["Paris"], ["paris"], "Paris"),
        ("he came to PARIS.", ["Paris"], ["paris"], "PARIS"),
        ("the o2 arena", ["The O₂"], ["o2"], "o2"),
        ("parisian", ["Paris"], ["paris"], None),
        ("It cost $5.", ["$5", "$"], [], "$5"),
        ("C++ (1985)", ["c++", ".*"], [], "C++"),
        ("straße", ["", " "], [""], None),
    ],
)
def test_which_name_is_found_where(context, names, others, expected):
    span = find_answer(context, names, others)
    assert (span and context[slice(*span)]) == expected


@pytest.mark.parametrize(
    "change, message",
    [
        ({"Answer": None}, r"'Data\[0\].Answer' is null, an object is expected"),
        ({"EntityPages": [{}]}, r"there is no 'Data\[0\].EntityPages\[0\].Filename'"),
        (
            {"EntityPages": [{"Filename": "None.txt"}]},
            r"--evidence_dir: .* holds none of the 1 files .* e.g. None.txt",
        ),
        ({"EntityPages": [{"Filename": "a\0.txt"}]}, "--evidence_dir: .* none of the 1 files"),
        ({"EntityPages": [{"Filename": "/etc/hostname"}]}, "leads out of --evidence_dir"),
        ({"EntityPages": [{"Filename": "a/../../qa.json"}]}, "leads out of --evidence_dir"),
        ({"EntityPages": []}, "no example comes of its 1 questions and 0 articles"),
        (
            {"EntityPages": [{"Filename": "Empty.txt"}]},
            "no article names an answer in its first 400 tokens",
        ),
    ],
    ids=str,
)
def test_refused(source, tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        convert(write(tmp_path, [ENTRIES[0] | change]), source[1], 400)


def test_refused_by_the_command(source, tmp_path):
    output = tmp_path / "kept.json"
    output.write_text("kept")
    latin = tmp_path / "latin"
    latin.mkdir()
    (latin / "Ann_Lee.txt").write_bytes("Café".encode("latin-1"))
    for qa_file, evidence, message in (
        (source[0], tmp_path / "nowhere", "--evidence_dir: .*nowhere does not exist"),
        (source[0], latin, "Ann_Lee.txt is not UTF-8 .* remove it and it is left out"),
    ):
        with pytest.raises(UserError, match=message):
            run_command(
                TriviaQaOptions,
                triviaqa.run,
                qa_file=qa_file,
                evidence_dir=evidence,
                output_file=output,
            )
        assert output.read_text() == "kept"
