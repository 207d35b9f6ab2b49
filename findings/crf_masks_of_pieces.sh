#!/usr/bin/env bash
# A CRF over a BERT's first pieces: masks with gaps make probabilities of PyTorch's CRFs add up to .54 or 1.17.
#
# Guess before the run: a mask of the tokens that have labels, as it is for a BERT whose further pieces of words are
# ignored, leaves these out: the probabilities of all label sequences add up to 1, and the best sequence is that of a
# search over all. Both packages ask for a mask of the length of the text, and check, at most, that it begins with 1.
# Seen: pytorch-crf 0.7.2, TorchCRF 1.1.0. Without gaps all is right. With a gap the score of the right labels has the
# transitions to and from whatever label stands at the ignored piece, the sum over all sequences has not, and the end
# is taken from another token, so that training raises something else than a probability. Of 200 texts the decoded
# labels are the best ones for 120 and 77, with two gaps for 100 and 83: the way back leads through ignored tokens.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-crf==0.7.2 torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    TorchCRF==1.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import torch
import torchcrf
import TorchCRF

torch.set_grad_enabled(False)
torch.set_num_threads(1)
torch.manual_seed(0)
labels = 3

def tried(mask, texts=200):
    kept = [place for place, one in enumerate(mask) if one]
    mask = torch.tensor([mask], dtype=torch.bool)
    paths = torch.tensor(list(itertools.product(range(labels), repeat=len(kept))))
    best = [0, 0]
    sums = []
    for _ in range(texts):
        scores = torch.randn(1, mask.shape[1], labels)
        first = torchcrf.CRF(labels, batch_first=True)
        second = TorchCRF.CRF(labels, use_gpu=False)
        for own, other in (
            (first.start_transitions, second.start_trans),
            (first.transitions, second.trans_matrix),
            (first.end_transitions, second.end_trans),
        ):
            own.copy_(torch.randn(own.shape))
            other.copy_(own)
        right = first.start_transitions[paths[:, 0]] + first.end_transitions[paths[:, -1]]
        right = right + scores[0, kept, paths].sum(-1) + first.transitions[paths[:, :-1], paths[:, 1:]].sum(-1)
        right = paths[right.argmax()].tolist()
        decoded = first.decode(scores, mask)[0], second.viterbi_decode(scores, mask)[0]
        best = [count + (path == right) for count, path in zip(best, decoded, strict=True)]
        if not sums:
            tags = torch.zeros(len(paths), mask.shape[1], dtype=torch.long)
            tags[:, kept] = paths
            rows = scores.expand(len(paths), -1, -1), tags, mask.expand(len(paths), -1)
            sums = [first(*rows, reduction="none").exp().sum(), second(*rows).exp().sum()]
    return "sums {:.2f} {:.2f} best {} {}".format(*sums, *best)


versions = [importlib.metadata.version(name) for name in ("pytorch-crf", "TorchCRF")]
print(
    "pytorch-crf {} TorchCRF {}, of 200:".format(*versions),
    f"padding {tried([1, 1, 1, 1, 0])}; a gap {tried([1, 1, 0, 1, 1])}; two {tried([1, 0, 1, 0, 1])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-crf 0.7.2 TorchCRF 1.1.0, of 200: padding sums 1.00 1.00 best 200 200; a gap sums 0.54 0.86\
 best 120 77; two sums 1.17 1.13 best 100 83"
