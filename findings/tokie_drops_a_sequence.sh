#!/usr/bin/env bash
# tokie loads a tokenizer.json whose steps it does not know, leaves them out, and gives other ids without a word.
#
# Guess before the run: `Tokenizer.from_json` does what the file says, or refuses it, as kitoken, gigatoken and
# fastokens do; its summary promises full accuracy.
# Seen: tokie 0.1.4 with tokenizers 0.23.3. A `Lowercase` step alone lower-cases; the same step as the only one of a
# `Sequence` does not, and "The" is [UNK]. WhitespaceSplit cuts at punctuation. In the source the file is not run but
# recognized: a few well-known combinations are each mapped to a preset, any other is no normalizer, and BERT's cuts.
# The usual file of an uncased BERT is one of the presets: 815 of 818 lines are right.
# The tokenizer.json that this project exports is a Sequence of steps, since the presets are not exactly the
# original's (modeling/checkpoints/tokenizer_file.py): with tokie nearly every line with a capital is wrong.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tokie==0.1.4 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tokie
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

path = f"{sys.argv[1]}/tokenizer.json"
words = ["[UNK]", "the", "cat", "."]
bert, whitespace = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.WhitespaceSplit()
lower = normalizers.Lowercase()


def tokens(normalizer: normalizers.Normalizer, step: pre_tokenizers.PreTokenizer) -> str:
    """Returns the tokens by tokenizers and by tokie."""
    model = models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, step
    tokenizer.save(path)
    found = tokie.Tokenizer.from_json(path).encode("The cat.")
    expected = " ".join(tokenizer.encode("The cat.").tokens)
    return f"{expected} -> {' '.join(words[number] for number in found.ids)}"


print(
    f"tokie {importlib.metadata.version('tokie')}: Lowercase {tokens(lower, bert)};",
    f"in a Sequence {tokens(normalizers.Sequence([lower]), bert)};",
    f"WhitespaceSplit {tokens(lower, whitespace)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tokie 0.1.4: Lowercase the cat . -> the cat .; in a Sequence the cat . -> [UNK] cat .;\
 WhitespaceSplit the [UNK] -> the cat ."
