import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from bert_tf import charts
from bert_tf.evaluation.retrieval import score_rankings, search, uniformity
from bert_tf.tasks.sentence_embedding.options import RECALL_AT


def test_search_in_chunks_is_that_in_one_and_prefers_the_first_of_equal_ones():
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(37, 5)).astype(np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    documents[20] = documents[3]
    queries = documents[[3, 30]]
    scores, numbers = search(queries, [documents], 6)
    products = queries @ documents.T
    np.testing.assert_array_equal(numbers, np.argsort(-products, axis=1, kind="stable")[:, :6])
    assert numbers[0, :2].tolist() == [3, 20]
    chunked = search(queries, (documents[start : start + 4] for start in range(0, 37, 4)), 6)
    np.testing.assert_array_equal(chunked[1], numbers)
    np.testing.assert_allclose(chunked[0], scores, rtol=1e-6)
    assert search(queries, [documents], 100)[1].shape == (2, 37)


def test_what_is_no_number_is_found():
    """By it a damaged index is known, though the best documents are others."""
    documents = np.ones((10, 2), np.float32)
    documents[7] = np.nan
    assert np.isnan(search(documents[:1], [documents[:4], documents[4:8]], 100)[0]).sum() == 1


def test_scores_by_hand():
    # The second and fourth documents of the first query are relevant, of three; nothing is found
    # for the second.
    scores = score_rankings(
        [[5, 1, 6, 2], [7, 8]], [{1: 1.0, 2: 1.0, 9: 1.0}, {3: 1.0, 4: 0.0}], (1, 4)
    )
    assert scores["mrr_at_10"] == pytest.approx(0.5 / 2)
    assert scores["map_at_100"] == pytest.approx((1 / 2 + 2 / 4) / 3 / 2)
    assert scores["recall_at_1"] == 0
    assert scores["recall_at_4"] == pytest.approx(2 / 3 / 2)
    gain = 1 / np.log2(3) + 1 / np.log2(5)
    assert scores["ndcg_at_10"] == pytest.approx(gain / (1 + 1 / np.log2(3) + 1 / 2) / 2)


def test_every_score_is_described():
    # Of a ranking with the right documents at ranks 1 and 6, of four.
    scores = score_rankings([range(9)], [{0: 1.0, 5: 1.0, 20: 1.0, 21: 1.0}], RECALL_AT)
    assert [scores[f"recall_at_{count}"] for count in RECALL_AT] == [0.25, 0.25, 0.5]
    assert scores["recall_at_5"] < scores["recall_at_10"]
    assert all(charts.find(name).description for name in scores)


def test_graded_ndcg_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    grades, order = rng.integers(0, 4, 30).astype(float), rng.permutation(30)
    found = score_rankings([order.tolist()], [dict(enumerate(grades))], (1,))["ndcg_at_10"]
    assert found == pytest.approx(ndcg_score([grades[order]], [np.arange(30)[::-1]], k=10))


def test_a_query_without_a_relevant_document_does_not_count():
    assert score_rankings([[1], [1]], [{1: 1.0}, {1: 0.0}], (1,))["mrr_at_10"] == 1.0
    with pytest.raises(ValueError, match="no query"):
        score_rankings([[1]], [{}], (1,))


def test_a_document_that_is_ranked_twice_is_refused():
    """It would count twice: a recall of 3."""
    with pytest.raises(ValueError, match="twice"):
        score_rankings([[1, 1, 1]], [{1: 1.0}], (1,))


def test_uniformity():
    same = np.tile([1.0, 0.0], (5, 1))
    assert uniformity(same) == pytest.approx(0)
    opposite = np.array([[1.0, 0], [-1, 0]])
    assert uniformity(opposite) == pytest.approx(-8)
