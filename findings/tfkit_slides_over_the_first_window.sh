#!/usr/bin/env bash
# tfkit slides no window over a long text: it reads the first one alone, whichever way windows are to be merged.
#
# Guess before the run: With `handle_exceed="slide"` a classifier of tfkit reads all windows of a text that is longer
# than its `maxlen`, and takes the surest of them ("prob", "entropy") or the most frequent label ("count").
# Seen: tfkit 0.8.20. Texts of 90 words, a `maxlen` of 32, a classifier that finds the word "yes" among others. The
# windows are paired with a list of targets that has one element, without a target, too, so that one window is left, in
# training as in `predict`. Of 9 texts that have the word at place 1, 11, 21 ... the three in whose first 29 words it
# stands are found, by each of the three strategies.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.14.1 scikit-learn==1.9.1 numpy==2.4.6 nlp2==1.9.4 editdistance==0.8.1 \
    inquirer==3.4.1 accelerate==1.15.0 joblib==1.6.0 tensorboard==2.21.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tfkit==0.8.20
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch
from tfkit.task.clas import Model, Preprocessor
from tfkit.utility import tok
from transformers import BertTokenizer

with open(f"{sys.argv[1]}/vocab.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", *(f"w{i}" for i in range(90))]))
tokenizer = BertTokenizer(f"{sys.argv[1]}/vocab.txt")


class Finder(torch.nn.Module):
    """An encoder whose vectors say whether the word "yes" is in the text."""

    config = types.SimpleNamespace(hidden_size=2)

    def forward(self, ids, mask):
        found = (ids == 5).any(1).float()[:, None, None].expand(-1, ids.shape[1], 1)
        return (torch.cat([1 - found, found], -1),)


model = Model(tokenizer, Finder(), {"topic": ["absent", "found"]}, maxlen=32).eval()
with torch.no_grad():
    model.classifier_list[0].weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 9.0]]))
    model.classifier_list[0].bias.zero_()
texts = []
for place in range(0, 90, 10):
    texts.append(" ".join("yes" if i == place else f"w{i}" for i in range(90)))
windows, _ = tok.handle_exceed(tokenizer, texts[0], 29, mode="slide")
preprocessor = Preprocessor(tokenizer, maxlen=32, handle_exceed="slide")
kept = [len(preprocessor.preprocess({"task": "topic", "input": texts[0], "target": ["found"]}))]
kept.append(len(preprocessor.preprocess({"task": "topic", "input": texts[0]})))
words = []
for strategy in ("prob", "entropy", "count"):
    labels = []
    for text in texts:
        (label,), _ = model.predict(input=text, task="topic", handle_exceed="slide", merge_strategy=strategy)
        labels.append(label)
    words.append(f"{strategy} {labels.count('found')}")
print(
    f"tfkit {importlib.metadata.version('tfkit')}: {len(windows)} windows, of which training has {kept[0]} and",
    f"predict {kept[1]}; found in {len(texts)} texts: {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfkit 0.8.20: 6 windows, of which training has 1 and predict 1; found in 9 texts: prob 3, entropy 3,\
 count 3"
