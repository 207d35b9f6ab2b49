#!/usr/bin/env bash
# A text without a repeated word has an MTLD of 0 in lexical-diversity, the lowest there is, and with one 2,800.
#
# Guess before the run: MTLD grows with the variety of a text, and is greatest, infinite or the number of words, where
# no word repeats.
# Seen: lexical-diversity 0.1.1. Of 100 words a text with 50, 90, 99 and 100 different ones has 100, 280, 2,800 and 0:
# no factor is ever complete, and the division by 0 gives 0. A text of one word repeated has 8. So short answers of a
# language model, which seldom repeat a word, are among the poorest. The HD-D of 41 different words is 0.00, and of 42
# it is 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    setuptools==75.8.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lexical-diversity==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from lexical_diversity import lex_div

words = []
for kinds in (1, 50, 90, 99, 100):
    text = [f"w{number % kinds}" for number in range(100)]
    words.append(f"{kinds} {lex_div.mtld(text):.0f}")
short = [lex_div.hdd([f"w{number}" for number in range(length)]) for length in (41, 42)]
print(
    f"lexical-diversity {importlib.metadata.version('lexical-diversity')}: different words of 100 and MTLD",
    f"{', '.join(words)}; HD-D of 41 and 42 different words {short[0]:.2f} {short[1]:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lexical-diversity 0.1.1: different words of 100 and MTLD 1 8, 50 100, 90 280, 99 2800, 100 0; HD-D of\
 41 and 42 different words 0.00 1.00"
