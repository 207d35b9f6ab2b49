#!/usr/bin/env bash
# doccano's own converter begins an entity a word early where no space is before it: 在北京, "in Beijing", for 北京.
#
# Guess before the run: `to_conll2003` of doccano-transformer gives the words between an entity's offsets B and I tags,
# and no others, if the tokenizer that it is given cuts where entities begin and end, as BERT's does.
# Seen: doccano-transformer 1.0.2. With characters as words, which is how a Chinese BERT reads, two of three entities of
# a sentence begin with the character before them; with words and signs "(France)" becomes ( B-LOC, France I-LOC, and of
# "Berlin-Mitte" the hyphen is the beginning of Mitte. A word that ends where an entity begins is taken for its first,
# `token_end < start`. Only entities after a space or at the beginning of a text are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    doccano-transformer==1.0.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import re
import sys
import types

# Another of its formats needs a module of spaCy 2.
sys.modules["spacy"] = types.ModuleType("spacy")
sys.modules["spacy.gold"] = types.SimpleNamespace(biluo_tags_from_offsets=None)
from doccano_transformer.datasets import NERDataset
from doccano_transformer.utils import read_jsonl

texts = [
    (list, "小明住在北京和上海。", [[0, 2, "PER"], [4, 6, "LOC"], [7, 9, "LOC"]]),
    (re.compile(r"\w+|[^\w\s]").findall, "Paris (France), Berlin-Mitte", [[0, 5], [7, 13], [16, 22], [23, 28]]),
]
parts = []
for tokenize, text, entities in texts:
    entities = [[*entity, "LOC"][:3] for entity in entities]
    path = f"{sys.argv[1]}/doccano.jsonl"
    with open(path, "w") as file:
        json.dump({"id": 0, "text": text, "labels": entities}, file)
    found = []
    for example in read_jsonl(path, NERDataset, "utf-8").to_conll2003(tokenize):
        for word, tag in re.findall(r"^(.+) _ _ (.+)$", example["data"], re.MULTILINE):
            if tag.startswith("B"):
                found.append(word)
            elif tag.startswith("I"):
                found[-1] += word
    parts.append(f"{' '.join(text[start:end] for start, end, _ in entities)}: {' '.join(found)}")
print(f"doccano-transformer {importlib.metadata.version('doccano-transformer')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "doccano-transformer 1.0.2: 小明 北京 上海: 小明 在北京 和上海; Paris France Berlin Mitte: Paris (France Berlin\
 -Mitte"
