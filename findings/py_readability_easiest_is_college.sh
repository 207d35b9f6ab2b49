#!/usr/bin/env bash
# py-readability-metrics grades the easiest texts "very_confusing", for college graduates: Flesch scores above 100.
#
# Guess before the run: a text of short sentences and words of one syllable has a Flesch reading ease above 100, and is
# very easy; each score has the grade of its neighbours.
# Seen: py-readability-metrics 1.4.5. "very_easy" and the fifth grade end at 100, and all that is in no range is
# "very_confusing" and for college graduates: a text with a score of 117 is so graded, as one with -238 is. In the same
# way a Dale-Chall score between 4.9 and 5.0, between the fourth and the fifth grade, is one of college graduates.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    py-readability-metrics==1.4.5 nltk==3.9.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import re

import readability.text.analyzer as analyzer
from readability import Readability
from readability.scorers import dale_chall

# Sentences end with periods here, where NLTK's model would have to be downloaded.
analyzer.sent_tokenize = lambda text: re.findall(r"[^.]+[.]", text)
texts = {
    "easiest": "The dog ran to the cat. We saw the sun. He sat on the mat. ",
    "easy": "The happy dog ran to the little kitten in the yard and we all saw the yellow sun. ",
    "hardest": "Institutional administrators investigated unprecedented irregularities. ",
}
words = []
for name, text in texts.items():
    result = Readability(text * 30).flesch()
    words.append(f"{name} {result.score:.1f} {result.ease} {result.grade_levels}")
grades = [dale_chall.DaleChall._grade_levels(None, score) for score in (4.85, 4.95, 5.05)]
version = importlib.metadata.version("py-readability-metrics")
print(f"py-readability-metrics {version}: Flesch {', '.join(words)}; Dale-Chall 4.85, 4.95, 5.05: {grades}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "py-readability-metrics 1.4.5: Flesch easiest 117.2 very_confusing ['college_graduate'], easy 85.2 easy\
 ['6'], hardest -238.2 very_confusing ['college_graduate']; Dale-Chall 4.85, 4.95, 5.05: [['1', '2', '3', '4'], ['coll\
ege_graduate'], ['5', '6']]"
