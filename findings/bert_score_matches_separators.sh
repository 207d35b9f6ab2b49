#!/usr/bin/env bash
# In bert_score a word may match the [CLS] or [SEP] of the other text; TorchMetrics' BERTScore has other numbers for it.
#
# Guess before the run: BERTScore matches the tokens of the two sentences, as in the paper, and the class BERTScore of
# TorchMetrics, which says that it follows bert_score, gives its precision and recall for one model and layer.
# Seen: bert_score 0.3.13, TorchMetrics 1.9.0, transformers 4.57.6. bert_score gives [CLS] and [SEP] a weight of zero,
# but leaves them among the candidates: a word that is most similar to the other text's [SEP] gets that similarity.
# TorchMetrics masks them on both sides. So the two agree on some rows and differ by 0.02 in others, with and without
# idf. A calculation by hand has the numbers of both, with and without the two marks among the candidates.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    bert-score==0.3.13 torchmetrics==1.9.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import bert_score
import torch
from torchmetrics.text.bert import BERTScore
from transformers import BertConfig, BertModel, BertTokenizer

folder = f"{sys.argv[1]}/model"
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(tokens), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    initializer_range=0.3,
)
model = BertModel(config).eval()
model.save_pretrained(folder)
path = pathlib.Path(folder, "vocab.txt")
path.write_text("\n".join(tokens) + "\n")
tokenizer = BertTokenizer(str(path))
tokenizer.save_pretrained(folder)
candidates = ["a b c d", "x y z a", "p q"]
references = ["a b e g", "x z", "p q a b c d e f g h"]


def by_hand(marks):
    """Returns precision and recall; `marks`: [CLS] and [SEP] are among the candidates of a word."""
    rows = []
    for texts in zip(candidates, references, strict=True):
        states = []
        for text in texts:
            with torch.no_grad():
                found = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            states.append(torch.nn.functional.normalize(found, dim=-1))
        inner = slice(1, -1)
        others = slice(None) if marks else inner
        similar = states[0] @ states[1].T
        rows.append((similar[inner, others].amax(1).mean(), similar[others, inner].amax(0).mean()))
    return torch.tensor(rows)


precision, recall, _ = bert_score.score(
    candidates, references, model_type=folder, num_layers=2, lang="en", device="cpu", batch_size=3
)
first = torch.stack([precision, recall], 1)
rows = []
for texts in zip(candidates, references, strict=True):  # TorchMetrics is asked for one pair at a time
    found = BERTScore(model_name_or_path=folder, num_layers=2, max_length=32)(*([text] for text in texts))
    rows.append(torch.stack([found["precision"], found["recall"]]).flatten())
second = torch.stack(rows)
with_marks, without = by_hand(True), by_hand(False)


def same(one, other):
    return "equal" if torch.allclose(one, other, atol=1e-4) else "other"


print(
    f"bert_score {importlib.metadata.version('bert_score')} {same(first, with_marks)} {same(first, without)},",
    f"torchmetrics {importlib.metadata.version('torchmetrics')} {same(second, with_marks)} {same(second, without)};",
    f"greatest difference {(first - second).abs().max():.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert_score 0.3.13 equal other, torchmetrics 1.9.0 other equal; greatest difference 0.02"
