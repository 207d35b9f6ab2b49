#!/usr/bin/env bash
# Bigrams across a stop word or a single letter, as "cat mat" in "cat on mat", are not counted in skl2onnx's ONNX model.
#
# Guess before the run: scikit-learn takes stop words and words of one letter out before it makes bigrams, and the
# ONNX model has the same vectors.
# Seen: skl2onnx 1.20.0. In ONNX the words stay where they are, and a bigram is of neighbours: "cat mat" of "cat on
# mat" is not counted where "on" is a stop word, and "is dog" of "is a dog" never, for "a" has one letter. The
# vocabulary, which was learned in scikit-learn, has columns for them that are too small. Single words are right.
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


texts = ["cat on mat", "it is a dog", "cat mat", "dog, not cat"]
words = []
for name, options in (
    ("stop words", {"stop_words": ["on", "is"], "ngram_range": (1, 2)}),
    ("none", {"ngram_range": (1, 2)}),
    ("single words", {"stop_words": ["on", "is"]}),
):
    model = CountVectorizer(lowercase=False, **options).fit(texts)
    here, there = both(model, texts)
    lost = [word for word, place in sorted(model.vocabulary_.items()) if (here[:, place] > there[:, place]).any()]
    more = int((there > here).sum())
    words.append(f"{name}: {int(here.sum())} and {int(there.sum())}, lost {', '.join(lost) or 'none'}, added {more}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}, counts: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, counts: stop words: 14 and 12, lost cat mat, it dog, added 0; none: 18 and 17, lost\
 is dog, added 0; single words: 9 and 9, lost none, added 0"
