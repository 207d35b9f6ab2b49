#!/usr/bin/env bash
# Twelve losses of torchium, RankNet and ArcFace among them, are 0 for any input, and its BLEU loss has no gradient.
#
# Guess before the run: Losses that torchium lists ("200+ loss functions") are what their names say: a ranking that is
# turned round has a greater RankNet and NDCG loss than the right one, and a step on a BLEU loss moves the model.
# Seen: torchium 0.1.5. Twelve of its classes return a constant 0.0: five ranking losses, four robust regressions and
# three of angles. Added to another loss, they change nothing, and no warning comes. The ROUGE, METEOR and BERTScore
# losses are the class of the perplexity. The BLEU loss compares sets of tokens, without n-grams, so that a text read
# backward has a loss of 0, and its result is a new leaf: `backward()` succeeds, and no weight of the model gets a
# gradient. The GloVe and fastText losses are word2vec's.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchium==0.1.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torchium import losses

names = ["RankNetLoss", "LambdaRankLoss", "NDCGLoss", "MRRLoss", "MAPLoss", "TukeyLoss", "CauchyLoss", "WelschLoss"]
names += ["FairLoss", "AngularLoss", "ArcFaceLoss", "CosFaceLoss"]
scores, labels = torch.tensor([[9.0, 0.0, -9.0]]), torch.tensor([[2.0, 1.0, 0.0]])
zeros = [name for name in names if not any(getattr(losses, name)()(x, labels) for x in (scores, -scores, 1e6 * scores))]
same = [name for name in dir(losses) if getattr(losses, name) is losses.PerplexityLoss]
torch.manual_seed(0)
logits = torch.randn(1, 5, 100, requires_grad=True)
tokens = torch.tensor([[1, 2, 3, 4, 5]])
loss = losses.BLEULoss()(logits.argmax(-1), tokens)
loss.backward()
backward = losses.BLEULoss()(tokens.flip(1), tokens)
print(
    f"torchium {importlib.metadata.version('torchium')}: {len(zeros)} of {len(names)} are 0;"
    f" of the perplexity: {', '.join(same)};"
    f" BLEU loss {loss:.2f} with a gradient {logits.grad}, of a text backward {backward:.2f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5: 12 of 12 are 0; of the perplexity: BERTScoreLoss, METEORLoss, PerplexityLoss,\
 ROUGELoss; BLEU loss 1.00 with a gradient None, of a text backward 0.00"
