#!/usr/bin/env bash
# `score(query, document)` of the package rerankers gives a BERT each text alone, and two labels are ranked by "no".
#
# Guess before the run: `score` returns the number that `rank` has for the same pair, a float as it says; and a model of
# two labels, as monoBERT, ranks by the second one, or is refused.
# Seen: rerankers 0.10.0 with transformers 5.23.0. `rank` of one label is right. `score` hands both texts to the
# tokenizer as a batch, so that an array of the scores of the query without document and the document without query
# comes back. Of two labels a document's score is a list, and lists are compared by their first number, which is that
# of "not relevant": the best document is the last. Models with "monobert" in their path are an exception.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    "rerankers[transformers]==0.10.0" transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from rerankers import Reranker
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
tokenizer = BertTokenizer(vocab={token: id for id, token in enumerate(tokens)}, model_max_length=64)
query, documents = "a b", ["c d", "e f g h i", "j"]


def load(labels):
    """Returns the re-ranker of the library, and a function with the logits of texts."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
        num_labels=labels,
    )
    model = BertForSequenceClassification(config).eval()
    model.save_pretrained(f"{folder}/{labels}")
    tokenizer.save_pretrained(f"{folder}/{labels}")

    def logits(*texts):
        with torch.no_grad():
            return model(**tokenizer(*texts, return_tensors="pt")).logits[0]

    return Reranker(f"{folder}/{labels}", model_type="cross-encoder", device="cpu", verbose=0), logits


ranker, logits = load(1)
right = logits(query, documents[0]).item()
ranked = {one.document.doc_id: one.score for one in ranker.rank(query, documents).results}
found = ranker.score(query, documents[0])
assert abs(ranked[0] - right) < 1e-4
assert abs(found[0] - logits(query).item()) < 1e-4
assert abs(found[1] - logits(documents[0]).item()) < 1e-4
ranker, logits = load(2)
odds = [(logits(query, document)[1] - logits(query, document)[0]).item() for document in documents]
best = sorted(range(3), key=lambda number: -odds[number])
order = [one.document.doc_id for one in ranker.rank(query, documents).results]
print(
    f"rerankers {importlib.metadata.version('rerankers')}: a pair has {right:.2f},",
    f"score gives {' and '.join(f'{score:.2f}' for score in found)};",
    f"best first {' '.join(map(str, best))}, of two labels ranked {' '.join(map(str, order))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rerankers 0.10.0: a pair has -0.85, score gives 0.05 and 0.12;\
 best first 1 0 2, of two labels ranked 2 0 1"
