#!/usr/bin/env bash
# A text that is neither of two references has a ROUGE-L of 1.00 in pycocoevalcap: of each it takes what is better.
#
# Guess before the run: of several references ROUGE-L is that of the best one, as Lin (2004) has it: .55 if they are .32
# and .55.
# Seen: pycocoevalcap 1.2. The precision is the best over the references, and so is the recall, each on its own: "the
# river closed" is part of a long reference, and holds the whole of the short one, "closed". So it has 1.00, where each
# reference alone gives .32 and .55; the long reference itself has 1.00 with the short one beside it, and .16 alone. The
# more different the references are, the better is any answer; summaries and answers of a model are compared by this,
# too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pycocoevalcap==1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from pycocoevalcap.rouge.rouge import Rouge

LONG = "the old bank by the river was closed on monday after the flood came"
SHORT = "closed"
TEXTS = ("the river closed", LONG, "the bank closed monday", "closed")


def scores(text):
    values = [Rouge().calc_score([text], references) for references in ([LONG], [SHORT], [LONG, SHORT])]
    return " ".join(f"{value:.2f}" for value in values)


words = [f"{text if text != LONG else 'the long one'} {scores(text)}" for text in TEXTS]
print(
    f"pycocoevalcap {importlib.metadata.version('pycocoevalcap')}, ROUGE-L of the long reference, the short one, both:",
    ", ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pycocoevalcap 1.2, ROUGE-L of the long reference, the short one, both: the river closed 0.32 0.55\
 1.00, the long one 1.00 0.16 1.00, the bank closed monday 0.40 0.45 1.00, closed 0.12 1.00 1.00"
