#!/usr/bin/env bash
# The n-gram distance of "not" to "york new" is .62 in strsimpy, and .88 the other way round: its index wraps around.
#
# Guess before the run: the distance by n-grams (Kondrak 2005) of two texts is the same in both orders, and texts
# without a common bigram are at a distance of 1 or close to it.
# Seen: strsimpy 0.2.1. The inner loop begins at 0, where the first column is already set: there p[i - 1] and sa[i - 1]
# are the last ones of Python's lists, and the column becomes smaller than the number of letters so far. For short texts
# against longer ones the distance is up to .25 too small in one order; computed by hand, and in the other order, "not"
# is at .88. Lists that are sorted by it depend on which text is the query.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    strsimpy==0.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from strsimpy.ngram import NGram


def compute(one, other):
    """Kondrak's distance by bigrams, with a sign before the first letter."""
    one, other = "<" + one, "<" + other
    rows, columns = len(one), len(other)
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(columns)] for i in range(rows)]
    for i in range(1, rows):
        for j in range(1, columns):
            pairs = [(one[i - 1], other[j - 1]), (one[i], other[j])]
            counted = [a != b for a, b in pairs if not a == b == "<"]
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + sum(counted) / len(counted)
            )
    return table[-1][-1] / max(rows - 1, columns - 1)


distance = NGram(2).distance
words = []
for pair in (("not", "york new"), ("no", "tokens"), ("ton", "tension"), ("bert", "transformer"), ("not", "knot")):
    both = (distance(*pair), distance(*pair[::-1]))
    words.append(f"{pair[0]}/{pair[1]} {both[0]:.2f} and {both[1]:.2f} (by hand {compute(*pair):.2f})")
print(f"strsimpy {importlib.metadata.version('strsimpy')}, in both orders: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "strsimpy 0.2.1, in both orders: not/york new 0.62 and 0.88 (by hand 0.88), no/tokens 0.58 and 0.83 (by\
 hand 0.83), ton/tension 0.43 and 0.64 (by hand 0.64), bert/transformer 0.82 and 0.91 (by hand 0.91), not/knot 0.38 an\
d 0.38 (by hand 0.38)"
