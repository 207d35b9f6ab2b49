#!/usr/bin/env bash
# A text that is read backward has a BLEU of .94 in bleu-torch, where SacreBLEU has .04: its n-grams are single tokens.
#
# Guess before the run: DifferentiableBLEUModule, given token ids, is BLEU with n-grams up to four: near 0 for the
# reference in reverse or shuffled, which share no pair of tokens with it.
# Seen: bleu-torch 1.0.0 with torch 2.13.0, sacrebleu 2.6.0. An n-gram is a row of one-hot vectors, but rows are added
# up over the text before they are compared, so that what is counted is each token at the first to fourth place of any
# n-gram: all but those at the ends. Reversed .94, shuffled .91 (.04 both), and .81 for .48 where four of 20 tokens are
# wrong. A loss of one minus it teaches words without their order.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 sacrebleu==2.6.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bleu-torch==1.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from bleu_torch import DifferentiableBLEUModule
from sacrebleu.metrics import BLEU

random = torch.Generator().manual_seed(0)
reference = torch.randperm(50, generator=random)[:20]
module, right = DifferentiableBLEUModule(vocab_size=50).eval(), BLEU(tokenize="none")
texts = {
    "the same": reference,
    "reversed": reference.flip(0),
    "shuffled": reference[torch.randperm(20, generator=random)],
    "halves swapped": reference.roll(10),
    "four words wrong": torch.where(torch.arange(20) % 5 == 0, (reference + 1) % 50, reference),
}
parts = []
for name, text in texts.items():
    lines = [" ".join(map(str, ids.tolist())) for ids in (text, reference)]
    parts.append(
        f"{name} {module(text, [reference]).item():.2f} {right.corpus_score(lines[:1], [lines[1:]]).score / 100:.2f}"
    )
print(f"bleu-torch {importlib.metadata.version('bleu-torch')} and SacreBLEU: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bleu-torch 1.0.0 and SacreBLEU: the same 1.00 1.00; reversed 0.94 0.04; shuffled 0.91 0.04; halves\
 swapped 0.91 0.91; four words wrong 0.81 0.48"
