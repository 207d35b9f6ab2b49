#!/usr/bin/env bash
# A summary that says its text 20 times has a precision of 1.00 in the package rouge, or else a ROUGE-L recall of 29.41.
#
# Guess before the run: words that come again cost precision in ROUGE, which counts n-grams, and no score is above 1;
# `exclusive=False` counts them.
# Seen: rouge 1.0.1. By default n-grams are sets: the reference said 20 times has a recall and a precision of 1.00 in
# ROUGE-1 and ROUGE-L and .93 in ROUGE-2. With `exclusive=False` its precision of ROUGE-1 is .05, as it should be, but
# the recall of ROUGE-L is 29.41, and that of the reference itself 1.47: what two sentences have in common counts in
# each. Models that repeat themselves look perfect, and no option is right for both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    rouge==1.0.1 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from rouge import Rouge

REFERENCE = "the bank was closed by the river . the bank will open by the end of the week ."
CASES = {
    "its own copy": REFERENCE,
    "said 20 times": " ".join([REFERENCE] * 20),
    "sorted words": " ".join(sorted(REFERENCE.replace(" .", "").split())) + " .",
}


def scores(text, exclusive):
    result = Rouge(exclusive=exclusive).get_scores(text, REFERENCE)[0]
    return " ".join(f"{result[key]['r']:.2f} {result[key]['p']:.2f}" for key in ("rouge-1", "rouge-2", "rouge-l"))


words = [f"{name} {scores(text, True)}, exclusive=False {scores(text, False)}" for name, text in CASES.items()]
print(f"rouge {importlib.metadata.version('rouge')}, recall and precision of 1, 2 and L: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rouge 1.0.1, recall and precision of 1, 2 and L: its own copy 1.00 1.00 1.00 1.00 1.00 1.00,\
 exclusive=False 1.00 1.00 1.00 1.00 1.47 1.47; said 20 times 1.00 1.00 1.00 0.93 1.00 1.00, exclusive=False 1.00 0.05\
 1.00 0.05 29.41 1.47; sorted words 1.00 1.00 0.14 0.15 0.64 0.64, exclusive=False 1.00 1.00 0.12 0.12 0.53 0.53"
