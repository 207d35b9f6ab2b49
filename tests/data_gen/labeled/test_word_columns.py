"""Columns of words and tags are found by what they hold, in any order, with any separator."""

import re

import pytest

from bert_common.errors import UserError
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.tagged_files import read_tagged_file

# Word, tag, part of speech.
SENTENCES = [
    [("Tom", "B-PER", "NN"), ("Ek", "I-PER", "NN"), ("waits", "O", "VB"), (".", "O", ".")],
    [("Li", "B-PER", "NN"), ("saw", "O", "VB"), ("Rome", "B-LOC", "NN"), ("1984", "O", "CD")],
    [("She", "O", "PR"), ("left", "O", "VB"), ("Oslo", "B-LOC", "NN"), (".", "O", ".")],
] * 4
WORDS = [word for sentence in SENTENCES for word, _, _ in sentence]
TAGS = [tag for sentence in SENTENCES for _, tag, _ in sentence]
PLAIN = [part for sentence in SENTENCES for _, _, part in sentence]
BRACKETS = {"Tom": "(PER*", "Ek": "*)", "Li": "(PER)", "Rome": "(LOC)", "Oslo": "(LOC)"}


def text_of(row, ends: str = "\n\n") -> str:
    """A line for each word: `row(number of the sentence, of the word in the file, word, …)`."""
    number = 0
    parts = []
    for sentence, words in enumerate(SENTENCES):
        lines = []
        for word, tag, part in words:
            lines.append(row(sentence, number, word, tag, part))
            number += 1
        parts.append("\n".join(lines))
    return ends.join(parts) + "\n"


