#!/usr/bin/env bash
# Answers of ktrain begin a token early: "of paris" where a BERT points at "paris"; if it is unsure there may be none.
#
# Guess before the run: `predict_squad` of ktrain's question answering returns the text from the token with the highest
# start score to the one with the highest end score, and the best span where the two are in another order.
# Seen: ktrain 0.41.4. Scores that point at one word, "paris", give "of paris". At "the team", the first words of the
# text, they give "the team", for the [SEP] before them is taken out. Scores are cut by the [CLS] before their maximum
# is looked for; the end is moved back by it, the start is not. Starts and ends are chosen apart: where the best end is
# before the best start the answer is empty, though another end after it has a score of 8 where the best one has 9.
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
import sys
import types
import warnings
from abc import ABC, abstractmethod
from unittest.mock import MagicMock

import numpy as np
import torch
from transformers import BertTokenizerFast

# Question answering alone, without TensorFlow, the search index and the models that the whole package imports.
root = importlib.util.find_spec("ktrain").submodule_search_locations[0]
for name in ("ktrain", "ktrain.text", "ktrain.text.qa"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("ktrain").replace(".", "/")]
imports = types.ModuleType("ktrain.imports")
imports.np, imports.warnings, imports.ABC, imports.abstractmethod = np, warnings, ABC, abstractmethod
sys.modules["ktrain.imports"] = imports
for name in ("ktrain.utils", "ktrain.text.textutils", "ktrain.text.preprocessor"):
    package, _, part = name.rpartition(".")
    sys.modules[name] = MagicMock()
    setattr(sys.modules[package], part, sys.modules[name])
sys.modules["ktrain.utils"].get_hf_model_name = lambda name: "bert"
sys.modules.update({name: MagicMock() for name in ("whoosh", "whoosh.fields", "whoosh.qparser")})

from ktrain.text.qa.extractive_qa import ExtractiveQABase

words = "[PAD] [UNK] [CLS] [SEP] [MASK] who won ? the team of paris won the cup , they say".split()
vocabulary = f"{sys.argv[1]}/vocab.txt"
with open(vocabulary, "w") as file:
    file.write("\n".join(dict.fromkeys(words)))


class Answers(ExtractiveQABase):
    framework, torch_device, model_name, maxlen = "pt", "cpu", "bert", 512
    tokenizer = BertTokenizerFast(vocabulary)

    def __init__(self, starts, ends):
        self.starts, self.ends = starts, ends

    def search(self, query):
        return []

    def model(self, input_ids, **options):
        """Scores of 0, but for some words."""
        tokens = self.tokenizer.convert_ids_to_tokens(input_ids[0])
        scores = torch.zeros(2, 1, len(tokens))
        for row, chosen in zip(scores[:, 0], (self.starts, self.ends)):
            for word, score in chosen.items():
                row[tokens.index(word, 4)] = score
        return scores[0], scores[1]


def answer(starts, ends):
    return Answers(starts, ends).predict_squad("the team of paris won the cup", "who won ?")[0]["answer"]


parts = [
    f"paris to paris: '{answer({'paris': 9.0}, {'paris': 9.0})}'",
    f"the to team: '{answer({'the': 9.0}, {'team': 9.0})}'",
    f"paris 9 to team 9 or cup 8: '{answer({'paris': 9.0}, {'team': 9.0, 'cup': 8.0})}'",
]
print(f"ktrain {importlib.metadata.version('ktrain')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ktrain 0.41.4: paris to paris: 'of paris'; the to team: 'the team'; paris 9 to team 9 or cup 8: ''"
