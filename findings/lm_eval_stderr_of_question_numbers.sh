#!/usr/bin/env bash
# The error of lm_eval's acc_all, MultiRC's score, is 0 for 10 or 100 paragraphs: it counts all first questions as one.
#
# Guess before the run: `acc_all` is the share of questions whose answers are all right, and `acc_all_stderr`, which the
# evaluation reports beside it, is the standard error of that share.
# Seen: lm_eval 0.4.13. The score groups answers by paragraph and question, the error by the number of the question
# alone, which begins anew in each paragraph: of 100 paragraphs with five questions it sees five, all of them wrong
# somewhere. So it says an error of 0 for 10 and for 100 paragraphs, where samples that are drawn from the same answers
# spread by .069 and .020, and .245 instead of .145 for two. Any difference of two models seems to be sure.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sacrebleu==2.6.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lm-eval==0.4.13
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from lm_eval.api import metrics

rng = np.random.default_rng(0)


def answers(paragraphs):
    """Predictions for four answers to each of five questions about each paragraph."""
    items = []
    for paragraph in range(paragraphs):
        for question in range(5):
            for _ in range(4):
                doc = {"idx": {"paragraph": paragraph, "question": question}, "label": int(rng.integers(2))}
                items.append(((doc["label"] == 1) == (rng.random() < 0.9), doc))
    return items


parts = []
for paragraphs in (2, 10, 100):
    items = answers(paragraphs)
    accuracy = metrics.acc_all(items)
    bootstrap = []
    questions = [items[place : place + 4] for place in range(0, len(items), 4)]
    for _ in range(300):
        drawn = [questions[place] for place in rng.integers(len(questions), size=len(questions))]
        bootstrap.append(np.mean([all(pred == (doc["label"] == 1) for pred, doc in question) for question in drawn]))
    error = metrics.acc_all_stderr(items)
    parts.append(f"{paragraphs} paragraphs {accuracy:.3f}, error {error:.3f}, drawn {np.std(bootstrap):.3f}")
print(f"lm_eval {importlib.metadata.version('lm_eval')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lm_eval 0.4.13: 2 paragraphs 0.700, error 0.245, drawn 0.145; 10 paragraphs 0.580, error 0.000, drawn\
 0.069; 100 paragraphs 0.664, error 0.000, drawn 0.020"
