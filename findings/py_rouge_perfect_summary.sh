#!/usr/bin/env bash
# A perfect summary has a ROUGE-W recall of .62 in py-rouge, and its ROUGE-L depends on the weight of ROUGE-W.
#
# Guess before the run: Rouge(metrics=["rouge-l", "rouge-w"], weight_factor=1.2), as its page shows it, has a ROUGE-L
# that is rouge-score's, and a ROUGE-W of 1 for a copy of the reference, by Lin's definition (2004).
# Seen: py-rouge 1.1, rouge-score 0.1.2. The reference's length is raised to the weight twice, so that a copy has a
# recall of .62, and .09 for a weight of 2: the longer a text, the lower. And the root that belongs to ROUGE-W is taken
# of ROUGE-L as well: .588 becomes .647 with the weight 1.2 and .776 with 2. (Words are split at spaces here, since
# NLTK's data for its tokenizer is no package.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nltk==3.10.4 setuptools==80.8.0 rouge-score==0.1.2 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    py-rouge==1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import rouge
from rouge_score.rouge_scorer import RougeScorer

rouge.Rouge.tokenize_text = staticmethod(lambda text, language="english": text.split())
reference = "police killed the gunman who had fled from the city yesterday"
other = "police killed the man who fled"
right = RougeScorer(["rougeL"]).score(reference, other)["rougeL"].fmeasure
parts = []
for weight in (1.0, 1.2, 2.0):
    scorer = rouge.Rouge(metrics=["rouge-l", "rouge-w"], weight_factor=weight, limit_length=False)
    copy, summary = scorer.get_scores([reference], [reference]), scorer.get_scores([other], [reference])
    parts.append(f"weight {weight} copy W {copy['rouge-w']['r']:.2f}, summary L {summary['rouge-l']['f']:.3f}")
print(f"py-rouge {importlib.metadata.version('py-rouge')}: {'; '.join(parts)}; rouge-score L {right:.3f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "py-rouge 1.1: weight 1.0 copy W 1.00, summary L 0.588; weight 1.2 copy W 0.62, summary L 0.647; weight\
 2.0 copy W 0.09, summary L 0.776; rouge-score L 0.588"
