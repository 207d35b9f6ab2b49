#!/usr/bin/env bash
# One word of a reference of 100 words has a ROUGE-L of .99 in calibrax, and half of the words have less, .83.
#
# Guess before the run: `rouge_l` of calibrax, "longest common subsequence based F-measure", of the first ten of 100
# words is the harmonic mean of a precision of 1 and a recall of .1, so .18.
# Seen: calibrax 0.1.1. It sets beta to recall over precision, in each text anew, so that the smaller of the two is left
# out: what is better of precision and recall decides. One word has .99, ten .92, fifty .83 and all of them 1.00, and a
# text that repeats the reference in ten times as many words has .92. Summaries of one word win.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 jaxtyping==0.3.11 click==8.5.1 psutil==7.2.2 numpy==2.4.6 \
    scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    calibrax==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from calibrax.metrics.functional import rouge_l

reference = [f"word{number}" for number in range(100)]
parts = []
for number in (1, 10, 50, 90, 100):
    precision, recall = 1.0, number / 100
    harmonic = 2 * precision * recall / (precision + recall)
    parts.append(f"{number} of 100 words {rouge_l(reference[:number], reference):.2f} (F1 {harmonic:.2f})")
long = reference + ["other"] * 900
parts.append(f"all with 900 others {rouge_l(long, reference):.2f} (F1 {2 * 0.1 / 1.1:.2f})")
print(f"calibrax {importlib.metadata.version('calibrax')}, ROUGE-L: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calibrax 0.1.1, ROUGE-L: 1 of 100 words 0.99 (F1 0.02), 10 of 100 words 0.92 (F1 0.18), 50 of 100\
 words 0.83 (F1 0.67), 90 of 100 words 0.95 (F1 0.95), 100 of 100 words 1.00 (F1 1.00), all with 900 others 0.92 (F1\
 0.18)"
