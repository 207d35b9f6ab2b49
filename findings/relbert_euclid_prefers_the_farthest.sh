#!/usr/bin/env bash
# RelBERT's analogy accuracy by Euclidean distance counts the farthest pair as its answer: 0 if the answer is the stem.
#
# Guess before the run: `evaluate_analogy` chooses the pair of words whose embedding is most like the stem's, the
# greatest cosine or the least Euclidean distance; a choice that is the stem itself is always found. `average` averages
# the tokens' states, as its documentation says.
# Seen: relbert 2.0.2 with torch 2.13.0 and transformers 4.46.3, 50 questions of four pairs and a small random BERT.
# The greatest number is the answer for both functions, so that `euclidean_distance` takes the least like pair:
# accuracy 0.00 where cosine has 1.00. The average is a sum: longer prompts and words in more pieces have longer
# embeddings, which adds to the distances.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 datasets==3.6.0 scikit-learn==1.9.1 \
    pandas==3.1.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    relbert==2.0.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import random
import sys

import torch
from datasets import Dataset
from relbert import RelBERT, evaluate_analogy
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(0)
random.seed(0)
folder = pathlib.Path(sys.argv[1])
words = [f"w{number}" for number in range(200)]
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "is", "of", *words]) + "\n")
BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=207, initializer_range=0.3, **sizes)).save_pretrained(folder)
rows = []
for _ in range(50):
    pairs = [random.sample(words, 2) for _ in range(4)]
    answer = random.randrange(4)
    rows.append({"stem": pairs[answer], "choice": pairs, "answer": answer})
options = dict(max_length=16, template="<subj> is <mask> of <obj>", aggregation_mode="average")
found = []
for name in ("cosine_similarity", "euclidean_distance"):
    data = Dataset.from_list(rows)
    result = evaluate_analogy(str(folder), distance_function=name, hf_dataset=data, hf_dataset_name="pairs", **options)
    found.append(f"{name} {result['pairs/validation']:.2f}")
model = RelBERT(str(folder), **options)
model.eval()
vector = torch.tensor(model.get_embedding(words[:2]))
encoding = model.tokenizer("w0 is [MASK] of w1", return_tensors="pt")
with torch.no_grad():
    mean = model.model(**encoding).last_hidden_state[0].mean(dim=0)
print(
    f"RelBERT {importlib.metadata.version('relbert')}: accuracy of 50 analogies whose answer is the stem itself, by",
    ", ".join(found) + "; its average embedding is the mean of the",
    f"{encoding['input_ids'].shape[1]} tokens times {(vector / mean).median():.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "RelBERT 2.0.2: accuracy of 50 analogies whose answer is the stem itself, by cosine_similarity 1.00,\
 euclidean_distance 0.00; its average embedding is the mean of the 7 tokens times 7.00"
