#!/usr/bin/env bash
# The Euclidean similarity of simphile is .90 for two texts of 100 words that have no word in common, and .97 for 1,000.
#
# Guess before the run: `euclidian_similarity` of texts without a word in common is 0, or near it, at any length.
# Seen: simphile 1.0.4. The distance is one of shares of words, which get smaller the more words a text has, and it is
# divided by the root of the number of words: without any word in common two texts of 1, 10, 100 and 1,000 different
# words have .000, .684, .900 and .968. Two texts of ten words that share five have .742. A threshold finds long texts
# alike; Jaccard's similarity of the package is 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    simphile==1.0.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from simphile import euclidian_similarity, jaccard_similarity


def text(first, last):
    """Words of letters, one for each number."""
    return " ".join("".join(chr(97 + int(digit)) for digit in f"{number:05d}") for number in range(first, last))


words = []
for length in (1, 10, 100, 1000):
    pair = text(0, length), text(length, 2 * length)
    words.append(f"{length}: {euclidian_similarity(*pair):.3f} {jaccard_similarity(*pair):.3f}")
half = text(0, 10), text(5, 15)
print(
    f"simphile {importlib.metadata.version('simphile')}: words, Euclidean and Jaccard similarity of texts with nothing",
    f"in common {', '.join(words)}; half in common {euclidian_similarity(*half):.3f} {jaccard_similarity(*half):.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "simphile 1.0.4: words, Euclidean and Jaccard similarity of texts with nothing in common 1: 0.000\
 0.000, 10: 0.684 0.000, 100: 0.900 0.000, 1000: 0.968 0.000; half in common 0.742 0.333"
