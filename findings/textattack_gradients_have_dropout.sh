#!/usr/bin/env bash
# Gradients by which TextAttack chooses words are taken with dropout on: the most important word changes by call.
#
# Guess before the run: `HuggingFaceModelWrapper.get_grad` of a BERT in eval mode returns one gradient for one text,
# that of the model which is attacked, whose predictions have no dropout.
# Seen: textattack 0.3.11. It sets the model to train mode first. In 100 calls with one text nine of its ten words are
# the most important one, the most frequent of them 41 times. The gradient of a call and that without dropout correlate
# by .34 in the mean; without dropout all calls return the same. The label whose loss is taken comes from one dropout
# mask and the loss from another one. `GreedyWordSwapWIR(wir_method="gradient")` attacks words in that order, so that
# one attack begins with other words in each run.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.57.6 numpy==2.4.6 scipy==1.17.1 nltk==3.10.4 lru-dict==1.4.1 Levenshtein==0.27.5 \
    tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textattack==0.3.11
cat > "$folder/program.py" <<'PYTHON'
import importlib.util
import sys
import types
from unittest.mock import MagicMock

from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba pandas pinyin word2number num2words lemminflect datasets"
names += " OpenHowNet language_tool_python bert_score langdetect terminaltables editdistance more_itertools"
sys.modules.update({name: MagicMock() for name in names.split()})
package = types.ModuleType("textattack")
package.__path__ = list(importlib.util.find_spec("textattack").submodule_search_locations)
sys.modules["textattack"] = package

import importlib.metadata
import logging

import numpy as np
import textattack.shared
import torch
from textattack.models.wrappers import HuggingFaceModelWrapper

logging.disable(logging.CRITICAL)
words = "[PAD] [UNK] [CLS] [SEP] [MASK] the film was good and sad but we like its end".split()
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w") as file:
    file.write("\n".join(words))
tokenizer = BertTokenizerFast(path, model_max_length=16)
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
    max_position_embeddings=32,
)
model = BertForSequenceClassification(config).eval()
wrapper = HuggingFaceModelWrapper(model, tokenizer)
text = "the film was sad but we like its good end"


def gradient():
    return wrapper.get_grad(text)["gradient"][1:11]


seen = [gradient() for _ in range(100)]
model.train = lambda mode=True: model  # What get_grad returns of a model that stays in eval mode.
model.eval()
right = [gradient() for _ in range(2)]


def most_important(gradients):
    return np.abs(gradients).sum(-1).argmax()


counts = np.bincount([most_important(gradients) for gradients in seen], minlength=10)
alike = np.mean([np.corrcoef(gradients.ravel(), right[0].ravel())[0, 1] for gradients in seen])
print(
    f"textattack {importlib.metadata.version('textattack')}: times that each word is the most important one",
    f"{counts.tolist()}; correlation with the gradient without dropout {alike:.2f}, which is",
    f"{'the same' if np.array_equal(*right) else 'another'} in two calls",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: times that each word is the most important one [24, 41, 4, 1, 1, 1, 21, 0, 6, 1];\
 correlation with the gradient without dropout 0.34, which is the same in two calls"
