#!/usr/bin/env bash
# The Monge-Elkan similarity of textdistance falls with the length: two texts that share 99 of 100 words have .01.
#
# Guess before the run: `MongeElkan(algorithm=JaroWinkler(), qval=None)` is the mean of the best similarities of the
# words, .9 and more for texts that share all words but one.
# Seen: textdistance 4.6.3. The sum is divided by the number of words twice. Texts of 2, 10 and 100 words that differ
# in one have .42, .10 and .01 (by the definition, with the package's own Jaro-Winkler, .83, .97 and 1.00), and texts
# that are equal have 1.00. No threshold holds for texts of other lengths, and long texts that are nearly equal are
# never found.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textdistance==4.6.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from textdistance import JaroWinkler, MongeElkan

winkler = JaroWinkler()
similarity = MongeElkan(algorithm=winkler, qval=None)


def word(number):
    """A word of two letters, another one for each number."""
    return chr(97 + number % 26) + chr(65 + number // 26)


words = []
for length in (2, 10, 100):
    first = [word(number) for number in range(length)]
    second = first[:-1] + ["12345"]
    defined = sum(max(winkler(a, b) for b in second) for a in first) / length
    values = [similarity(" ".join(first), " ".join(other)) for other in (second, first)]
    words.append(f"{length} words {values[0]:.2f} (by definition {defined:.2f}), equal {values[1]:.2f}")
print(f"textdistance {importlib.metadata.version('textdistance')}: one word differs: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textdistance 4.6.3: one word differs: 2 words 0.42 (by definition 0.83), equal 1.00; 10 words 0.10\
 (by definition 0.97), equal 1.00; 100 words 0.01 (by definition 1.00), equal 1.00"
