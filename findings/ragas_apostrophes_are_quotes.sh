#!/usr/bin/env bash
# Alignment of quotes in ragas takes apostrophes for quotes and sees none in “these”: invented quotes are not counted.
#
# Guess before the run: in answers with straight or curly quotes, both of which the documentation names, the fraction of
# quotes of three words and more that are in the sources is returned; "don't" is not a quote.
# Seen: ragas 0.4.3. The characters of the pattern are in plain quotes of Python, so that its own quotes end the texts:
# the straight apostrophe is in the set and “ ” are not. An invented quote in curly quotes is none (0 of 0), what is
# between two apostrophes of "don't" and "it's" is one that no source has (0 of 1), and a right quote with an apostrophe
# in it is cut there, and is none. Plain quotes without an apostrophe are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ragas==0.4.3 langchain-community==0.4.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from ragas.metrics.quoted_spans import quoted_spans_alignment

source = ["The model does not learn at all from padding, and that's why the mask is there."]
answers = {
    "plain": 'It says "the model does not learn at all" there.',
    "plain, invented": 'It says "the model learns most of it" there.',
    "curly": "It says “the model does not learn at all” there.",
    "curly, invented": "It says “the model learns most of it” there.",
    "no quote": "I don't see that the model learns and it's there.",
    "apostrophe": 'It says "and that\'s why the mask is there" there.',
}
words = []
for name, answer in answers.items():
    result = quoted_spans_alignment([answer], [source])
    words.append(f"{name} {result['matched']:.0f} of {result['total']:.0f}")
print(f"ragas {importlib.metadata.version('ragas')}, quotes found: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ragas 0.4.3, quotes found: plain 1 of 1, plain, invented 0 of 1, curly 0 of 0, curly, invented 0 of 0,\
 no quote 0 of 1, apostrophe 0 of 0"
