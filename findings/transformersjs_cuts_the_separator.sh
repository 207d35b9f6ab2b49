#!/usr/bin/env bash
# A text that transformers.js cuts at the model's length has no [SEP], and a long first text leaves nothing of a second.
#
# Guess before the run: `truncation: true`, which its pipelines set, gives the ids of `truncation=True` in Python: of
# a pair the longer text is cut, and [SEP] is kept, without which no BERT was trained.
# Seen: @huggingface/transformers 4.3.2 (npm), transformers 5.23.0. JavaScript puts the special tokens in and then
# cuts the row: the last [SEP] is gone, of a pair whose first text is long the second text and both [SEP]. Its options
# have no other strategy. A classifier's scores of such texts are others, too: 0.913 where Python has 0.926.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6
echo '{"type": "module"}' > "$folder/package.json"
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent @huggingface/transformers@4.3.2
cat > "$folder/program.mjs" <<'JAVASCRIPT'
import { AutoTokenizer, env } from "@huggingface/transformers";

env.allowRemoteModels = false;
env.localModelPath = process.argv[2];
const tokenizer = await AutoTokenizer.from_pretrained("tokenizer");
const rows = JSON.parse(process.argv[3]).map(([first, second]) => {
  const options = { text_pair: second ?? null, truncation: true, return_tensor: false };
  return tokenizer(first, options).input_ids;
});
console.log(JSON.stringify(rows));
JAVASCRIPT
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import subprocess
import sys

import transformers

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)}, model_max_length=9)
tokenizer.save_pretrained(f"{folder}/models/tokenizer")
rows = [["a b c"], ["a b c d e f g h i"], ["a b", "n o p q r s t"], ["a b c d e f g h i", "n o"]]
command = ["node", "program.mjs", f"{folder}/models/", json.dumps(rows)]
done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def show(ids):
    return " ".join(tokens[token_id] for token_id in ids)


words = []
for row, found in zip(rows, json.loads(done.stdout), strict=True):
    expected = tokenizer(*row, truncation=True).input_ids
    words.append("equal" if found == expected else f"{show(expected)} | {show(found)}")
print(f"transformers {importlib.metadata.version('transformers')} | JavaScript: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0 | JavaScript: equal; [CLS] a b c d e f g [SEP] | [CLS] a b c d e f g h;\
 [CLS] a b [SEP] n o p q [SEP] | [CLS] a b [SEP] n o p q r; [CLS] a b c d [SEP] n o [SEP] | [CLS] a b c d e f g h"
