#!/usr/bin/env bash
# The F-score of sumy with weight=2, which "favours precision", favours recall: 20 sentences for 5 are better than one.
#
# Guess before the run: as its documentation says, the weight of f_score favours precision above 1 and recall below 1.
# Seen: sumy 0.13.0, scikit-learn 1.9.1. The formula is the usual one of F-beta, where a weight above 1 favours recall,
# and the documentation says the opposite. With weight=2 an extract of one right sentence of five (precision 1, recall
# .2) has .24, and one of 20 sentences with all five among them (precision .25, recall 1) has .62; with weight=.5 it is
# .56 and .29. scikit-learn's fbeta_score of the same beta has the same numbers, and says that they favour recall. Who
# asks for precision chooses by recall.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sumy==0.13.0 scikit-learn==1.9.1 numpy==2.4.6 setuptools==80.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from sklearn.metrics import fbeta_score
from sumy.evaluation import f_score, precision, recall

sentences = [f"sentence {number}" for number in range(30)]
reference = sentences[:5]
extracts = {"one right sentence": sentences[:1], "all five and 15 others": sentences[:20]}
words = []
for name, extract in extracts.items():
    scores = []
    for weight in (0.5, 1.0, 2.0):
        other = fbeta_score([s in reference for s in sentences], [s in extract for s in sentences], beta=weight)
        assert abs(other - f_score(extract, reference, weight)) < 1e-9
        scores.append(f"{f_score(extract, reference, weight):.2f}")
    words.append(f"{name} {precision(extract, reference):.2f}, {recall(extract, reference):.2f}: {' '.join(scores)}")
says = " ".join(f_score.__doc__.split())
says = says[says.index("favours P") : says.index("If W")].strip()
version = importlib.metadata.version("sumy")
print(f"sumy {version}, precision, recall: f_score of weight .5, 1, 2: {', '.join(words)}; {says}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sumy 0.13.0, precision, recall: f_score of weight .5, 1, 2: one right sentence 1.00, 0.20: 0.56 0.33 0\
.24, all five and 15 others 0.25, 1.00: 0.29 0.40 0.62; favours P(E) metrics when W > 1 and favours R(E) metrics when \
W < 1."
