#!/usr/bin/env bash
# MindSpore's BertTokenizer with `lower_case=True` reads all text before a [MASK] a second time after it.
#
# Guess before the run: `BertTokenizer(vocabulary, lower_case=True)`, which keeps special tokens by default, makes
# "the cat [MASK] on the mat" six tokens, as it does with `lower_case=False`.
# Seen: mindspore 2.10.0 makes eleven of it: "the cat [MASK] the cat [ mask ] on the mat", so that the offsets
# point past the end of the text. Two [MASK]s repeat the text twice, and BasicTokenizer does the same, with [SEP],
# [CLS], [UNK] and [PAD] as well. A single one at the end of the text repeats nothing. The lower-casing is done
# piece by piece between special tokens, and the start of the next piece is left at the first character of the text.
# preserve_unused_token=False repeats nothing, but makes [MASK] three tokens.
# The tokenizers of this project read every character once (data_gen/tokenization).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import mindspore
from mindspore.dataset import text

words = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "the", "cat", "on", "mat", "[", "]", "mask"]
vocabulary = text.Vocab.from_list(words)


def tokens(lower_case: bool) -> str:
    tokenizer = text.BertTokenizer(vocabulary, lower_case=lower_case)
    return " ".join(map(str, tokenizer("the cat [MASK] on the mat")))


print(f"mindspore {mindspore.__version__}: cased {tokens(False)}; uncased {tokens(True)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0: cased the cat [MASK] on the mat;\
 uncased the cat [MASK] the cat [ mask ] on the mat"
