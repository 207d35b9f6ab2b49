#!/usr/bin/env bash
# A text's hallucination score in Fortuna depends on its batch: padding counts as words, and .49 becomes .03.
#
# Guess before the run: `HallucinationMulticalibrator` scores a text by its inverse perplexity, .49 for a model that
# gives each of its words a probability of .49, in whatever batch the text is.
# Seen: aws-fortuna 0.2.0. It is .49 for a text of three words alone, and .03 for the same one beside a text of ten
# words: the mean is taken over all places of the longest text, and the model's probability of padding, .01 here, counts
# as that of words. The embeddings from which groups are made are means over padding, too, and questions are padded
# before the answers begin. The order of the texts, or `batch_size`, so changes the calibrated probabilities. A
# `scoring_fn` of one's own is given no mask.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scikit-learn==1.9.1 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    aws-fortuna==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types
from unittest.mock import MagicMock

# The scores alone, without the clustering, and the calibration that is based on JAX.
root = importlib.util.find_spec("fortuna").submodule_search_locations[0]
for name in ("fortuna", "fortuna.hallucination"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("fortuna").replace(".", "/")]
sys.modules.update({name: MagicMock() for name in ("fortuna.conformal", "transformers", "umap", "umap.umap_")})

import torch
from fortuna.hallucination.base import HallucinationMulticalibrator


class Encoding(dict):
    input_ids = property(lambda self: self["input_ids"])

    def to(self, device):
        return self


class Tokenizer:
    """Words are numbers; padding, on the right as a BERT's tokenizer has it, is 0."""

    pad_token = "0"

    def __call__(self, texts, **options):
        rows = [[int(word) for word in text.split()] for text in texts]
        length = max(map(len, rows))
        ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        return Encoding(input_ids=ids, attention_mask=(ids > 0).long())


class Model:
    """Gives 1 and 2 a probability of .49 each, the padding .01 and 3 the rest, after every word."""

    device = "cpu"

    def __call__(self, input_ids, attention_mask):
        logits = torch.tensor([0.01, 0.49, 0.49, 0.01]).log().expand(*input_ids.shape, 4)
        return types.SimpleNamespace(logits=logits)


calibrator = HallucinationMulticalibrator(Model(), Tokenizer())


def score(*texts):
    return calibrator._compute_scores_embeddings(list(texts), ["1"] * len(texts), 8)[0][0]


parts = [f"{words - 3} places of padding {score('1 2 1', ' '.join('1' * words)):.2f}" for words in (3, 4, 6, 10, 30)]
print(f"aws-fortuna {importlib.metadata.version('aws-fortuna')}, a text alone {score('1 2 1'):.2f}; {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aws-fortuna 0.2.0, a text alone 0.49; 0 places of padding 0.49, 1 places of padding 0.19, 3 places of\
 padding 0.07, 7 places of padding 0.03, 27 places of padding 0.01"
