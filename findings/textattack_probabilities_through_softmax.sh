#!/usr/bin/env bash
# TextAttack takes rounded probabilities for logits: .99 becomes .73, and one row of a batch changes all of them.
#
# Guess before the run: a classifier that returns probabilities, as float16 or with four digits as a service does, has
# the same scores in a goal function as before: these "need to have a softmax applied" if they are none yet.
# Seen: textattack 0.3.11. If the probabilities of one text of a batch add up to a number that is off by a millionth,
# those of all its texts go through a softmax: .9901 and .0098 become .73 and .27. In float16 the most likely of three
# classes has .82 in the mean before and .51 after it, of 20 classes .60 and .09. So scores of one text depend on its
# batch. What is compared with `target_max_score` is so another number than the model's. Logits that happen to add up to
# 1, as 3 and -2, are taken for probabilities.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 nltk==3.10.4 lru-dict==1.4.1 Levenshtein==0.27.5 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textattack==0.3.11
cat > "$folder/program.py" <<'PYTHON'
import importlib.util
import sys
import types
from unittest.mock import MagicMock

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba requests filelock pandas pinyin word2number num2words lemminflect datasets"
names += " OpenHowNet language_tool_python bert_score langdetect terminaltables editdistance more_itertools tokenizers"
sys.modules.update({name: MagicMock() for name in [*names.split(), "transformers"]})
package = types.ModuleType("textattack")
package.__path__ = list(importlib.util.find_spec("textattack").submodule_search_locations)
sys.modules["textattack"] = package

import importlib.metadata
import logging

import textattack.shared
import torch
from textattack.goal_functions import UntargetedClassification

logging.disable(logging.CRITICAL)


class Victim:
    model = None


goal = UntargetedClassification(Victim())


def scores(rows):
    return goal._process_model_outputs(range(len(rows)), rows)


alone = [scores([row])[0, 0].item() for row in ([0.99, 0.01], [0.9901, 0.0098], [3.0, -2.0])]
batch = scores([[0.99, 0.01], [0.9901, 0.0098]])[:, 0].tolist()
parts = []
generator = torch.Generator().manual_seed(0)
for classes in (3, 20):
    logits = 3 * torch.randn(256, classes, generator=generator)
    for dtype in (torch.float32, torch.float16):
        probabilities = logits.softmax(-1).to(dtype)
        means = [rows.amax(1).float().mean().item() for rows in (probabilities, scores(probabilities.clone()))]
        parts.append(f"{classes} classes {str(dtype)[6:]} {means[0]:.2f} to {means[1]:.2f}")
print(
    f"textattack {importlib.metadata.version('textattack')}: .99 alone {alone[0]:.2f}, .9901 alone {alone[1]:.2f},",
    f"both in a batch {batch[0]:.2f} {batch[1]:.2f}, logits 3 and -2 {alone[2]:.2f};",
    f"most likely class {', '.join(parts)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: .99 alone 0.99, .9901 alone 0.73, both in a batch 0.73 0.73, logits 3 and -2 3.00;\
 most likely class 3 classes float32 0.82 to 0.82, 3 classes float16 0.82 to 0.51, 20 classes float32 0.60 to 0.60, 20\
 classes float16 0.60 to 0.09"
