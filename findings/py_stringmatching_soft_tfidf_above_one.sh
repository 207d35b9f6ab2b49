#!/usr/bin/env bash
# The soft TF/IDF of py_stringmatching is 1.59 for ["token", "tokens", "tokenn"] and ["token"], and .33 the other way.
#
# Guess before the run: soft TF/IDF (Cohen 2003) is a similarity from 0 to 1, and 1 for equal texts alone.
# Seen: py_stringmatching 0.4.7. Each word of the first text is paired with the most similar word of the second, however
# often that has been taken, and the product is divided by the norms as if it were paired once: three spellings of a
# word against the word are at 1.59, above 1, the score of two equal texts. With the texts exchanged it is .33. Sorted
# by it, texts that repeat a word in several forms are nearer to a text than its own copy. With a corpus it is the same,
# and what is not in the corpus is left out of both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    py_stringmatching==0.4.7 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from py_stringmatching import Jaro, SoftTfIdf

corpus = [["model", "layer"], ["models", "token"], ["layer", "token"], ["layer", "norm"]] * 5
measures = {"no corpus": None, "a corpus": corpus}
words = []
for name, texts in measures.items():
    measure = SoftTfIdf(texts, sim_func=Jaro().get_raw_score, threshold=0.8)
    for one, other in (
        (["token", "tokens", "tokenn"], ["token"]),
        (["model", "models", "layer"], ["models", "layer"]),
        (["models", "layer"], ["models", "layer"]),
    ):
        if texts and "tokenn" in one:
            continue
        both = (measure.get_raw_score(one, other), measure.get_raw_score(other, one))
        words.append(f"{name} {' '.join(one)}/{' '.join(other)} {both[0]:.2f} and {both[1]:.2f}")
version = importlib.metadata.version("py_stringmatching")
print(f"py_stringmatching {version}, in both orders: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "py_stringmatching 0.4.7, in both orders: no corpus token tokens tokenn/token 1.59 and 0.33, no corpus \
model models layer/models layer 1.12 and 0.58, no corpus models layer/models layer 1.00 and 1.00, a corpus model model\
s layer/models layer 1.34 and 0.73, a corpus models layer/models layer 1.00 and 1.00"
