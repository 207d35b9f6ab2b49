#!/usr/bin/env bash
# Entities of one class that stand apart are one in transformers.js, with the words between them left out.
#
# Guess before the run: `aggregation_strategy="simple"` gives the entities of the same option in Python, of which the
# pipeline of JavaScript says that it has "none" and "simple".
# Seen: @huggingface/transformers 4.3.2 (npm), transformers 5.23.0. JavaScript drops the tokens of "O" first and joins
# what is left, without a look at positions: of the labels "PER", and of "I-PER" of a tagger in the IOB1 of CoNLL
# 2003, all entities of a class up to another class are one, as "k c o" of "k a c d e f b o p". Python drops them
# last. The tokens and their scores are equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 onnx==1.23.2 numpy==2.4.6
echo '{"type": "module"}' > "$folder/package.json"
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent @huggingface/transformers@4.3.2
cat > "$folder/program.mjs" <<'JAVASCRIPT'
import { env, pipeline } from "@huggingface/transformers";

const [, , models, names, text] = process.argv;
env.allowRemoteModels = false;
env.localModelPath = models;
const found = {};
for (const name of JSON.parse(names)) {
  const tag = await pipeline("token-classification", name, { dtype: "fp32" });
  found[name] = [];
  for (const strategy of ["none", "simple"]) {
    found[name].push(await tag(text, { aggregation_strategy: strategy }));
  }
}
console.log(JSON.stringify(found));
JAVASCRIPT
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import os
import subprocess
import sys

import torch
import transformers

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
text = "k a c d e f b o p"
models = {"IO": ["O", "PER", "LOC"], "IOB1": ["O", "I-PER", "I-LOC"]}
right = {}
for name, labels in models.items():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        initializer_range=0.3,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    model = transformers.BertForTokenClassification(config).eval()
    path = f"{folder}/models/{name}"
    os.makedirs(f"{path}/onnx")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        model,
        tuple(torch.ones(2, 4, dtype=torch.long) for _ in inputs),
        f"{path}/onnx/model.onnx",
        input_names=inputs,
        output_names=["logits"],
        dynamic_axes={one: {0: "batch", 1: "length"} for one in inputs},
        dynamo=False,
    )
    right[name] = []
    for strategy in ("none", "simple"):
        tag = transformers.pipeline("token-classification", path, aggregation_strategy=strategy)
        right[name].append(tag(text))
command = ["node", "program.mjs", f"{folder}/models/", json.dumps([*models]), text]
done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
found = json.loads(done.stdout)
words = []
for name in models:
    tokens_alike = [
        (one["word"], one["entity"]) == (other["word"], other["entity"]) and abs(one["score"] - other["score"]) < 1e-4
        for one, other in zip(right[name][0], found[name][0], strict=True)
    ]
    rows = (", ".join(f"{one['word']} ({one['entity_group']})" for one in row[name][1]) for row in (right, found))
    words.append(f"{name}, tokens {'equal' if all(tokens_alike) else 'other'}: {' | '.join(rows)}")
print(f"transformers {importlib.metadata.version('transformers')} | JavaScript: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0 | JavaScript: IO, tokens equal: k (PER), c (PER), o (PER) | k c o (PER);\
 IOB1, tokens equal: k (PER), c (PER), o (PER) | k c o (PER)"
