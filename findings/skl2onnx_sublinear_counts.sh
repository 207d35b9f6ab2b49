#!/usr/bin/env bash
# skl2onnx computes log(1 + n) for `sublinear_tf=True`, where scikit-learn has 1 + log(n): one word weighs .69, not 1.
#
# Guess before the run: With `sublinear_tf=True` a word that occurs n times counts 1 + log(n), in scikit-learn and in
# the ONNX model.
# Seen: skl2onnx 1.20.0. Of 1, 2 and 4 occurrences scikit-learn has 1.00, 1.69 and 2.39, and the ONNX model .69, 1.10
# and 1.61. With cosine normalization, too, the proportions of words differ from those that the classifier was trained
# with. Without the option both are right.
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
from sklearn.feature_extraction.text import TfidfVectorizer


def both(model, texts):
    """The vectors of scikit-learn and of the ONNX model."""
    onnx_model = to_onnx(model, initial_types=[("texts", StringTensorType([None, 1]))])
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
    there = session.run(None, {"texts": np.array(texts, dtype=object)[:, None]})[0]
    return model.transform(texts).toarray(), there


texts = ["cat", "cat cat", "cat cat cat cat", "dog cat cat"]
words = []
for options in ({"sublinear_tf": True}, {}):
    model = TfidfVectorizer(lowercase=False, use_idf=False, norm=None, **options).fit(texts)
    vectors = [" ".join(f"{value:.2f}" for value in array[:, 0]) for array in both(model, texts)]
    words.append(f"{options} scikit-learn {vectors[0]}, ONNX {vectors[1]}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}, weights of 1, 2, 4 and 2 cats: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, weights of 1, 2, 4 and 2 cats: {'sublinear_tf': True} scikit-learn 1.00 1.69 2.39\
 1.69, ONNX 0.69 1.10 1.61 1.10; {} scikit-learn 1.00 2.00 4.00 2.00, ONNX 1.00 2.00 4.00 2.00"
