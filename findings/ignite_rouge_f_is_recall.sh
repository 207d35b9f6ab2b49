#!/usr/bin/env bash
# The ROUGE F of PyTorch Ignite is the recall unless `alpha` is set: a summary that is ten times too long has 1.00.
#
# Guess before the run: `Rouge-1-F` and `Rouge-L-F` of the defaults are F1, as in rouge-score and the papers that report
# one number: 2PR / (P + R), .18 for a precision of .10 and a recall of 1.
# Seen: PyTorch Ignite 0.5.5, rouge-score 0.1.2. Both are 1.00, the recall to the last digit, so that the longest
# summary is best; with alpha=.5 they are .18. The page says that recall is "more important" as alpha goes to 0, and 0
# is the default: there P R / (P) is what is left of the formula. A text that lacks one word of 20 and has nothing else
# gets .95, less than the text that has 54 words too many.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-ignite==0.5.5 torch==2.13.0 numpy==2.4.6 rouge-score==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from ignite.metrics import RougeL, RougeN
from rouge_score import rouge_scorer

reference = "the cat sat on the mat"
summary = reference + " and so on and on again" * 9
parts = []
for metric in (RougeN(ngram=1), RougeL(), RougeN(ngram=1, alpha=0.5)):
    metric.update(([summary.split()], [[reference.split()]]))
    scores = {name.rsplit("-", 1)[1]: value for name, value in metric.compute().items()}
    parts.append("P {P:.2f} R {R:.2f} F {F:.2f}".format(**scores))
right = rouge_scorer.RougeScorer(["rouge1"]).score(reference, summary)["rouge1"].fmeasure
version = importlib.metadata.version("pytorch-ignite")
print(
    f"pytorch-ignite {version}: ROUGE-1 {parts[0]}, ROUGE-L {parts[1]}, ROUGE-1 with alpha .5 {parts[2]};",
    f"rouge-score's F {right:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-ignite 0.5.5: ROUGE-1 P 0.10 R 1.00 F 1.00, ROUGE-L P 0.10 R 1.00 F 1.00, ROUGE-1 with alpha .\
5 P 0.10 R 1.00 F 0.18; rouge-score's F 0.18"
