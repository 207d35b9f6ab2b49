#!/usr/bin/env bash
# A BERT with one label, a re-ranker or a regression, scores every text 1 in the pipeline of transformers.js.
#
# Guess before the run: `pipeline("text-classification")` of both libraries has the same scores of a model, in the
# layout that its makers publish (config.json, onnx/model.onnx); of one label Python's takes the sigmoid.
# Seen: @huggingface/transformers 4.3.2 (npm), transformers 5.23.0. Of two labels and of "multi_label_classification"
# scores are equal. Of one label JavaScript takes the softmax of one number, which is 1 for every text, and says
# nothing; with "regression", where Python returns the number itself, also. All documents of a re-ranker are equally
# good.
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

const [, , models, names, texts] = process.argv;
env.allowRemoteModels = false;
env.localModelPath = models;
const found = {};
for (const name of JSON.parse(names)) {
  const classify = await pipeline("text-classification", name, { dtype: "fp32" });
  found[name] = (await classify(JSON.parse(texts))).map((one) => one.score);
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
texts = ["a b c d", "x y z", "q r s t u v w"]
models = {
    "two_labels": {"num_labels": 2},
    "several_labels": {"num_labels": 3, "problem_type": "multi_label_classification"},
    "one_label": {"num_labels": 1},
    "regression": {"num_labels": 1, "problem_type": "regression"},
}
right = {}
for name, settings in models.items():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        initializer_range=0.3,
        **settings,
    )
    model = transformers.BertForSequenceClassification(config).eval()
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
    classify = transformers.pipeline("text-classification", path)
    right[name] = [one["score"] for one in classify(texts)]
command = ["node", "program.mjs", f"{folder}/models/", json.dumps([*models]), json.dumps(texts)]
done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
found = json.loads(done.stdout)
words = []
for name in models:
    if max(abs(a - b) for a, b in zip(right[name], found[name], strict=True)) < 1e-4:
        words.append(f"{name} equal")
    else:
        rows = (" ".join(f"{score:.2f}" for score in row[name]) for row in (right, found))
        words.append(f"{name} {' | '.join(rows)}")
print(f"transformers {importlib.metadata.version('transformers')} | JavaScript: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0 | JavaScript: two_labels equal; several_labels equal;\
 one_label 0.67 0.50 0.37 | 1.00 1.00 1.00; regression 0.69 0.01 -0.52 | 1.00 1.00 1.00"
