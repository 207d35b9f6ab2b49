#!/usr/bin/env bash
# Test words that subword-nmt has cut with BPE dropout before stay cut at random, also where no dropout is asked for.
#
# Guess before the run: `segment(text, dropout=0.3)` is drawn anew in each epoch, and `segment(text)` of the same object
# cuts the words of a test set as always.
# Seen: subword-nmt 0.3.8. A draw is kept in the object's cache, and without dropout the cache is read: after one epoch
# with dropout 4 of 10 words are cut otherwise than by a new object, "winter" as "wi@@ n@@ t@@ er", and stay so. What a
# model is tested on depends on the last random draw of each word in training.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    subword-nmt==0.3.8 tqdm==4.70.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import io
import random

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

WORDS = "lower newest widest slower wider newer lowest river winter water".split()
codes = io.StringIO()
learn_bpe(io.StringIO("\n".join(WORDS * 20)), codes, 60)


def new_bpe():
    return BPE(io.StringIO(codes.getvalue()))


def different(bpe):
    """Words of a test set, without dropout, that are cut otherwise than by a new object."""
    return sum(bpe.segment(word) != new_bpe().segment(word) for word in WORDS)


random.seed(0)
before = different(new_bpe())
fresh = new_bpe()
for word in WORDS:
    fresh.segment(word, dropout=0.3)
print(
    f"subword_nmt {importlib.metadata.version('subword-nmt')}: other words before dropout {before} of {len(WORDS)},",
    f"after an epoch with it {different(fresh)}: {fresh.segment('newest winter')},",
    f"anew {new_bpe().segment('newest winter')}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "subword_nmt 0.3.8: other words before dropout 0 of 10, after an epoch with it 4: newest wi@@ n@@ t@@\
 er, anew newest winter"
