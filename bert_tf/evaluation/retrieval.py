"""Exact search among vectors, and the scores of rankings, in numpy.

Input: vectors, or the ranks of documents. Output: the best documents; recall@k, MRR@10, nDCG@10,
MAP@100; how spread vectors are.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

# Documents of a ranking that count.
DEPTH, MAP_DEPTH = 10, 100
RANKING_METRICS = ("ndcg_at_10", "mrr_at_10", "map_at_100")
# Documents whose scores are in memory together.
_ROWS_AT_ONCE = 1 << 12
_MOST_SPREAD = 2000


def search(
    queries: np.ndarray, chunks: Iterable[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k documents with the highest products for each query, the best first; of equal ones the
    first.

    Args:
      queries: float [Q, D], some hundreds: the products with 4,096 documents are in memory.
      chunks: of the documents, float [n, D] each, N in all.
      k: documents, as far as there are so many.

    Returns:
      scores float32 [Q, min(k, N)] and numbers of documents int64 of the same shape.
    """
    queries, first = np.asarray(queries, np.float32), 0
    best = [(np.empty(0, np.float32), np.empty(0, np.int64))] * len(queries)
    for chunk in chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            products = queries @ np.asarray(chunk[start : start + _ROWS_AT_ONCE], np.float32).T
            for number, ((scores, numbers), row) in enumerate(zip(best, products, strict=True)):
                # Of equal ones those before stand first. What is not a number has a place, so that
                # it is seen.
                candidates = (
                    np.flatnonzero(~(row <= scores[-1]))
                    if len(scores) == k
                    else np.arange(len(row))
                )
                scores, numbers = (
                    np.concatenate([scores, row[candidates]]),
                    np.concatenate([numbers, first + candidates]),
                )
                order = np.argsort(-scores, kind="stable")[:k]
                best[number] = scores[order], numbers[order]
            first += products.shape[1]
    scores, numbers = zip(*best, strict=True)
    return np.stack(scores), np.stack(numbers)


def score_rankings(
    ranked: Sequence[Sequence[int]],
    relevant: Sequence[Mapping[int, float]],
    recall_at: Sequence[int],
) -> dict[str, float]:
    """Means over the queries; those without a relevant document are left out.

    Args:
      ranked: for each query documents, the best first, at least as many as count where there are so
        many.
      relevant: for each query document → grade; what is not there, or not above 0, is not relevant.
      recall_at: numbers of documents.

    Returns:
      "ndcg_at_10" (grades are gains, discounted by log2(rank + 1)), "mrr_at_10", "map_at_100",
      "recall_at_<k>".

    Raises:
      ValueError: there is no query with a relevant document, or a document is ranked twice.
    """
    if any(len(set(documents)) < len(documents) for documents in ranked):
        raise ValueError("a document is there twice in a ranking")
    discounts, rows = np.log2(np.arange(DEPTH) + 2), []
    for documents, graded in zip(ranked, relevant, strict=True):
        grades = {document: grade for document, grade in graded.items() if grade > 0}
        if not grades:
            continue
        gains = np.array([grades.get(document, 0.0) for document in documents])
        hits = gains > 0
        ideal = np.sort(list(grades.values()))[::-1][:DEPTH]
        found = np.cumsum(hits[:MAP_DEPTH])
        ranks = np.flatnonzero(hits[:DEPTH])
        precisions = (found / np.arange(1, len(found) + 1))[hits[:MAP_DEPTH]]
        gain, best_gain = ((one / discounts[: len(one)]).sum() for one in (gains[:DEPTH], ideal))
        rows.append(
            {
                "ndcg_at_10": gain / best_gain,
                "mrr_at_10": 1.0 / (ranks[0] + 1) if len(ranks) else 0.0,
                "map_at_100": precisions.sum() / min(len(grades), MAP_DEPTH),
                **{f"recall_at_{k}": hits[:k].sum() / len(grades) for k in recall_at},
            }
        )
    if not rows:
        raise ValueError("no query has a relevant document")
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def uniformity(vectors: np.ndarray) -> float:
    """How evenly unit vectors, [N, D], are spread: log of the mean of exp(-2 distance²) over pairs
    (arXiv 2005.10242).

    0 where all are alike; -4 at the least. Of many vectors a sample counts.
    """
    vectors = np.asarray(vectors, np.float64)
    if len(vectors) > _MOST_SPREAD:
        vectors = vectors[np.linspace(0, len(vectors) - 1, _MOST_SPREAD).astype(int)]
    products = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    return float(np.log(np.mean(np.exp(4.0 * products - 4.0)))) if products.size else 0.0