LAYOUTS = {
    "numbers of the file": (text_of(lambda s, n, w, t, p: f"{n + 1}\t{w}\t{t}"), "x.txt"),
    "sentence numbers": (text_of(lambda s, n, w, t, p: f"{s}\t{w}\t{t}", "\n"), "x.tsv"),
    "names of sentences": (text_of(lambda s, n, w, t, p: f"d-{s} {w} {t}", "\n"), "x.txt"),
    "numbers last": (text_of(lambda s, n, w, t, p: f"{w}\t{t}\t{s}", "\n"), "x.txt"),
    "tags first": (text_of(lambda s, n, w, t, p: f"{t}\t{w}"), "x.bio"),
    "score last": (text_of(lambda s, n, w, t, p: f"{w} {p} {t} 0.{n}"), "x.txt"),
    "lemma last": (text_of(lambda s, n, w, t, p: f"{w} {t} {w.lower()}"), "x.txt"),
    "inner entities": (text_of(lambda s, n, w, t, p: f"{n}\t{w}\t{t}\tO"), "x.txt"),
    "some inner entities": (
        text_of(lambda s, n, w, t, p: f"{n}\t{w}\t{t}\t{'B-X' if w == '1984' else 'O'}"),
        "x.txt",
    ),
    "features of DaNE": (
        text_of(
            lambda s, n, w, t, p: (
                f"{n % 4 + 1}\t{w}\t{p}\tname={t}{'|SpaceAfter=No' if n % 4 == 2 else ''}"
            )
        ),
        "x.conllu",
    ),
    "types first, a dash for O": (
        text_of(lambda s, n, w, t, p: f"{n}\t{w}\t{'-' if t == 'O' else f'{t[2:]}_{t[0]}'}"),
        "x.txt",
    ),
    "semicolon": (text_of(lambda s, n, w, t, p: f"{w};{t}"), "x.txt"),
    "semicolon and blank": (text_of(lambda s, n, w, t, p: f"{w}; {t}"), "x.txt"),
    "header of HIPE": (
        "TOKEN\tNE-COARSE-LIT\n# year = 1798\n" + text_of(lambda s, n, w, t, p: f"{w}\t{t}"),
        "x.tsv",
    ),
    "languages of WikiAnn": (text_of(lambda s, n, w, t, p: f"en:{w}\t{t}"), "x.txt"),
    "bar": (text_of(lambda s, n, w, t, p: f"{w}|{t}"), "x.txt"),
    "no-break space": (text_of(lambda s, n, w, t, p: f"{w}\u00a0{t}"), "x.txt"),
    "comma": ("word,tag\n" + text_of(lambda s, n, w, t, p: f'"{w}",{t}'), "x.csv"),
    "sentence in the first row": (
        "Sentence #,Word,POS,Tag\n"
        + text_of(lambda s, n, w, t, p: f"{'' if n % 4 else f'Sentence: {s}'},{w},{p},{t}", "\n"),
        "x.csv",
    ),
    "index of pandas": (
        ",sentence_id,words,labels\n" + text_of(lambda s, n, w, t, p: f"{n},{s},{w},{t}", "\n"),
        "x.csv",
    ),
    "comments as wide as the columns": (
        "# newdoc\n" + text_of(lambda s, n, w, t, p: f"{w} {t}", "\n\n# note\n"),
        "x.conll",
    ),
    "numbers that begin again": (
        text_of(lambda s, n, w, t, p: f"{n % 4},{w},{t}", "\n"),
        "x.csv",
    ),
    "comments by slashes": (
        "// a\n" + text_of(lambda s, n, w, t, p: f"{w} {t}", "\n\n// note\n"),
        "x.txt",
    ),
    "comments with a tab": (
        "## a 1\tTom\n" + text_of(lambda s, n, w, t, p: f"{w}\t{t}", "\n\n## b 2\tTom Ek\n"),
        "x.tsv",
    ),
    "comments by percent signs": (
        "% two words\n" + text_of(lambda s, n, w, t, p: f"{w} {t}", "\n\n% note\n"),
        "x.txt",
    ),
    "comments beside padded tabs": (
        "# a\n" + text_of(lambda s, n, w, t, p: f"{w} \t {t}", "\n\n# note\n"),
        "x.txt",
    ),
    "CoNLL-2012": (
        "#begin document (x); part 000\n"
        + text_of(
            lambda s, n, w, t, p: (
                f"x/0  0  {n % 4}  {w}  {p}  (TOP*  -  -  -  a  {BRACKETS.get(w, '*')}"
                f"{'  (V*)' * (s % 3)}  -"
            )
        )
        + "\n#end document\n",
        "x.conll",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_words_and_tags_are_found(write, name):
    text, file_name = LAYOUTS[name]
    path = write(text, file_name)
    for flag in ("train_file", "test_file"):
        found = read_tagged_file(
            SourceFile(path, flag), tag_scheme="auto", needs_tags=flag == "train_file"
        )
        assert found.words == WORDS
        assert [found.tag_names[tag] for tag in found.tags] == TAGS
        assert found.row_lengths.tolist() == [4] * len(SENTENCES)
        # Anything but words first and tags last is said.
        is_usual = name.startswith(("comments", "languages"))
        assert is_usual == (not any("counted from 0" in note for note in found.notes))
        assert name.startswith("languages") == any("'en:'" in note for note in found.notes)
    assert (found.documents is not None) == ("newdoc" in text or name.startswith("CoNLL"))


def test_places_of_characters_in_words(write):
    """As in weiboNER_2nd_conll.train; words that only end in digits are left as they are."""
    rows = "大0\tB-ORG\n学1\tI-ORG\n\ufffd\ufffd0\tO\n同0\tO\n宿1\tO\n舍2\tO\n\n"
    found = read_tagged_file(SourceFile(write(rows * 3), "train_file"), tag_scheme="auto")
    assert found.words == ["大", "学", "\ufffd\ufffd", "同", "宿", "舍"] * 3
    assert any("its place in its word" in note for note in found.notes)
    rows = "Q1\tB-T\nQ3\tO\nH2\tB-T\nB9\tO\n\n"
    found = read_tagged_file(SourceFile(write(rows * 3), "train_file"), tag_scheme="auto")
    assert found.words == ["Q1", "Q3", "H2", "B9"] * 3


@pytest.mark.parametrize("is_first", [True, False])
def test_plain_tags_before_or_after_their_words(write, is_first):
    path = write(text_of(lambda s, n, w, t, p: f"{p}\t{w}" if is_first else f"{w}\t{p}"))
    found = read_tagged_file(SourceFile(path, "train_file"), tag_scheme="auto")
    assert found.words == WORDS and [found.tag_names[tag] for tag in found.tags] == PLAIN


def test_features_are_the_tags_of_words_that_have_no_others(write):
    path = write(text_of(lambda s, n, w, t, p: f"{w}\t{f'Upos={p}' if n % 3 else '_'}"))
    found = read_tagged_file(SourceFile(path, "train_file"))
    assert found.words == WORDS and {"_", f"Upos={PLAIN[1]}"} <= {*found.tag_names}
    # CoNLL-U of words without annotations has no tags.
    path = write(text_of(lambda s, n, w, t, p: f"{w}\t_\t{'_' if n % 3 else 'SpaceAfter=No'}"))
    with pytest.raises(UserError, match="has no labels"):
        read_tagged_file(SourceFile(path, "train_file"))


@pytest.mark.parametrize(
    "row",
    [
        lambda s, n, w, t, p: f"{w} {p} {w.lower()}",
        lambda s, n, w, t, p: f"{w} {p} {n % 3 + 2}",
        lambda s, n, w, t, p: f"{7 * n % 50} {t}",
        lambda s, n, w, t, p: f"{w}\t{w}\t{p}\t{'_' if n % 3 else 'SpaceAfter=No'}",
    ],
)
def test_what_can_not_be_told_is_refused_with_the_columns(write, row):
    path = write(text_of(row))
    message = rf"{re.escape(path)}: the columns .* column 0 has .*: give --word_column and"
    with pytest.raises(UserError, match=message):
        read_tagged_file(SourceFile(path, "train_file"))
    found = read_tagged_file(SourceFile(path, "train_file"), word_column="0", label_column="1")
    assert len(found.words) == len(WORDS)


def test_quotation_marks_are_words_and_a_tab_at_the_end_is_nothing(write):
    """As in NorNE, with the lemma of a quotation mark, and in the test file of GermEval."""
    rows = ['1\t"\t$"\tO', "2\tTom\tTom\tB-PER", '3\t"\t"\tO\t', "4\t.\t.\tO"]
    path = write("\n".join([*rows, ""] * 9))
    found = read_tagged_file(SourceFile(path, "train_file"))
    assert found.words == ['"', "Tom", '"', "."] * 9 and len(found) == 9
    # Behind a quotation mark that begins a field there is no tab.
    path = write('"a\tb"\tO\nTom\tB-PER\n\n' * 9, "x.tsv")
    assert read_tagged_file(SourceFile(path, "train_file")).words == ["a\tb", "Tom"] * 9


@pytest.mark.parametrize("word", ['""', '"so"'])
def test_words_of_quotation_marks_are_no_quoted_fields(write, word):
    """As in WNUT-17: of its words some are a quotation mark, and one is two of them."""
    path = write(f'{word}\tO\nTom\tB-PER\n"\tO\n.\tO\n\n' * 9, "x.conll")
    found = read_tagged_file(SourceFile(path, "train_file"))
    assert found.words == [word, "Tom", '"', "."] * 9
    # Two marks without a third one are a word, too.
    path = write('""\tO\nTom\tB-PER\n\n' * 9, "y.conll")
    assert read_tagged_file(SourceFile(path, "train_file")).words == ['""', "Tom"] * 9


def test_a_text_without_entities_is_evaluated_and_not_trained_on(write):
    path = write("Tom O\nwaits O\n\n" * 20)
    assert read_tagged_file(SourceFile(path, "dev_file")).tag_names == ("O",)
    # Chunks before them are not the entities.
    chunks = write("Tom NN B-NP O\nwaits VB B-VP O\n\n" * 20, "chunks.txt")
    assert read_tagged_file(SourceFile(chunks, "dev_file")).tag_names == ("O",)
    with pytest.raises(UserError, match="every word has the tag O: there is no entity to learn"):
        read_tagged_file(SourceFile(path, "train_file"))
    path = write('{"tokens": ["Tom"], "ner_tags": [1]}\n' * 20, "x.jsonl")
    with pytest.raises(UserError, match="the tag 1 is a number without a name"):
        read_tagged_file(SourceFile(path, "train_file"))


@pytest.mark.parametrize("cell", ["(PER(LOC)", "*)", "(PER*"])
def test_brackets_that_are_nested_or_open_are_refused(write, cell):
    path = write("x *\ny (PER)\nz *\n\n" * 11 + f"x *\ny (PER)\nz {cell}\n")
    with pytest.raises(UserError, match=":45: .*bracket"):
        read_tagged_file(SourceFile(path, "train_file"), tag_scheme="auto", label_column="1")


def test_words_that_begin_with_the_sign_of_comments(write):
    path = write("#rome B-LOC\nTom B-PER\n\n# O\nis O\n\n# note\nx O\n\n% B-ORG\n")
    assert read_tagged_file(SourceFile(path, "train_file")).words == [
        "#rome",
        "Tom",
        "#",
        "is",
        "x",
        "%",
    ]


@pytest.mark.parametrize("sign", ["/", "::", "\u3000"])
def test_a_word_with_its_tag_in_one_column_is_refused(write, sign):
    path = write(text_of(lambda s, n, w, t, p: f"{w}{sign}{t}"))
    with pytest.raises(UserError, match="words and tags are in one column, such as 'Tom"):
        read_tagged_file(SourceFile(path, "test_file"), needs_tags=False)


def test_texts_and_tables_of_texts_are_named(write):
    path = write("Tom went home.\nNobody came at all.\nIt was late, and it rained.\n" * 9)
    with pytest.raises(UserError, match="most lines have other numbers of columns .* tags texts"):
        read_tagged_file(SourceFile(path, "test_file"), needs_tags=False)
    path = write("text,label\nA good film.,pos\nA dull one.,neg\n", "reviews.csv")
    with pytest.raises(UserError, match=r"reviews.csv:2: column 0 has texts, .*run_classifier.py"):
        read_tagged_file(SourceFile(path, "train_file"))
