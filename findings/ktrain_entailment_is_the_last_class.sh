#!/usr/bin/env bash
# ktrain's zero-shot classifier takes the last class for entailment, whatever it is, and gives a BERT no second segment.
#
# Guess before the run: `ZeroShotClassifier`, which asks for "an MNLI or XNLI model", reads which class is the
# entailment from the model, as the pipeline of transformers does, and gives a BERT its segment ids.
# Seen: ktrain 0.41.4 with transformers 4.57.6. Of two small BERTs whose classes are contradiction, neutral and
# entailment the pipeline says .13 and .97 of a topic, and ktrain .69 and 1.00: it leaves the segment ids out, so that
# the hypothesis is read as more of the text. Of the same models with their classes in the other order, entailment
# first, as many have them, the pipeline says the same as before, and ktrain .31 and .00: the topic is what contradicts
# most.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.57.6 numpy==2.4.6 setuptools==80.9.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    ktrain==0.41.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import os
import sys
import types

# The classifier alone, without TensorFlow and the models that the whole package imports.
root = importlib.util.find_spec("ktrain").submodule_search_locations[0]
for name in ("ktrain", "ktrain.text", "ktrain.text.zsl"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("ktrain").replace(".", "/")]
utils = types.ModuleType("ktrain.utils")
utils.list2chunks = lambda rows, n: (rows[number::n] for number in range(n))
sys.modules["ktrain.utils"] = sys.modules["ktrain"].utils = utils

import torch
from ktrain.text.zsl.core import ZeroShotClassifier
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, pipeline

words = "[PAD] [UNK] [CLS] [SEP] [MASK] this text is about sport music the team has won a game .".split()
vocabulary = f"{sys.argv[1]}/vocab.txt"
with open(vocabulary, "w") as file:
    file.write("\n".join(words))
names = ["contradiction", "neutral", "entailment"]
text = "the team has won a game"
parts = []
for seed, order in ((3, names), (4, names), (3, names[::-1]), (4, names[::-1])):
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        initializer_range=0.5, id2label=dict(enumerate(order)), label2id={name: i for i, name in enumerate(order)},
    )
    model = BertForSequenceClassification(config).eval()
    if order != names:
        # The same model: only its classes are in another order.
        weights = model.classifier.weight.data, model.classifier.bias.data
        for weight in weights:
            weight.copy_(weight.flip(0))
    path = f"{sys.argv[1]}/mnli-{seed}-{order[0]}"
    model.save_pretrained(path)
    BertTokenizerFast(vocabulary).save_pretrained(path)
    ask = pipeline("zero-shot-classification", path, device="cpu")
    right = ask(text, ["sport"], hypothesis_template="this text is about {}.", multi_label=True)["scores"][0]
    seen = ZeroShotClassifier(path, device="cpu").predict(text, ["sport"], nli_template="this text is about {}.")[0]
    parts.append(f"{order[-1]} last {seen:.2f} pipeline {right:.2f}")
print(f"ktrain {importlib.metadata.version('ktrain')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ktrain 0.41.4: entailment last 0.69 pipeline 0.13; entailment last 1.00 pipeline 0.97; contradiction\
 last 0.31 pipeline 0.13; contradiction last 0.00 pipeline 0.97"
