#!/usr/bin/env bash
# With stemming, SumEval's ROUGE of a summary that copies its reference is .72, for it stems the reference alone.
#
# Guess before the run: ROUGE with stemming is at least as great as without it, 1 for a copy, and symmetric between two
# texts (F1), as in ROUGE-1.5.5 (`-m` stems both sides) and rouge-score.
# Seen: sumeval 0.2.2. Only the reference's words are replaced by their stems ("children" by "child", "were" by "be"),
# the summary's stay: a copy has ROUGE-1 .72 and ROUGE-2 .53, and summaries that use other inflections gain only if
# they happen to hold the stems themselves.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    sumeval==0.2.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from sumeval.metrics.rouge import RougeCalculator

pairs = {
    "a copy": (
        "the children were running through the streets of the old houses and crying that their brothers were leaving",
    )
    * 2,
    "its words inflected": (
        "the child is running through the streets of the old houses, crying that his brothers were leaving",
        "the children ran through a street of old houses and cried that their brother left",
    ),
}
pairs["the same turned round"] = pairs["its words inflected"][::-1]
found = []
for name, (summary, reference) in pairs.items():
    scores = []
    for stemming in (False, True):
        rouge = RougeCalculator(stopwords=False, stemming=stemming)
        scores += [rouge.rouge_1(summary, reference), rouge.rouge_2(summary, reference)]
        scores += [rouge.rouge_l(summary, reference)]
    found.append(name + " " + " ".join(f"{score:.2f}" for score in scores))
print(
    f"sumeval {importlib.metadata.version('sumeval')}, ROUGE-1, -2 and -L without stemming and with it:",
    "; ".join(found),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sumeval 0.2.2, ROUGE-1, -2 and -L without stemming and with it: a copy 1.00 1.00 1.00 0.72 0.53 0.72;\
 its words inflected 0.38 0.07 0.38 0.44 0.13 0.44; the same turned round 0.38 0.07 0.38 0.38 0.07 0.38"
