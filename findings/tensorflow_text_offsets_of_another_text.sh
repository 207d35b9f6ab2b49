#!/usr/bin/env bash
# Offsets of tensorflow_text's BertTokenizer with `lower_case=True` slip behind every accent: answers are cut elsewhere.
#
# Guess before the run: `tokenize_with_offsets` says where each piece stands in the text that it was given, as its base
# class promises ("which substring from the input string was used"), whether the tokenizer is cased or not.
# Seen: tensorflow-text 2.20.1. With `lower_case=True` they are places in the text after accents were stripped and
# compatible characters replaced. In "Zoë met José in Paris" Paris is "n Par", in "½ of €5 was Paris" it is "is", and in
# a French sentence with seven accents "ns a ": every accent moves what follows. The answer of a BERT for SQuAD, or an
# entity, that is cut out of its text by offsets, is other words. FastBertTokenizer with the same vocabulary has the
# right places, and so has `lower_case=False`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow_text as text

french = "L'été où Zoë a été à l'Élysée, le maire né à Orléans a quitté Paris"
texts = ["Zoe met Jose in Paris", "Zoë met José in Paris", "½ of €5 was Paris", french]
vocabulary = ["[PAD]", "[UNK]", "Paris", "paris"]
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join(vocabulary))
tokenizers = {
    "cased": text.BertTokenizer(path),
    "uncased": text.BertTokenizer(path, lower_case=True),
    "fast uncased": text.FastBertTokenizer(vocabulary, lower_case_nfd_strip_accents=True),
}
parts = []
for name, tokenizer in tokenizers.items():
    found = []
    for example in texts:
        ids, starts, ends = (values.flat_values.numpy() for values in tokenizer.tokenize_with_offsets([example]))
        (place,) = [index for index, number in enumerate(ids) if number > 1]
        found.append(example.encode()[starts[place] : ends[place]].decode())
    parts.append(f"{name} {found}")
print(f"tensorflow-text {importlib.metadata.version('tensorflow-text')}: Paris is", ", ".join(parts))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-text 2.20.1: Paris is cased ['Paris', 'Paris', 'Paris', 'Paris'], uncased ['Paris', 'n\
 Par', 'is', 'ns a '], fast uncased ['Paris', 'Paris', 'Paris', 'Paris']"
