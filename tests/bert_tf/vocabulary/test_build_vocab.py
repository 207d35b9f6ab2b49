import collections
import gzip
import json
import pathlib
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.vocabulary import building
from data_gen.text import word_counts
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import basic_tokenize
from modeling.config import BertConfig
from tests.data_gen.commands import run_command
from tests.refusals import assert_refused

_SCRIPT = str(pathlib.Path(building.__file__).parents[2] / "vocab/build_vocab.py")

_TEXT = "".join(
    f"Dr. Müller walked {['home', 'away', 'up'][number % 3]} and talked of number {number}. He was walking.\n"
    for number in range(3000)
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A directory with the text and a vocabulary made of it; what the command printed."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "text").write_text(_TEXT)
    done = subprocess.run(
        [
            sys.executable,
            _SCRIPT,
            "--input_file=text",
            "--output_dir=new/uncased",
            "--vocab_size=400",
            "--num_unused=10",
            "--model_size=tiny",
            "--held_out_fraction=0.1",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, done.stdout


@pytest.fixture
def run(monkeypatch, capsys):
    def call(folder, **flags) -> str:
        monkeypatch.chdir(folder)
        run_command(
            building.VocabularyOptions,
            building.run,
            **{"input_file": "text", "num_workers": 1, **flags},
        )
        return capsys.readouterr().out

    return call


def test_files_fit_together(built):
    folder, printed = built
    assert "wrote 400 tokens" in printed
    tokenizer = Tokenizer.from_file(str(folder / "new/uncased/vocab.txt"))
    config = BertConfig.from_file(str(folder / "new/uncased/bert_config.json"))
    assert tokenizer.vocabulary.size == config.vocab_size == 400
    assert (config.hidden_size, config.num_hidden_layers) == (128, 2)
    assert tokenizer.vocabulary.tokens[9:17] == [
        "[unused8]",
        "[unused9]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "!",
        '"',
    ]
    assert tokenizer.tokenize("Müller walked.") == ["muller", "walked", "."]
    assert json.loads((folder / "new/uncased/tokenizer_config.json").read_text()) == {
        "do_lower_case": True,
        "tokenizer_class": "BertTokenizer",
    }


def test_statistics_are_those_of_the_tokenizer(built, run):
    folder, _ = built
    (folder / "other").write_text("Ms. Müller walks ω\nhome and away, walking.")
    printed = run(folder, held_out_file="other", output_dir="statistics", vocab_size=400)
    tokens = Tokenizer.from_file(str(folder / "statistics/vocab.txt")).tokenize(
        (folder / "other").read_text()
    )
    [row] = [line.split() for line in printed.splitlines() if line.startswith("held out")]
    assert row[2:4] == ["11", str(len(tokens))]
    assert row[4] == f"{len(tokens) / 11:.3f}"
    assert row[6] == f"{1 / len(tokens):.4%}" == f"{tokens.count('[UNK]') / len(tokens):.4%}"


def test_same_vocabulary_for_any_number_of_workers(built, run):
    folder, _ = built
    run(
        folder,
        output_dir="again",
        vocab_size=400,
        num_unused=10,
        model_size="tiny",
        held_out_fraction=0.1,
    )
    for name in ("vocab.txt", "bert_config.json", "tokenizer_config.json"):
        assert (folder / "again" / name).read_bytes() == (
            folder / "new/uncased" / name
        ).read_bytes()


def test_cased(built, run):
    folder, _ = built
    run(folder, held_out_file="text", output_dir="cased", vocab_size=500, do_lower_case=False)
    tokenizer = Tokenizer.from_file(str(folder / "cased/vocab.txt"), do_lower_case=False)
    assert tokenizer.tokenize("Müller") == ["Müller"]
    assert (
        json.loads((folder / "cased/tokenizer_config.json").read_text())["do_lower_case"] is False
    )


def test_too_little_text_is_said(tmp_path, run):
    (tmp_path / "text").write_text("A few words only.\n")
    printed = run(tmp_path, output_dir=".", vocab_size=1000, held_out_fraction=0)
    size = Vocabulary.from_file(str(tmp_path / "vocab.txt")).size
    assert size < 1000
    assert f"warning: the text does not hold 1,000 subwords: the vocabulary has {size:,}" in printed
    assert json.loads((tmp_path / "bert_config.json").read_text())["vocab_size"] == size


def test_words_that_hardly_occur_are_said(tmp_path, run):
    rng = random.Random(1)
    rare = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(600)]
    for name, words, size in (("rare", rare, 400), ("frequent", rare[:60] * 20, 220)):
        (tmp_path / name).write_text("".join(f"{word}\n" for word in words))
        printed = run(
            tmp_path, input_file=name, output_dir=".", vocab_size=size, held_out_fraction=0
        )
        assert ("of the 400 tokens are words that occur less than 8 times" in printed) == (
            name == "rare"
        )
        assert ("--vocab_size=" in printed) == (name == "rare"), printed


@pytest.mark.parametrize(
    "flags, message",
    [
        ({"input_file": "missing*"}, "--input_file: no file matches 'missing*'"),
        ({"output_dir": "text"}, "--output_dir: can't write in text"),
        ({"vocab_size": 50}, "--vocab_size=50 is too small"),
        ({"input_file": "empty"}, "there are no words in the input"),
        ({"held_out_file": "empty"}, "--held_out_file: there are no words"),
        ({"input_file": "latin1"}, "latin1: not UTF-8 at byte 3 (0xe9)"),
    ],
)
def test_user_errors(tmp_path, run, flags, message):
    (tmp_path / "text").write_text("Some text.\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "latin1").write_bytes(b"caf\xe9\n")
    assert_refused(
        lambda: run(tmp_path, **{"output_dir": "out", "vocab_size": 500, **flags}), message
    )
    assert not list(tmp_path.glob("out/*"))


def test_the_shipped_vocabulary(project, golden):
    """Laid out as the released one; covers English text that it was not made of."""
    folder = project / "vocab" / "english_uncased"
    tokenizer = Tokenizer.from_file(str(folder / "vocab.txt"))
    vocabulary = tokenizer.vocabulary
    assert (
        vocabulary.size
        == 30522
        == BertConfig.from_file(str(folder / "bert_config.json")).vocab_size
    )
    assert (
        vocabulary.pad_id,
        vocabulary.unk_id,
        vocabulary.cls_id,
        vocabulary.sep_id,
        vocabulary.mask_id,
    ) == (0, 100, 101, 102, 103)
    assert tokenizer.tokenize("The house was empty, and she went away.") == [
        "the",
        "house",
        "was",
        "empty",
        ",",
        "and",
        "she",
        "went",
        "away",
        ".",
    ]
    assert "[UNK]" not in tokenizer.tokenize(
        "TensorFlow's tf.Tensor[int32] — naïve œuvre: 100% & “more”…"
    )
    with open(golden / "tokenization" / "tokenization_uncased.jsonl", encoding="utf-8") as file:
        lines = [line["text"] for line in map(json.loads, file) if line.get("lang") == "en"]
    assert len(lines) > 90
    assert (tokenizer.encode_batch(lines).ids == vocabulary.unk_id).mean() < 0.001


def _count(path, **arguments):
    arguments = {"do_lower_case": True, "ordered_map": map, "max_words": 1000, **arguments}
    return word_counts.count_words([str(path)], **arguments)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_text(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes("\n".join(lines).encode())
    assert _count(path).words == collections.Counter(
        word for line in lines for word in basic_tokenize(line)
    )


def test_portions_do_not_matter(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("".join(f"word{number % 17} and\n" for number in range(200)))
    whole = _count(tmp_path / "text")
    monkeypatch.setattr(word_counts, "_PORTION_BYTES", 50)
    steps = []
    assert _count(tmp_path / "text", progress=steps.append) == whole
    assert sum(steps) == whole.num_bytes == (tmp_path / "text").stat().st_size


@pytest.mark.parametrize("size", [0, 1, 49, 50, 51, 400])
def test_portions_of_plain_text_are_those_of_gzipped_text(tmp_path, monkeypatch, size):
    monkeypatch.setattr(word_counts, "_PORTION_BYTES", 50)
    data = b"\n".join(b"word" * (number % 5) for number in range(100))[:size]
    (tmp_path / "text").write_bytes(data)
    (tmp_path / "text.gz").write_bytes(gzip.compress(data))
    plain, gzipped = (
        list(word_counts.portions([str(tmp_path / name)])) for name in ("text", "text.gz")
    )
    assert [data[portion.offset : portion.offset + portion.stored] for portion in plain] == [
        portion.data for portion in gzipped
    ]
    assert [portion.offset for portion in plain] == [portion.offset for portion in gzipped]
    assert sum(portion.stored for portion in plain) == size


def test_held_out_lines_are_counted_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "_PORTION_BYTES", 1000)
    lines = [f"w{number}" for number in range(2000)]
    (tmp_path / "text").write_text("\n".join(lines))
    counts = _count(tmp_path / "text", max_words=10_000, held_out_fraction=0.1)
    assert not counts.words.keys() & counts.held_out.keys()
    assert counts.words + counts.held_out == collections.Counter(lines)
    assert 120 <= counts.held_out.total() <= 220


def test_rare_words_are_dropped_when_the_room_is_used_up(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "_PORTION_BYTES", 100)
    (tmp_path / "text").write_text(
        "".join(f"common{number % 5} rare{number}\n" for number in range(500))
    )
    counts = _count(tmp_path / "text", max_words=40)
    assert all(counts.words[f"common{number}"] == 100 for number in range(5))
    assert len(counts.words) <= 40
    assert counts.pruned_words == counts.pruned_occurrences == 500 - (len(counts.words) - 5)


def test_not_utf8_names_the_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "_PORTION_BYTES", 4)
    (tmp_path / "text").write_bytes(b"first line\ncaf\xe9\n")
    with pytest.raises(UserError, match=r"text: not UTF-8 at byte 14 \(0xe9\).*--on_bad_utf8"):
        _count(tmp_path / "text")
    # The replacement character is deleted, as the tokenizer does.
    assert _count(tmp_path / "text", on_bad_utf8="replace").words == {
        "first": 1,
        "line": 1,
        "caf": 1,
    }
