#!/usr/bin/env bash
# tensorflow_text's sentence breaker ends a sentence inside of 3.14, and begins the next one with a closing quote.
#
# Guess before the run: StateBasedSentenceBreaker, which makes the sentences for next-sentence prediction, breaks at
# terminal punctuation and takes "close punctuation (close bracket, end quote, etc.)" after it into the sentence; a
# point in a number or an address ends nothing.
# Seen: tensorflow-text 2.20.1. "Pi is 3.14 or so." has two sentences, "Pi is 3." and "14 or so.", "1.234.567" has
# three, and so has an address of a page. A closing bracket goes with its sentence, but a closing quote, straight or
# curly, begins the next one. "U.S." is known and "p.m." is not. What a BERT is asked to tell apart as next sentences is
# then often two halves of one number.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow_text as text

texts = [
    "Pi is 3.14 or so.",
    "It has 1.234.567 words.",
    "See www.google.com for more.",
    "(He left.) Then I left.",
    'He said "Go." Then I left.',
    "He said “Go.” Then I left.",
    "The U.S. won at 5 p.m. today.",
]
sentences = text.StateBasedSentenceBreaker().break_sentences(texts).to_list()
shown = "; ".join("|".join(sentence.decode() for sentence in row) for row in sentences)
print(f"tensorflow-text {importlib.metadata.version('tensorflow-text')}: {shown}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-text 2.20.1: Pi is 3.|14 or so.; It has 1.|234.|567 words.; See www.|google.|com for more.;\
 (He left.)|Then I left.; He said \"Go.|\" Then I left.; He said “Go.|” Then I left.; The U.S.|won at 5 p.|m.|today."
