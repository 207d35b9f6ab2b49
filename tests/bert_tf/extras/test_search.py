import hashlib
import json
import pathlib
import shutil

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras.search import SearchOptions
from bert_tf.extras.search_index import run
from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.convert import convert
from tests.refusals import assert_refused
from tests.tiny import write_tiny

DOCUMENTS = ["the list is returned", "an array of numbers", "who is the user?", "lists and arrays"]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    """A directory of sentence-transformers with prompts."""
    root = tmp_path_factory.mktemp("model")
    convert(write_tiny(root, "masked_lm"), "sentence_transformers", str(root / "out"))
    json_files.write(
        str(root / "out/config_sentence_transformers.json"),
        {
            "prompts": {"query": "find ", "passage": "text ", "other": "the "},
            "default_prompt_name": "other",
        },
    )
    return root / "out"


@pytest.fixture(scope="module")
def index(model, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("index")
    (folder / "documents").write_text("".join(f"{text}\n" for text in DOCUMENTS))
    (folder / "queries").write_text("lists\n")
    search(model, folder, documents_file=f"{folder}/documents")
    return folder


def search(model, folder, **changes) -> None:
    options = SearchOptions(
        **{"init_checkpoint": str(model), "index_dir": f"{folder}/index", **changes}
    )
    options.check()
    options.check_inputs()
    run(options)


def found(model, folder, **changes) -> list[dict]:
    search(model, folder, input_file=f"{folder}/queries", output_file=f"{folder}/found", **changes)
    return json.loads((folder / "found").read_text())["documents"]


def test_prompts_stand_before_queries_documents_and_all_other_texts(model, index):
    plain = shutil.copytree(model, index / "plain")
    (plain / "config_sentence_transformers.json").unlink()
    prompted, texts = (Predictor.from_checkpoint(str(path)) for path in (model, plain))
    vectors = np.array(
        [one["vector"] for one in texts(["find lists", *(f"text {text}" for text in DOCUMENTS)])]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = vectors[1:] @ vectors[0]
    assert [one["score"] for one in found(model, index)] == pytest.approx(
        sorted(scores)[::-1], abs=1e-5
    )
    np.testing.assert_allclose(
        prompted(["list"])[0]["vector"], texts(["the list"])[0]["vector"], atol=1e-6
    )
    # Other vectors than those of the index.
    assert_refused(lambda: found(plain, index), "index.json: made from something else (vectors)")


def test_what_is_no_sentence_encoder(model, index, tmp_path):
    copy = shutil.copytree(model, tmp_path / "plain")
    (copy / "modules.json").unlink()
    assert_refused(lambda: found(copy, index), "is no sentence encoder")
    json_files.write(
        str(copy / "modules.json"), [{"type": "sentence_transformers.models.CLIPModel", "path": ""}]
    )
    assert_refused(
        lambda: found(copy, index),
        "modules.json: the first module is CLIPModel, a Transformer is expected",
    )


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("vectors.f32", lambda old: old[::-1], "vectors.f32 is damaged"),
        ("offsets.i64", lambda old: old[:-8], "offsets.i64 is damaged"),
        (
            "documents.jsonl",
            lambda old: old.replace(b"user", b"list"),
            "documents.jsonl is damaged",
        ),
        (
            "index.json",
            lambda old: old.replace(b'"version": 2', b'"version": 99'),
            "version 99 of the format, 2 is",
        ),
        (
            "index.json",
            lambda old: old.replace(b'"num_attention_heads": ', b'"num_attention_heads": 1'),
            "something else",
        ),
    ],
)
def test_an_index_that_is_not_what_was_written_is_refused(model, index, name, change, message):
    path = index / "index" / name
    old = path.read_bytes()
    path.write_bytes(change(old))
    assert_refused(
        lambda: found(model, index),
        "--index_dir: ",
        message,
        "make the index again with --documents_file",
    )
    path.write_bytes(old)


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        ("vectors.f32", np.float32("nan"), "not finite"),
        ("offsets.i64", np.int64(-1), "do not ascend"),
        ("offsets.i64", np.int64(10**9), "do not ascend|beyond its documents"),
        ("documents", 1, "have not the sizes"),
        ("documents", 0, "have not the sizes"),
        ("size", 1, "have not the sizes"),
    ],
)
def test_wrong_numbers_with_right_digests_are_refused(
    model, index, tmp_path, name, number, message
):
    copied = shutil.copytree(index, tmp_path / "copied")
    path = copied / "index" / name
    facts = json.loads((copied / "index/index.json").read_text())
    if name in facts:
        facts[name] = number
    else:
        content = path.read_bytes()[: -number.nbytes] + number.tobytes()
        path.write_bytes(content)
        facts["files"][name][1] = hashlib.sha256(content).hexdigest()
    (copied / "index/index.json").write_text(json.dumps(facts))
    with pytest.raises(UserError, match=f"--index_dir: .*({message})"):
        found(model, copied)
