#!/usr/bin/env bash
# skl2onnx's text vectorizers don't see words with letters beyond ASCII: a Russian text is empty, and "café" is missing.
#
# Guess before the run: `CountVectorizer` and `TfidfVectorizer` cut texts by the pattern `\b\w\w+\b` in ONNX as in
# Python, where `\w` is any letter, or the converter says that it can't.
# Seen: skl2onnx 1.20.0, onnxruntime 1.32.0. The pattern is a search of RE2, whose `\w` and `\b` know ASCII only: of
# "кошка сидит на ковре" no word is found, of "naïve café à Paris" one of three, of "Straße und Haus" two. Neither the
# converter nor the runtime warns. With a pattern of what is no space all words are found.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn.feature_extraction.text import CountVectorizer


def both(model, texts):
    """The vectors of scikit-learn and of the ONNX model."""
    onnx_model = to_onnx(model, initial_types=[("texts", StringTensorType([None, 1]))])
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
    there = session.run(None, {"texts": np.array(texts, dtype=object)[:, None]})[0]
    return model.transform(texts).toarray(), there


texts = ["кошка сидит на ковре", "naïve café à Paris", "Straße und Haus", "the cat sat"]
words = []
for name, options in (("default", {}), ("token_pattern of no spaces", {"token_pattern": r"\S+"})):
    model = CountVectorizer(lowercase=False, **options).fit(texts)
    counts = [" ".join(str(int(count)) for count in vectors.sum(1)) for vectors in both(model, texts)]
    words.append(f"{name} {counts[0]} and {counts[1]}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}, words found in four texts: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, words found in four texts: default 4 3 3 3 and 0 1 2 3; token_pattern of no spaces 4\
 4 3 3 and 4 4 3 3"
