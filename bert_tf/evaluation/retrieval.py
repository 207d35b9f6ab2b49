"""Exact search among vectors, and the scores of rankings, in numpy.

Input: vectors, or the ranks of documents. Output: the best documents; recall@k, MRR@10, nDCG@10,
MAP@100; uniformity of vectors.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

# Number of documents of a ranking that count.
DEPTH = 10
MAP_DEPTH = 100
RANKING_METRICS = ("ndcg_at_10", "mrr_at_10", "map_at_100")
# Number of documents whose scores are in memory together.
_ROWS_AT_ONCE = 1 << 12
# Maximum number of vectors for `uniformity`, which compares all pairs.
_UNIFORMITY_SAMPLE = 2000


def search(
    queries: np.ndarray, chunks: Iterable[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the k documents with the highest products for each query, the best first; of equal ones
    the first.

    Args:
      queries: float [Q, D], some hundreds: the products with 4,096 documents are in memory.
      chunks: of the documents, float [n, D] each, N in all.
      k: number of documents.

    Returns:
      scores float32 [Q, min(k, N)] and numbers of documents int64 of the same shape.
    """
    # The best documents of each query so far, merged with one block of documents at a time.
    queries = np.asarray(queries, np.float32)
    best_scores = [np.empty(0, np.float32)] * len(queries)
    best_numbers = [np.empty(0, np.int64)] * len(queries)
    first = 0
    for chunk in chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            products = queries @ np.asarray(chunk[start : start + _ROWS_AT_ONCE], np.float32).T
            for query, row in enumerate(products):
                if len(best_scores[query]) < k:
                    candidates = np.arange(len(row))
                else:
                    # Written so that NaN is a candidate and gets noticed. Equal scores lose to the
                    # documents before them.
                    candidates = np.flatnonzero(~(row <= best_scores[query][-1]))
                scores = np.concatenate([best_scores[query], row[candidates]])
                numbers = np.concatenate([best_numbers[query], first + candidates])
                order = np.argsort(-scores, kind="stable")[:k]
                best_scores[query] = scores[order]
                best_numbers[query] = numbers[order]
            first += products.shape[1]
    return np.stack(best_scores), np.stack(best_numbers)


def score_rankings(
    ranked: Sequence[Sequence[int]],
    relevant: Sequence[Mapping[int, float]],
    recall_at: Sequence[int],
) -> dict[str, float]:
    """Returns means over the queries; those without a relevant document are left out.

    Args:
      ranked: for each query documents, the best first, at least as many as count if so many exist.
      relevant: for each query document → grade; documents without a grade above 0 are not relevant.
      recall_at: numbers of documents.

    Returns:
      "ndcg_at_10" (grades are gains, discounted by log2(rank + 1)), "mrr_at_10", "map_at_100",
      "recall_at_<k>".

    Raises:
      ValueError: there is no query with a relevant document, or a document is ranked twice.
    """
    rows = []
    for documents, graded in zip(ranked, relevant, strict=True):
        if len(set(documents)) < len(documents):
            raise ValueError("a document is there twice in a ranking")
        grades = {document: grade for document, grade in graded.items() if grade > 0}
        if grades:
            rows.append(_score_ranking(documents, grades, recall_at))
    if not rows:
        raise ValueError("no query has a relevant document")
    means = {}
    for name in rows[0]:
        means[name] = float(np.mean([row[name] for row in rows]))
    return means


def _score_ranking(
    documents: Sequence[int], grades: Mapping[int, float], recall_at: Sequence[int]
) -> dict[str, float]:
    """Returns the scores of one query, with grades above 0."""
    # Unjudged documents have no gain, as in trec_eval.
    gains = np.array([grades.get(document, 0.0) for document in documents])
    is_relevant = gains > 0
    ideal = np.sort(list(grades.values()))[::-1]
    ranks = np.flatnonzero(is_relevant[:DEPTH])
    # Precision at the rank of each relevant document.
    in_depth = is_relevant[:MAP_DEPTH]
    precisions = (np.cumsum(in_depth) / np.arange(1, len(in_depth) + 1))[in_depth]
    row = {
        "ndcg_at_10": _discounted_gain(gains) / _discounted_gain(ideal),
        "mrr_at_10": 1.0 / (ranks[0] + 1) if len(ranks) else 0.0,
        "map_at_100": precisions.sum() / min(len(grades), MAP_DEPTH),
    }
    for k in recall_at:
        row[f"recall_at_{k}"] = is_relevant[:k].sum() / len(grades)
    return row


def _discounted_gain(gains: np.ndarray) -> float:
    """Returns DCG@10 of the gains in their order."""
    gains = gains[:DEPTH]
    return (gains / np.log2(np.arange(len(gains)) + 2)).sum()


def uniformity(vectors: np.ndarray) -> float:
    """Returns the uniformity of unit vectors, [N, D]: log of the mean of exp(-2 distance²) over
    pairs (arXiv 2005.10242).

    0 if all are alike; at least -4. Of many vectors a sample counts.
    """
    vectors = np.asarray(vectors, np.float64)
    if len(vectors) > _UNIFORMITY_SAMPLE:
        sample = np.linspace(0, len(vectors) - 1, _UNIFORMITY_SAMPLE).astype(int)
        vectors = vectors[sample]
    products = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    if not products.size:
        return 0.0
    # The squared distance of unit vectors is 2 - 2 times their product.
    return float(np.log(np.mean(np.exp(4.0 * products - 4.0))))
