#!/usr/bin/env bash
# `alpha=1` in rouge-metric, which "favors recall", is the precision: a long text is .23 where it was to be 1.00.
#
# Guess before the run: `alpha` is "the balance factor between recall and precision. Favors recall if close to 1,
# precision if close to 0".
# Seen: rouge-metric 1.0.1. A summary that holds all of a short reference and ten words more has a recall of 1.00 and a
# precision of .23; its F is 1.00 with alpha=0 and .23 with alpha=1. One that is a part of a long reference has .23 and
# 1.00. With .5, the default, both have .38. Who asks for recall, as for long summaries, chooses the models that say
# least.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    rouge-metric==1.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from rouge_metric import PyRouge

LONG = "the cat sat on the mat near the door and saw a dog".split()
SHORT = "the cat sat".split()
parts = []
for alpha in (0.0, 0.5, 1.0):
    rouge = PyRouge(rouge_n=1, rouge_l=False, rouge_w=False, rouge_s=False, rouge_su=False, alpha=alpha)
    for name, text, reference in (("long text", LONG, SHORT), ("short text", SHORT, LONG)):
        score = rouge.evaluate_tokenized([[text]], [[[reference]]])["rouge-1"]
        parts.append(f"alpha {alpha:g}, {name}: r {score['r']:.2f} p {score['p']:.2f} f {score['f']:.2f}")
print(f"rouge_metric {importlib.metadata.version('rouge-metric')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rouge_metric 1.0.1: alpha 0, long text: r 1.00 p 0.23 f 1.00; alpha 0, short text: r 0.23 p 1.00 f\
 0.23; alpha 0.5, long text: r 1.00 p 0.23 f 0.38; alpha 0.5, short text: r 0.23 p 1.00 f 0.38; alpha 1, long text: r\
 1.00 p 0.23 f 0.23; alpha 1, short text: r 0.23 p 1.00 f 1.00"
