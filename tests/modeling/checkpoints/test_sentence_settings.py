"""Settings of sentence-transformers: followed as that library does, in predictions, search and
exports."""

import json
import pathlib

import numpy as np
import pytest

from bert_tf.extras import search_index
from bert_tf.extras.search import SearchOptions
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks.sentence_embedding.data import read_data
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import open_checkpoint
from tests.modeling.checkpoints import sentence_models
from tests.refusals import assert_refused

VALUES = json.loads(pathlib.Path(__file__).with_name("sentence_values.json").read_text())
TEXTS = sentence_models.TEXTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    sentence_models.write_all(folder)
    return folder


def vectors(path) -> np.ndarray:
    rows = Predictor.from_checkpoint(str(path), task="features")(TEXTS)
    return np.array([row["vector"] for row in rows])


@pytest.mark.parametrize("name", sentence_models.VECTORS)
def test_vectors_are_those_of_the_library(folder, tmp_path, name):
    np.testing.assert_allclose(vectors(folder / name), VALUES[name], atol=1e-5)
    # Kept on the way to another directory of the kind.
    convert(str(folder / name), "sentence_transformers", str(tmp_path / "again"))
    np.testing.assert_allclose(vectors(tmp_path / "again"), VALUES[name], atol=1e-5)


@pytest.mark.parametrize("name", ["truncated", "dense_truncated"])
def test_exports_compute_them(folder, tmp_path, name):
    done = export(
        ExportOptions(
            init_checkpoint=str(folder / name),
            export_dir=str(tmp_path / "out"),
            format="hub",
            task="features",
        )
    )
    assert done.max_difference < 1e-5
    assert done.signatures["serving_default"][1]["sentence_embedding"].endswith(
        f", {len(VALUES[name][0])}]"
    )
    np.testing.assert_allclose(vectors(tmp_path / "out"), VALUES[name], atol=1e-5)


@pytest.mark.parametrize("name", sentence_models.SCORES)
def test_scores_of_a_re_ranker_go_through_its_activation(folder, name):
    pairs = [[TEXTS[0], text] for text in TEXTS]
    rows = Predictor.from_checkpoint(str(folder / name))(pairs)
    np.testing.assert_allclose([row["score"] for row in rows], VALUES[name], atol=1e-5)


@pytest.mark.parametrize("name", ["dot", "dense"])
def test_documents_are_searched_by_the_similarity_of_the_encoder(folder, tmp_path, name):
    (tmp_path / "documents.txt").write_text("\n".join(TEXTS))
    (tmp_path / "queries.txt").write_text(TEXTS[1])
    common = {"init_checkpoint": str(folder / name), "index_dir": str(tmp_path / "index")}
    search_index.run(SearchOptions(documents_file=str(tmp_path / "documents.txt"), **common))
    search_index.run(
        SearchOptions(
            input_file=str(tmp_path / "queries.txt"),
            output_file=str(tmp_path / "nearest.jsonl"),
            **common,
        )
    )
    found = json.loads((tmp_path / "nearest.jsonl").read_text())["documents"]
    expected = np.array(VALUES[name]) @ np.array(VALUES[name][1])
    order = np.argsort(-expected)
    assert [document["text"] for document in found] == [TEXTS[number] for number in order]
    np.testing.assert_allclose([one["score"] for one in found], expected[order], atol=1e-4)


def test_a_dense_module_is_not_trained(folder, tmp_path):
    rows = "who\tlist\nlists\tarray\n"
    (tmp_path / "pairs.tsv").write_text(f"sentence1\tsentence2\n{rows}")
    options = SentenceEmbeddingOptions(
        train_file=str(tmp_path / "pairs.tsv"),
        output_dir=str(tmp_path / "out"),
        init_checkpoint=str(folder / "dense"),
        do_train=True,
        max_seq_length=16,
    )
    assert_refused(
        lambda: read_data(options, open_checkpoint(str(folder / "dense"))), "Dense", "not trained"
    )
