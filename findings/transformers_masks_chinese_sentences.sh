#!/usr/bin/env bash
# Whole-word masking of transformers 5 takes a Chinese sentence for one word: all of it is masked, or nothing.
#
# Guess before the run: a word is a token and the "##" tokens behind it, as in the original's whole-word masking; of
# bert-base-chinese, which has each character by itself, and of a comma that is as many words as tokens.
# Seen: transformers 5.23.0, `DataCollatorForLanguageModeling(whole_word_mask=True)`. A token begins a word if there
# is a gap in the text before it. Between Chinese characters there is none, nor between a word and its comma: of 2,000
# copies of a sentence of 13 characters each one is masked whole, as 13 [MASK] without any context, or not at all; a
# comma is masked together with the word before it. The warning is about random tokens alone, which are left out.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers

CHINESE = "今天天气很好我们去公园散步"
ENGLISH = "old trains, good food"
ROWS = 2000
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(CHINESE)), "old", "train", "##s", ",", "good", "food"]
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, whole_word_mask=True)


def mask(text):
    """Returns which tokens are masked, bool [rows, tokens]."""
    torch.manual_seed(0)
    row = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    return collator([dict(row) for _ in range(ROWS)])["labels"][:, 1:-1] != -100


chinese = mask(CHINESE).sum(1)
pieces, comma, other = mask(ENGLISH)[:, [2, 3, 4]].T
train = mask(ENGLISH)[:, 1]
print(
    f"transformers {transformers.__version__}: of {len(CHINESE)} characters",
    f"{'only ' if set(chinese.tolist()) == {0, len(CHINESE)} else 'not only '}none or all are masked,",
    f"all in {(chinese > 0).float().mean():.0%};",
    f"as 'train': '##s' {'always' if (pieces == train).all() else 'not always'},",
    f"',' {'always' if (comma == train).all() else 'not always'},",
    f"'good' {'always' if (other == train).all() else 'not always'}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: of 13 characters only none or all are masked, all in 13%;\
 as 'train': '##s' always, ',' always, 'good' not always"
