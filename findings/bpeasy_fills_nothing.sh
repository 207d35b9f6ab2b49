#!/usr/bin/env bash
# A vocabulary that bpeasy fills to a multiple of eight has 283 ids, and its length is 280: the special tokens are out.
#
# Guess before the run: `fill_to_nearest_multiple_of_eight=True` ("pad vocab to multiple of 8") makes 288 of 280 tokens
# and three special ones, and `len(tokenizer)` is the number of rows that an embedding needs.
# Seen: bpeasy 0.1.6. With and without it there are 283 ids: tokens to fill are made after the vocabulary was copied.
# The length is 280 in both, though [CLS], [SEP] and [MASK] have the ids 280, 281 and 282: a model that is made as large
# as the tokenizer has no rows for them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    bpeasy==0.1.6 tiktoken==0.14.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from bpeasy.tokenizer import BPEasyTokenizer

TEXTS = ["the cat sat on the mat and the dog sat on the log in 1998 " * 20]
parts = []
for fill in (False, True):
    tokenizer = BPEasyTokenizer.train(
        iter(TEXTS),
        vocab_size=290,
        special_tokens=["[CLS]", "[SEP]", "[MASK]"],
        fill_to_nearest_multiple_of_eight=fill,
    )
    ids = tokenizer.encode("[CLS][MASK][SEP]", allowed_special="all")
    count = tokenizer._encoder.n_vocab
    parts.append(f"fill {fill}: len {len(tokenizer)}, ids of [CLS], [MASK], [SEP] {ids}, {count} ids in all")
print(f"bpeasy {importlib.metadata.version('bpeasy')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bpeasy 0.1.6: fill False: len 280, ids of [CLS], [MASK], [SEP] [280, 282, 281], 283 ids in all; fill\
 True: len 280, ids of [CLS], [MASK], [SEP] [280, 282, 281], 283 ids in all"
