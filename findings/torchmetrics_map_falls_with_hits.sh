#!/usr/bin/env bash
# `RetrievalMAP(top_k=5)` of TorchMetrics falls when a ranking finds a second relevant document, and is 1.0 for one of ten.
#
# Guess before the run: it is the MAP@5 of trec_eval (`map_cut_5`), a sum of precisions over the number of relevant
# documents, 10 here, or as sentence-transformers and others have it over min(10, 5): it grows with every hit.
# Seen: TorchMetrics 1.9.0, pytrec_eval 0.5.11. The sum is divided by the number of relevant documents among the five:
# a single hit at rank 1 is the best possible ranking, and a second hit at rank 3 makes it worse. So a model that
# finds less may be selected. Without `top_k` both agree. The nDCG of TorchMetrics at 5 is that of trec_eval.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchmetrics==1.9.0 pytrec-eval-terrier==0.5.11 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import pytrec_eval
import torch
import torchmetrics
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG

DOCUMENTS = 20
MEASURES = ("map_cut.5", "map", "ndcg_cut.5")


def score(hits):
    """Returns scores of a query whose ten relevant documents are at the ranks `hits` and at the end."""
    ranks = [*hits, *range(DOCUMENTS - 10 + len(hits) + 1, DOCUMENTS + 1)]
    relevant = torch.tensor([int(rank in ranks) for rank in range(1, DOCUMENTS + 1)])
    scores = torch.arange(DOCUMENTS, 0, -1).float()
    queries = torch.zeros(DOCUMENTS, dtype=torch.long)
    theirs = [
        metric(scores, relevant, indexes=queries).item()
        for metric in (RetrievalMAP(top_k=5), RetrievalMAP(), RetrievalNormalizedDCG(top_k=5))
    ]
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": {f"d{number:02}": int(grade) for number, grade in enumerate(relevant)}}, set(MEASURES)
    )
    trec = evaluator.evaluate({"q": {f"d{number:02}": float(one) for number, one in enumerate(scores)}})["q"]
    names = ("map_cut_5", "map", "ndcg_cut_5")
    return ", ".join(f"{one:.3f} {trec[name]:.3f}" for one, name in zip(theirs, names, strict=True))


print(f"torchmetrics {torchmetrics.__version__}, trec_eval: hit at 1: {score([1])}; hits at 1 and 3: {score([1, 3])}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchmetrics 1.9.0, trec_eval: hit at 1: 1.000 0.100, 0.422 0.422, 0.339 0.339;\
 hits at 1 and 3: 0.833 0.167, 0.472 0.472, 0.509 0.509"
