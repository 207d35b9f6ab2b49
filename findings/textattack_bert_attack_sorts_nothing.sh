#!/usr/bin/env bash
# BERT-Attack of TextAttack sorts nothing: for a word of three pieces it takes the first candidates, not the likeliest.
#
# Guess before the run: for a word of several pieces `WordSwapMaskedLM(method="bert-attack")` returns the
# `max_candidates` combinations of pieces with the lowest perplexity, as its comment "Sort to get top-K results" says.
# Seen: textattack 0.3.11. Of 216 combinations of six pieces at three places it returns the first six that are listed:
# the first piece is the same in all of them, and the second one nearly always. Two of them are among the six likeliest,
# whose mean perplexity is 16.1 where theirs is 19.3. `sorted` is called, and what it returns is thrown away. A word of
# two pieces keeps its likeliest first piece as long as there are candidates for the second one, 8 in the package's
# recipe: only its ending is attacked.
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

from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba pandas pinyin word2number num2words lemminflect datasets"
names += " OpenHowNet language_tool_python bert_score langdetect terminaltables editdistance more_itertools"
sys.modules.update({name: MagicMock() for name in names.split()})
package = types.ModuleType("textattack")
package.__path__ = list(importlib.util.find_spec("textattack").submodule_search_locations)
sys.modules["textattack"] = package

import importlib.metadata
import itertools
import logging

import textattack.shared
import torch
from textattack.shared import AttackedText, utils
from textattack.transformations.word_swaps.word_swap_masked_lm import WordSwapMaskedLM

logging.disable(logging.CRITICAL)
words = "[PAD] [UNK] [CLS] [SEP] [MASK] the a film was sad good dis re un pre mis out"
words = words.split() + [f"##{piece}" for piece in "like able ing ly ful ed ness ment er".split()]
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w") as file:
    file.write("\n".join(words))
tokenizer = BertTokenizerFast(path)
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
    max_position_embeddings=64, initializer_range=0.3,
)
model = BertForMaskedLM(config).eval()
text = "the film was dislikeable"
swap = WordSwapMaskedLM("bert-attack", model, tokenizer, max_length=32, max_candidates=6)
returned = [new.words[3] for new in swap._get_transformations(AttackedText(text), [3])]
with torch.no_grad():
    # [CLS] and three words stand before the pieces of the word.
    losses = -model(**tokenizer(text, return_tensors="pt")).logits[0, 4:7].log_softmax(-1)
tops = [row.topk(6, largest=False).indices.tolist() for row in losses]
perplexities = {}
for ids in itertools.product(*tops):
    word = "".join(tokenizer.convert_ids_to_tokens(ids)).replace("##", "")
    value = losses[range(3), ids].mean().exp().item()
    if utils.is_one_word(word):
        perplexities[word] = min(value, perplexities.get(word, value))
best = sorted(perplexities, key=perplexities.get)[:6]
means = [sum(perplexities[word] for word in group) / 6 for group in (returned, best)]
print(
    f"textattack {importlib.metadata.version('textattack')}, pieces {tokenizer.tokenize('dislikeable')}:",
    f"{len(returned)} candidates {' '.join(returned)}, likeliest {' '.join(best)};",
    f"{len(set(returned) & set(best))} in both; mean perplexity {means[0]:.1f} and {means[1]:.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, pieces ['dis', '##like', '##able']: 6 candidates ablelikelike ablelikepre\
 ablelikedis ablelikeer ableprelike ableprepre, likeliest ablelikelike ableprelike dislikelike likelikelike disprelike\
 ableerlike; 2 in both; mean perplexity 19.3 and 16.1"
