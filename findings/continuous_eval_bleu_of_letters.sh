#!/usr/bin/env bash
# The BLEU of continuous-eval is one of letters, and a copy of the right answer has a token overlap of .50.
#
# Guess before the run: `DeterministicAnswerCorrectness` of continuous-eval compares words: an answer that has one
# word of the right one has a BLEU of nearly 0, a copy of the right answer is 1 in all scores.
# Seen: continuous-eval 0.3.14.post2 with NLTK 3.9.4. It gives NLTK two strings where NLTK wants lists of words, so
# that the n-grams are of letters: an answer with one word of the right one has a BLEU of .21, where words have .02.
# The token overlap counts different tokens above the line and all tokens below it: a copy of an answer in which words
# occur twice has a precision, a recall and an F1 of .50, and so has the answer with another city at its end; "Rome"
# alone has a precision of 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    continuous-eval==0.3.14.post2 nltk==3.9.4 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import pathlib
import sys

# The tables of NLTK's sentence splitter and stop words, made here: no abbreviations, three words.
tables = pathlib.Path(sys.argv[1], "nltk_data")
english = tables / "tokenizers" / "punkt_tab" / "english"
english.mkdir(parents=True)
for name in ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"):
    (english / name).touch()
(tables / "corpora" / "stopwords").mkdir(parents=True)
(tables / "corpora" / "stopwords" / "english").write_text("a\nthe\nand\n")
os.environ["NLTK_DATA"] = str(tables)

from continuous_eval.metrics.generation.text.deterministic import DeterministicAnswerCorrectness  # noqa: E402
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu  # noqa: E402

right = "Berlin sent the treaty back to Rome and Rome sent the treaty back to Berlin"
cases = {
    "a copy": right,
    "one other word": right.removesuffix("Berlin") + "Madrid",
    "wrong": "thirty of the best trains from Boston to Lisbon were cancelled another late",
    "rome": "Rome",
}
parts = []
for name, answer in cases.items():
    values = DeterministicAnswerCorrectness().compute(answer, [right])
    own = sentence_bleu([right.split()], answer.split(), smoothing_function=SmoothingFunction().method1)
    overlap = [values[f"token_overlap_{kind}"] for kind in ("precision", "recall", "f1")]
    words = " ".join(f"{value:.2f}" for value in overlap)
    parts.append(f"{name}: BLEU {values['bleu_score']:.2f} (words {own:.2f}), overlap {words}")
print(f"continuous-eval {importlib.metadata.version('continuous-eval')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "continuous-eval 0.3.14.post2: a copy: BLEU 1.00 (words 1.00), overlap 0.50 0.50 0.50; one other word:\
 BLEU 0.92 (words 0.93), overlap 0.50 0.50 0.50; wrong: BLEU 0.21 (words 0.02), overlap 0.08 0.08 0.08; rome: BLEU\
 0.00 (words 0.00), overlap 1.00 0.08 0.15"
