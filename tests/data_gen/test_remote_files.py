"""Files that only TensorFlow can open, on its own `ram://`: what runs read, and what the generators
take and refuse."""

import gzip

import numpy as np
import pytest

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.options import CorpusOptions, PretrainingDataOptions
from data_gen.pretraining import generation, records, schema
from data_gen.text import corpus_preparation
from data_gen.tokenization.settings import TokenizerSettings, write_settings
from data_gen.tokenization.vocabulary import Vocabulary

ROOT = "ram://data_gen"
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "ran", "."]
TEXT = "\n\n".join("the cat sat .\nthe cat ran .\nthe cat sat ." for _ in range(20)) + "\n"


def write(name: str, content: str | bytes) -> str:
    path = f"{ROOT}/{name}"
    files.make_directories(path.rpartition("/")[0])
    with files.atomic_write(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture(scope="module")
def vocab_file() -> str:
    return write("vocab.txt", "".join(f"{token}\n" for token in TOKENS))


@pytest.fixture(scope="module")
def record_file(tmp_path_factory, vocab_file) -> str:
    """Local records made of a remote text with a remote vocabulary."""
    output = tmp_path_factory.mktemp("records") / "records"
    text = write("texts/a.txt", TEXT)
    write("texts/b.txt.gz", TEXT)
    generation.run(
        PretrainingDataOptions(
            input_file=f"{text.removesuffix('a.txt')}*",
            output_file=str(output),
            vocab_file=vocab_file,
            max_seq_length=16,
            max_predictions_per_seq=3,
            dupe_factor=2,
            num_workers=1,
        )
    )
    return str(output)


def test_vocabulary(vocab_file):
    assert Vocabulary.from_file(vocab_file).tokens == TOKENS
    with pytest.raises(UserError, match="data_gen is a directory: name the vocabulary file in it"):
        Vocabulary.from_file(ROOT)
    with pytest.raises(
        UserError, match="can't read the vocabulary ram://data_gen/none.txt: No such file"
    ):
        Vocabulary.from_file(f"{ROOT}/none.txt")
    write_settings(ROOT, TokenizerSettings(do_lower_case=True))
    assert json_files.read(f"{ROOT}/tokenizer_config.json")["do_lower_case"] is True


def test_records_are_the_same_from_local_files(record_file, vocab_file, tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    result = generation.generate(
        PretrainingDataOptions(
            input_file=str(tmp_path / "[ab].txt"),
            output_file=str(tmp_path / "out"),
            vocab_file=str(tmp_path / "vocab.txt"),
            max_seq_length=16,
            max_predictions_per_seq=3,
            dupe_factor=2,
            num_workers=1,
        )
    )
    assert (tmp_path / "out").read_bytes() == open(record_file, "rb").read()
    remote = json_files.read(f"{record_file}.stats.json")
    assert remote["counts"] == result["counts"] and remote["vocab_sha256"] == result["vocab_sha256"]
    assert remote["vocab_file"] == vocab_file
    assert [path for path, *_ in remote["input_file"]] == [
        f"{ROOT}/texts/a.txt",
        f"{ROOT}/texts/b.txt.gz",
    ]


@pytest.mark.parametrize("zipped", [False, True])
def test_records_are_read(record_file, zipped):
    data = open(record_file, "rb").read()
    path = write("records.tfrecord", gzip.compress(data) if zipped else data)
    assert records.inspect_first_record(path) == records.inspect_first_record(record_file)
    assert records.count_records(path) == records.count_records(record_file) > 40
    for found, expected in zip(
        records.read_examples(path), records.read_examples(record_file), strict=True
    ):
        for name in schema.FEATURES:
            np.testing.assert_array_equal(found[name], expected[name])
    path = write("short.tfrecord", gzip.compress(data[:-3]) if zipped else data[:-3])
    with pytest.raises(UserError, match="short.tfrecord: the file ends inside record"):
        records.count_records(path)
    with pytest.raises(UserError, match="can't read ram://data_gen/none: No such file"):
        records.count_records(f"{ROOT}/none")


def test_a_corpus_is_prepared_in_place(capsys):
    write("raw/a.txt", "It rained.\nWe left.\n\nA new day.\nIt was dry.\n")
    corpus_preparation.run(
        CorpusOptions(
            input_file=f"{ROOT}/raw/*.txt",
            output_file=f"{ROOT}/prepared/corpus.txt.gz",
            num_workers=2,
        )
    )
    with files.open_file(f"{ROOT}/prepared/corpus.txt.gz", "rb") as file:
        assert gzip.decompress(file.read()) == b"It rained.\nWe left.\n\nA new day.\nIt was dry.\n"
    assert "1 of 1 files" in capsys.readouterr().out
    with pytest.raises(UserError, match="raw/a.txt is also --input_file"):
        corpus_preparation.run(
            CorpusOptions(input_file=f"{ROOT}/raw/a.txt", output_file=f"{ROOT}/raw/a.txt")
        )
