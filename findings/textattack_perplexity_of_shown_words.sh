#!/usr/bin/env bash
# TextAttack shows a BERT the words whose perplexity it takes: one that copies its input has 1.00 for any heap of words.
#
# Guess before the run: `Perplexity(model_name)` with a masked LM, for which the package has a branch of its own, masks
# each word and asks the model for it.
# Seen: textattack 0.3.11. It gives the text to the model unmasked, with its own words as labels. A BERT that only
# copies, and has no idea of what is masked, has a perplexity of 1.00 for a sentence, for its words in another order and
# for words drawn by chance; with each word masked in turn it has 5e21 for all three. The better a model copies, the
# less the number says of a text, before an attack and after it.
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
import importlib.metadata
import importlib.util
import logging
import sys
import types
from unittest.mock import MagicMock

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM, BertTokenizerFast

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba pandas pinyin word2number num2words lemminflect datasets OpenHowNet"
names += " language_tool_python bert_score langdetect terminaltables editdistance more_itertools"
sys.modules.update({name: MagicMock() for name in names.split()})
root = importlib.util.find_spec("textattack").submodule_search_locations[0]
for name in ("textattack", "textattack.metrics.quality_metrics"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("textattack").replace(".", "/")]
logging.disable(logging.CRITICAL)
metrics = types.ModuleType("textattack.metrics")
metrics.__path__ = [f"{root}/metrics"]
sys.modules["textattack.metrics"] = metrics

import textattack.shared
from textattack.metrics.metric import Metric

metrics.Metric = Metric
from textattack.metrics.quality_metrics.perplexity import Perplexity

words = "[PAD] [UNK] [CLS] [SEP] [MASK] the film was long but its end is good and we like it very much in our town now"
words = words.split()
size = len(words)
path = sys.argv[1]
with open(f"{path}/words.txt", "w") as file:
    file.write("\n".join(words))
BertTokenizerFast(f"{path}/words.txt").save_pretrained(path)
config = BertConfig(
    vocab_size=size, hidden_size=size, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4,
    max_position_embeddings=512,
)
model = BertForMaskedLM(config)
with torch.no_grad():
    for name, weight in model.named_parameters():
        weight.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
    # Each word has a unit of its own, which goes through the whole model.
    model.bert.embeddings.word_embeddings.weight.copy_(10 * torch.eye(size))
    model.cls.predictions.transform.dense.weight.copy_(torch.eye(size))
model.save_pretrained(path)
perplexity = Perplexity(path)


def masked(text):
    """The perplexity with each word masked in turn."""
    ids = perplexity.ppl_tokenizer(text, return_tensors="pt")["input_ids"]
    losses = []
    for place in range(1, ids.shape[1] - 1):
        hidden = ids.clone()
        hidden[0, place] = perplexity.ppl_tokenizer.mask_token_id
        losses.append(-perplexity.ppl_model(hidden).logits[0, place].log_softmax(-1)[ids[0, place]])
    return torch.stack(losses).mean().exp().item()


texts = {
    "a sentence": "the film was long but its end is good and we like it",
    "in another order": "it like we and good is end its but long was film the",
    "by chance": "our our town very in in now much it long the the town",
}
parts = [f"{name} {perplexity.calc_ppl([text]):.2f}, masked {masked(text):.0e}" for name, text in texts.items()]
print(f"textattack {importlib.metadata.version('textattack')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: a sentence 1.00, masked 5e+21; in another order 1.00, masked 5e+21; by chance 1.00,\
 masked 5e+21"
