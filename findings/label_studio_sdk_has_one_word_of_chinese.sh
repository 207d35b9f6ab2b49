#!/usr/bin/env bash
# The CoNLL that Label Studio exports has one word for a Chinese sentence, and of its entities the first one.
#
# Guess before the run: `convert_to_conll2003` of label-studio-sdk, which is the export of the program, writes every
# entity that was marked, of Chinese by characters, as datasets for a Chinese BERT are.
# Seen: label-studio-sdk 2.1.2. It cuts texts by NLTK's Treebank tokenizer, for English sentences. A sentence with three
# entities is one word that is a B-PER; of an English text of two sentences the first one's last word is "Berlin.", with
# the full stop, and "Berlin-Mitte", two entities, is one. Nothing is said; the JSON export has all offsets.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    label-studio-sdk==2.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import sys

from label_studio_sdk.converter import Converter

texts = {
    "小明住在北京和上海。": [(0, 2, "PER"), (4, 6, "LOC"), (7, 9, "LOC")],
    "I was in Berlin. It was hot in Berlin-Mitte.": [(9, 15, "LOC"), (31, 37, "LOC"), (38, 43, "LOC")],
}
tasks = []
for text, entities in texts.items():
    values = [{"start": start, "end": end, "text": text[start:end], "labels": [name]} for start, end, name in entities]
    results = [{"from_name": "label", "to_name": "text", "type": "labels", "value": value} for value in values]
    tasks.append({"id": len(tasks), "data": {"text": text}, "annotations": [{"id": len(tasks), "result": results}]})
with open(f"{sys.argv[1]}/tasks.json", "w") as file:
    json.dump(tasks, file)
view = '<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'
converter = Converter(view + '<Text name="text" value="$text"/></View>', sys.argv[1])
converter.convert_to_conll2003(f"{sys.argv[1]}/tasks.json", f"{sys.argv[1]}/out", is_dir=False)
with open(f"{sys.argv[1]}/out/result.conll") as file:
    lines = [line.split() for line in file.read().splitlines()[1:] if line]
words = [f"{word}/{tag}" for word, *_, tag in lines if tag != "O"]
print(f"label-studio-sdk {importlib.metadata.version('label-studio-sdk')}, of six entities: {' '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "label-studio-sdk 2.1.2, of six entities: 小明住在北京和上海。/B-PER Berlin./B-LOC Berlin-Mitte/B-LOC"
