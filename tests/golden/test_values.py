"""The values that come with the project: they fit into it, and a wrong number is noticed."""

import gzip
import io
import json
import lzma
import tarfile

import numpy as np
import pytest

from tests.golden.values import SAMPLE_SIZE, assert_close, sample, unpack


def test_they_are_small(project):
    assert (
        sum(
            path.stat().st_size
            for path in (project / "tests" / "golden").rglob("*")
            if path.is_file()
        )
        < 4e6
    )


def test_unpacked_names_are_those_of_the_files_inside(golden):
    """Nothing is left packed but what tests read through gzip or numpy."""
    names = {path.relative_to(golden).as_posix() for path in golden.rglob("*") if path.is_file()}
    assert {
        "bert/uncased_vocab.txt",
        "tf1_checkpoint/bert_model.ckpt.index",
        "tf1_heads/classifier_model.ckpt.index",
        "pretraining_data/sample_corpus.txt",
        "squad/squad_v20_eval.json",
    } <= names
    assert not [name for name in names if name.endswith((".xz", ".md", ".py"))]


def test_texts_have_a_free_licence(golden):
    sources = set()
    for casing in ("uncased", "cased"):
        with open(
            golden / "tokenization" / f"tokenization_{casing}.jsonl", encoding="utf-8"
        ) as file:
            sources |= {
                line["src"].split(":")[0] for line in map(json.loads, file) if "src" in line
            }
    assert sources == {"xquad", "xquad-question", "xquad-paragraph", "wnut17", "book"}
    with gzip.open(
        golden / "classifier_features" / "classifier_features.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        assert {json.loads(line)["set"] for line in file} == {"edge", "padding_example"}


def test_a_wrong_entry_is_noticed(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "large/kernel": rng.normal(size=(40, 50)).astype(np.float32),
        "bias": np.zeros(3, np.float32),
    }
    np.savez(tmp_path / "values.npz", **{name: sample(array) for name, array in arrays.items()})
    assert sample(arrays["large/kernel"]).shape == (SAMPLE_SIZE + 1,)
    assert_close(arrays, tmp_path / "values.npz", atol=1e-6)
    for name, place in (("bias", 1), ("large/kernel", (0, 0)), ("large/kernel", (39, 49))):
        wrong = {key: array.copy() for key, array in arrays.items()}
        wrong[name][place] += 1e-3
        with pytest.raises(AssertionError, match=name):
            assert_close(wrong, tmp_path / "values.npz", atol=1e-4)
    # An entry that is not in the sample changes the norm.
    wrong = {**arrays, "large/kernel": arrays["large/kernel"].copy()}
    wrong["large/kernel"][0, 1] += 9
    with pytest.raises(AssertionError, match="large/kernel"):
        assert_close(wrong, tmp_path / "values.npz", atol=1e-4)
    with pytest.raises(AssertionError):
        assert_close({"bias": arrays["bias"]}, tmp_path / "values.npz", atol=1e-4)


def test_files_are_unpacked_as_they_were(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True)
    (source / "README.md").write_text("about")
    (source / "folder" / "text.txt.xz").write_bytes(lzma.compress("é\n".encode()))
    (source / "folder" / "plain.npz").write_bytes(b"\0\1")
    with tarfile.open(source / "more.tar.xz", "w:xz") as archive:
        member = tarfile.TarInfo("other/model.index")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"ab"))
    unpack(source, target)
    found = {
        path.relative_to(target).as_posix(): path.read_bytes()
        for path in target.rglob("*")
        if path.is_file()
    }
    assert found == {
        "folder/text.txt": "é\n".encode(),
        "folder/plain.npz": b"\0\1",
        "other/model.index": b"ab",
    }
