#!/usr/bin/env bash
# The package readability adds the 3.64 that Dale and Chall add to hard texts to the easy ones: the easiest is hardest.
#
# Guess before the run: Dale and Chall's score adds 3.6365 if more than 5% of the words are not among the 3,000 easy
# ones, so that a text of easy words scores about .5 and one with a tenth of hard words about 5.5.
# Seen: readability 0.3.2. The constant is added if at most 5% are hard: sentences of easy words score 4.18, with a hard
# word in every third sentence 4.61, and with one in each 1.98. By the formula, from its own counts of words, the three
# are .55, .98 and 5.62. Texts that are sorted by it, or a threshold of difficulty on it, put the first among the last.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    readability==0.3.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import readability

easy = "the dog ran to the cat and we saw the sun"
hard = "the dog ran to the aardvark and we saw the sun"
texts = [[easy] * 10, [easy] * 7 + [hard] * 3, [hard] * 10]
words = []
for text in texts:
    measures = readability.getmeasures(text, lang="en")
    info = measures["sentence info"]
    percent = 100 * info["complex_words_dc"] / info["words"]
    paper = 0.1579 * percent + 0.0496 * info["words"] / info["sentences"] + (3.6365 if percent > 5 else 0)
    words.append(f"{percent:.1f}% {measures['readability grades']['DaleChallIndex']:.2f} ({paper:.2f} by the formula)")
print(f"readability {importlib.metadata.version('readability')}, Dale-Chall by share of hard words: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "readability 0.3.2, Dale-Chall by share of hard words: 0.0% 4.18 (0.55 by the formula), 2.7% 4.61 (0.98\
 by the formula), 9.1% 1.98 (5.62 by the formula)"
