import dataclasses
import json
import pathlib

import numpy as np
import pytest

from bert_common import json_files
from bert_tf.evaluation.retrieval import score_rankings
from bert_tf.extras.search import SearchOptions
from bert_tf.extras.search_index import run as search
from bert_tf.inference.predictor import Predictor
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.tasks.sentence_embedding.data import SentenceExamples, SentenceSplit, retrieval_set
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.sentence_embedding.task import SentenceEmbeddingTask, rank, run
from bert_tf.training.run_directory import read_metrics
from modeling.checkpoints.load import open_checkpoint
from tests.bert_tf.tasks.sentence_embedding.toy_pairs import (
    write_columns,
    write_model,
    write_retrieval,
)
from tests.refusals import assert_refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    write_columns(folder / "train.csv", 160, 1)
    write_columns(folder / "dev.jsonl", 50, 2)
    write_retrieval(folder)
    return folder


def options(folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> SentenceEmbeddingOptions:
    return SentenceEmbeddingOptions(
        **{
            **dict(
                train_file=f"{folder}/train.csv",
                bert_config_file=f"{folder}/bert_config.json",
                output_dir=str(output_dir),
                max_seq_length=16,
                train_batch_size=16,
                learning_rate=0.01,
                num_train_epochs=2,
                seed=1,
                pad_to_max_length=True,
            ),
            **changes,
        }
    )


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory) -> pathlib.Path:
    """The directory of a finished run on triples, evaluated on scores and retrieval."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert (
        run(
            options(
                folder,
                directory,
                negative_columns=("negative",),
                dev_task_name="scored",
                dev_file=f"{folder}/dev.jsonl",
                test_file=f"{folder}/dev.jsonl",
                do_train=True,
                do_eval=True,
                do_predict=True,
                best_metric="retrieval_mrr_at_10",
                pooling="max",
                **write_retrieval(folder),
            )
        )
        == 0
    )
    return directory


def test_it_learns_and_keeps_its_best_weights_by_the_metric_of_choice(trained):
    found = json_files.read(str(trained / "eval_results.json"))
    assert found["eval_retrieval_mrr_at_10"] > 0.8
    assert {
        "eval_spearman",
        "eval_pearson",
        "eval_uniformity",
        "eval_retrieval_ndcg_at_10",
        "eval_retrieval_map_at_100",
        "eval_retrieval_recall_at_5",
    } < set(found)
    best = json_files.read(str(trained / "best/best.json"))
    evaluations = [line for line in read_metrics(str(trained)) if line["split"] == "eval"]
    assert [line["step"] for line in evaluations] == [10, 20]
    assert best["metric"] == "retrieval_mrr_at_10"
    assert best["metrics"]["retrieval_mrr_at_10"] == pytest.approx(
        max(line["retrieval_mrr_at_10"] for line in evaluations), rel=1e-6
    )
    opened = open_checkpoint(str(trained))
    description = {
        "kind": "sentence_embedding",
        "task_name": "pairs",
        "pooling": "max",
        "normalize": True,
        "max_seq_length": 16,
    }
    assert opened.heads == [] and opened.task.items() >= description.items()


def test_vectors_are_those_of_the_run(trained):
    predictor = Predictor.from_checkpoint(str(trained))
    assert predictor.task == "sentence_embedding"
    pairs = list(map(json.loads, (trained / "predictions.jsonl").read_text().splitlines()))
    assert len(pairs) == 50
    vectors = [
        np.array(one["vector"])
        for pair in pairs[:4]
        for one in predictor([pair["text_a"], pair["text_b"]])
    ]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(
        [a @ b for a, b in zip(vectors[::2], vectors[1::2], strict=True)],
        [pair["cosine"] for pair in pairs[:4]],
        atol=1e-5,
    )
    graph = predictor.inference.serve_texts([pair["text_a"] for pair in pairs[:4]])["vector"]
    np.testing.assert_allclose(graph, vectors[::2], atol=1e-5)


def test_search(trained, folder, tmp_path, capfd):
    documents = [json.loads(line) for line in (folder / "documents.jsonl").read_text().splitlines()]
    (tmp_path / "documents").write_text(
        "".join(json.dumps({"id": one["_id"], "text": one["text"]}) + "\n" for one in documents)
    )
    (tmp_path / "queries").write_text(
        "the cat\n\n" + json.dumps({"id": "q", "text": documents[3]["text"]}) + "\n"
    )
    index = dict(init_checkpoint=str(trained), index_dir=str(tmp_path / "index"))
    search(SearchOptions(documents_file=str(tmp_path / "documents"), **index))
    assert "truncated" not in capfd.readouterr().err
    search(
        SearchOptions(
            input_file=str(tmp_path / "queries"),
            output_file=str(tmp_path / "found"),
            top_k=3,
            **index,
        )
    )
    found = list(map(json.loads, (tmp_path / "found").read_text().splitlines()))
    assert [one["id"] for one in found] == [1, "q"]
    predictor = Predictor.from_checkpoint(str(trained))
    vectors = np.array(
        [one["vector"] for one in predictor([one["text"] for one in [*documents, found[0]]])]
    )
    scores = vectors[:-1] @ vectors[-1]
    assert [one["score"] for one in found[0]["documents"]] == pytest.approx(
        sorted(scores)[::-1][:3], abs=1e-5
    )
    assert documents[3]["text"] == found[1]["documents"][0]["text"]
    assert found[1]["documents"][0]["score"] == pytest.approx(1, abs=1e-5)

    (tmp_path / "again").write_text('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n')
    assert_refused(
        lambda: search(
            SearchOptions(
                **{**index, "index_dir": str(tmp_path / "other")},
                documents_file=str(tmp_path / "again"),
            )
        ),
        "two documents have the id '1'",
    )
    assert not (tmp_path / "other").exists()
    (tmp_path / "again").write_text(f'{{"text": "{"the " * 20}"}}\n{{"id": NaN, "text": "b"}}\n')
    queries = SearchOptions(input_file=str(tmp_path / "again"), **index)
    assert_refused(
        lambda: search(queries),
        f"{tmp_path}/again:2: id is a float, a text or a whole number is expected",
    )
    (tmp_path / "again").write_text("the " * 20)
    search(queries)
    assert "1 texts were longer than the 16 tokens that the model takes" in capfd.readouterr().err


@pytest.mark.parametrize("task", ["scored", "text"])
def test_other_kinds_of_training_lower_their_loss(folder, tmp_path, task):
    if task == "text":
        (tmp_path / "lines").write_text(
            "".join(
                f"{line['sentence1']}\n"
                for line in map(json.loads, (folder / "dev.jsonl").read_text().splitlines())
            )
        )
    run(
        options(
            folder,
            tmp_path / "run",
            task_name=task,
            do_train=True,
            eval_steps=0,
            iterations_per_loop=5,
            num_train_epochs=4,
            **(
                {"train_file": str(tmp_path / "lines"), "learning_rate": 0.001}
                if task == "text"
                else {"text_b_column": "either"}
            ),
        )
    )
    losses = [
        line["loss"] for line in read_metrics(str(tmp_path / "run")) if line["split"] == "train"
    ]
    assert losses[-1] < losses[0]


def test_texts_that_are_seen_twice_in_the_same_way_are_said(folder, tmp_path):
    (tmp_path / "lines").write_text("the cat\nvery old\n")
    for rate in (0.0, 0.1):
        task = SentenceEmbeddingTask(
            options(
                folder,
                tmp_path / "run",
                task_name="text",
                train_file=str(tmp_path / "lines"),
                do_train=True,
                hidden_dropout_prob=rate,
                attention_probs_dropout_prob=0.0,
            )
        )
        assert any(
            "seen twice in the same way: give --hidden_dropout_prob" in note for note in task.notes
        ) == (rate == 0)


@pytest.mark.parametrize(
    "rows, batch, message",
    [
        (["a,b", "a,c"], 2, "has one anchor only"),
        (["a,c", "b,c"], 2, "has one positive only"),
        (
            ["a,b", "c,d"],
            1,
            "--train_batch_size=1: the negatives of a pair are the other examples of its batch",
        ),
    ],
)
def test_pairs_without_a_negative_are_refused(folder, tmp_path, rows, batch, message):
    """Their loss would be 0 whatever the vectors are."""
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2\n" + "\n".join(rows))
    given = options(
        folder,
        tmp_path / "run",
        train_file=f"{tmp_path}/pairs.csv",
        train_batch_size=batch,
        do_train=True,
    )
    assert_refused(lambda: SentenceEmbeddingTask(given), message)
    (tmp_path / "pairs.csv").write_text(
        "sentence1,sentence2,no\n" + "\n".join(f"{row},no" for row in rows)
    )
    assert len(SentenceEmbeddingTask(given.replace(negative_columns=("no",))).data.train) == 2


def test_vectors_that_are_all_alike_are_said(folder, tmp_path, monkeypatch):
    vectors = {"dev": np.tile([0.6, 0.8], (5, 1)), "second": np.eye(5)}
    monkeypatch.setattr(FineTuningTask, "evaluate", lambda self, run: Evaluation(0, {}, vectors))
    evaluation = SentenceEmbeddingTask(options(folder, tmp_path, do_train=True)).evaluate(None)
    assert (
        "all vectors of dev are alike (uniformity" in evaluation.degenerate
        and "second" not in evaluation.degenerate
    )


def test_a_query_does_not_find_itself(tmp_path):
    """Pairs that are given both ways: each text is a query, and a document of the other."""
    vectors = np.array([[1.0, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
    texts = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    split = SentenceSplit(
        None,
        SentenceExamples({}, np.ones(4, np.int64), {}, texts=texts),
        "pairs",
        *retrieval_set(list(texts.T)),
    )
    assert rank(vectors, split, 2).tolist() == [[1, 3], [3, 0], [3, 1], [1, 2]]
    assert score_rankings(rank(vectors, split, 100), split.relevant, (1,))["recall_at_1"] == 0.5
    assert rank(vectors, dataclasses.replace(split, task=None), 1)[:, 0].tolist() == [0, 1, 2, 3]
    # Where it is what belongs to it, it is found.
    same = dataclasses.replace(split, relevant=[{number: 1.0} for number in range(4)])
    assert rank(vectors, same, 1)[:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            dict(do_train=True, train_file=None),
            "--do_train with --task_name=pairs needs --train_file",
        ),
        (dict(do_eval=True), "--do_eval needs --dev_file"),
        (dict(do_predict=True), "--do_predict needs --test_file"),
        (
            dict(do_train=True, queries_file="q"),
            "--queries_file: --queries_file, --documents_file and --relevance_file",
        ),
        (dict(do_train=True, task_name="text", dev_file="x"), "texts alone can't be evaluated on"),
        (
            dict(do_train=True, task_name="scored", negative_columns=("n",)),
            "--negative_columns has no effect",
        ),
        (
            dict(do_train=True, sweep={"similarity_scale": (1.0, 2.0)}, task_name="scored"),
            "--similarity_scale has no",
        ),
        (
            dict(do_train=True, given=frozenset({"id_column"})),
            "--id_column has no effect without --queries_file",
        ),
    ],
)
def test_refusals(folder, tmp_path, changes, message):
    assert_refused(lambda: options(folder, tmp_path, **changes).check(), message)
