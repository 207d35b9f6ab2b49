#!/usr/bin/env bash
# textstat's New Dale-Chall score of a text without any difficult word is 3.93 instead of .30, that of harder texts.
#
# Guess before the run: `dale_chall_readability_score_v2` adds 3.6365 to a text of which more than 5 % of the words are
# difficult, as the formula does and `dale_chall_readability_score` of the same package, and nothing to other texts.
# Seen: textstat 0.7.13. Three texts of easy words alone, of 6, 11 and 20 words a sentence, have .30, .55 and .99 by the
# first function and 3.93, 4.18 and 4.63 by the second one. It asks whether the score is above .05 instead of the share
# of words, and a sentence of two words is enough for that. So all of a collection's texts are up by 3.64, and where it
# is filtered or sorted into grades by this score, easy texts are not found to be easy.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nltk==3.10.4 pyphen==0.18.1 setuptools==80.9.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textstat==0.7.13
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import textstat

texts = {
    6: "The cat sat on the mat. The dog ran to the house.",
    11: "The cat sat on the mat and the dog ran off.",
    20: "The cat sat on the mat and the dog ran to the house and we had fun in the sun.",
}
parts = []
for words, text in texts.items():
    first, second = textstat.dale_chall_readability_score(text), textstat.dale_chall_readability_score_v2(text)
    share = textstat.difficult_words(text) / words
    parts.append(f"{words} words a sentence, difficult {share:.0%}: {first:.2f} and {second:.2f}")
print(f"textstat {importlib.metadata.version('textstat')}, first and new score: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textstat 0.7.13, first and new score: 6 words a sentence, difficult 0%: 0.30 and 3.93; 11 words a\
 sentence, difficult 0%: 0.55 and 4.18; 20 words a sentence, difficult 0%: 0.99 and 4.63"
