#!/usr/bin/env bash
# The pseudo-perplexity of lmppl for a BERT is of other texts, where a word has several pieces: "##able" becomes "able".
#
# Guess before the run: `MaskedLM(…).get_perplexity(text)` is exp of the mean negative log probability of each token
# with that one token masked, as its documentation says.
# Seen: lmppl 0.3.2 with transformers 4.57.6. It makes a text of the tokens with [MASK] among them and splits that
# into tokens again: after a masked first piece the second one is a word of its own, another row of the embeddings,
# and may be split further: then rows differ in length, which is an error in a batch and none with batch_size=1. Texts
# of whole words are exact, so that texts with rare words can't be compared with others.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lmppl==0.3.2 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math
import sys

import lmppl
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

folder = sys.argv[1]
letters = [chr(97 + number) for number in range(26)]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{one}" for one in letters)]
tokens += ["read", "##able", "able", "un", "##read"]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(tokens))
tokenizer = BertTokenizerFast(f"{folder}/vocab.txt", model_max_length=32)
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=32,
    initializer_range=0.3,
)
model = BertForMaskedLM(config).eval()
model.save_pretrained(f"{folder}/model")
tokenizer.save_pretrained(f"{folder}/model")
library = lmppl.MaskedLM(f"{folder}/model")


def perplexity(text):
    ids = tokenizer(text, return_tensors="pt").input_ids[0]
    places = range(1, len(ids) - 1)
    rows = ids.repeat(len(places), 1)
    rows[range(len(places)), places] = tokenizer.mask_token_id
    with torch.no_grad():
        scores = torch.log_softmax(model(rows).logits[range(len(places)), places], -1)
    return math.exp(-scores[range(len(places)), ids[1:-1]].mean().item())


words = []
for text in ("a b c d", "a able b", "a readable b", "unreadable"):
    right, found = perplexity(text), library.get_perplexity(text, batch_size=1)
    same = math.isclose(right, found, rel_tol=1e-3)
    words.append(f"{' '.join(tokenizer.tokenize(text))} {'equal' if same else f'{found:.0f} for {right:.0f}'}")
print(f"lmppl {importlib.metadata.version('lmppl')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lmppl 0.3.2: a b c d equal; a able b equal; a read ##able b 186 for 199;\
 un ##read ##able 200 for 313"
