#!/usr/bin/env bash
# Where a word occurs twice in a text, minicons' `cloze` scores other words than those asked for in the texts after it.
#
# Guess before the run: `MaskedLMScorer.cloze([(text, word), …])` returns for each pair the log probability of its
# word, and of a word that is there twice that of the first or the last one.
# Seen: minicons 0.3.39 with transformers 4.57.6. It keeps a position for every occurrence and then takes the n-th
# position for the n-th text: after a text with two occurrences each text is scored at the place of the text before
# it. The number of scores is right, nothing is said; in a batch of texts without repeated words all are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    minicons==0.3.39 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from minicons.scorer import MaskedLMScorer
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(tokens))
tokenizer = BertTokenizerFast(f"{folder}/vocab.txt")
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
scorer = MaskedLMScorer(f"{folder}/model")


def score(text, place):
    """Returns the log probability of a token of a text."""
    ids = tokenizer(text, return_tensors="pt").input_ids
    masked = ids.clone()
    masked[0, place] = tokenizer.mask_token_id
    with torch.no_grad():
        return torch.log_softmax(model(masked).logits[0, place], -1)[ids[0, place]].item()


def scored(pairs):
    """Returns the words whose scores the library returns."""
    words = []
    for (text, _), found in zip(pairs, scorer.cloze(pairs), strict=True):
        letters = text.split()
        near = [abs(score(text, place) - found) for place in range(1, len(letters) + 1)]
        assert min(near) < 1e-4
        words.append(letters[near.index(min(near))])
    return " ".join(words)


print(
    f"minicons {importlib.metadata.version('minicons')},",
    f"asked for b d l: {scored([('a b c', 'b'), ('d e f g', 'd'), ('h i j k l', 'l')])};",
    f"a text has b twice: {scored([('a b c b', 'b'), ('d e f g', 'd'), ('h i j k l', 'l')])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "minicons 0.3.39, asked for b d l: b d l; a text has b twice: b g h"
