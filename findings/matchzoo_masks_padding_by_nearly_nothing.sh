#!/usr/bin/env bash
# matchzoo masks padding by a score of -.0000001: ESIM and MatchLSTM attend to padding as to a word that matches by 0.
#
# Guess before the run: BidirectionalAttention and MatchModule of matchzoo-py give words the same vectors whether the
# other text is padded or not.
# Seen: matchzoo-py 1.1.1. Scores of padding are filled with -1e-7, where -1e7 was meant: a score of nearly 0, not one
# of nearly minus infinity. Of 6 words beside 30 places of padding the attended vectors are .34 of their length away
# from what they are without padding, and .89 if vectors are small; with a mask of minus infinity they are equal. What
# is in the padding counts, too. So a pair's score depends on the longest text of its batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pandas==3.1.1 hyperopt==0.2.7 dill==0.4.0 nltk==3.9.2 boto3==1.44.8 sacremoses==0.2.0 \
    sentencepiece==0.2.3 regex==2026.11.19 requests==2.34.2 six==1.17.0 tabulate==0.10.0 setuptools==79.0.1 \
    tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    matchzoo-py==1.1.1 pytorch-transformers==1.2.0
cat > "$folder/program.py" <<'PYTHON'
import collections
import collections.abc
import os
import sys

import torch

os.environ["HOME"] = sys.argv[1]
collections.Iterable = collections.abc.Iterable  # matchzoo wants it where Python 3.9 had it
import matchzoo  # noqa: E402
from matchzoo.modules.attention import BidirectionalAttention, MatchModule  # noqa: E402

torch.manual_seed(0)
parts = []
for scale in (1.0, 0.3):
    first, second, padding = (torch.randn(200, n, 16) * scale for n in (6, 6, 30))
    padded = torch.cat([second, padding], 1)
    none, mask = torch.zeros(200, 6, dtype=torch.bool), (torch.arange(36) >= 6).expand(200, -1)
    attention, match = BidirectionalAttention(), MatchModule(16)
    with torch.no_grad():
        pairs = [attention(first, none, second, none)[0], attention(first, none, padded, mask)[0]]
        pairs += [match(first, second, none), match(first, padded, mask)]
        exact = (first @ padded.mT).masked_fill(mask[:, None], -torch.inf).softmax(-1) @ padded
    pairs += [pairs[0], exact]
    errors = [f"{(b - a).norm() / a.norm():.2f}" for a, b in zip(pairs[::2], pairs[1::2])]
    parts.append(f"vectors of size {scale}: {errors[0]}, MatchModule {errors[1]}, with minus infinity {errors[2]}")
print(f"matchzoo-py {matchzoo.__version__}, distance from no padding: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "matchzoo-py 1.1.1, distance from no padding: vectors of size 1.0: 0.34, MatchModule 0.34, with minus\
 infinity 0.00; vectors of size 0.3: 0.89, MatchModule 0.30, with minus infinity 0.00"
