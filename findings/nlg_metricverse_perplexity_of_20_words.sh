#!/usr/bin/env bash
# NLG-Metricverse's perplexity is that of a text's first 20 tokens, and two to the power of nats: 123 where it is 1,036.
#
# Guess before the run: perplexity is exp of the mean negative log-likelihood of all of a text's tokens, as documented,
# up to the model's length (256 here); 180 words more change it.
# Seen: nlg-metricverse 0.9.9 with torch 2.13.0 and transformers 4.46.3, a small random GPT-2. Texts are cut to
# `config.max_length`, which is not the model's length but the default of `generate`, 20: texts of 20, 40 and 200 words
# with the same beginning have the same perplexity. The mean loss in nats is then the exponent of 2 instead of e.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 \
    scikit-learn==1.9.1 nltk==3.10.4 evaluate==0.4.6 datasets==3.6.0 bert-score==0.3.13 textstat==0.7.13 \
    syllables==1.1.5 pyemd==1.1.0 validators==0.36.0 seaborn==0.13.2 fire==0.7.1 rouge-score==0.1.2 \
    matplotlib==3.11.2 setuptools==79.0.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    nlg-metricverse==0.9.9
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import pathlib
import random
import sys

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

folder = pathlib.Path(sys.argv[1]) / "model"
BertModel(BertConfig(vocab_size=5, hidden_size=16, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(folder)
(folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
os.environ["MOVERSCORE_MODEL"] = str(folder)  # its import loads one for a picture
from nlgmetricverse import NLGMetricverse, load_metric  # noqa: E402

torch.manual_seed(0)
words = [f"w{number}" for number in range(200)]
vocab = {word: number for number, word in enumerate(["<|endoftext|>", *words])}
plain = Tokenizer(WordLevel(vocab, unk_token="<|endoftext|>"))
plain.pre_tokenizer = Whitespace()
ends = {name: "<|endoftext|>" for name in ("bos_token", "eos_token", "unk_token")}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=256, **ends)
tokenizer.save_pretrained(folder / "gpt")
sizes = dict(n_positions=256, n_embd=32, n_layer=2, n_head=2, initializer_range=0.3)
model = GPT2LMHeadModel(GPT2Config(vocab_size=201, bos_token_id=0, eos_token_id=0, **sizes)).eval()
model.save_pretrained(folder / "gpt")
random.seed(0)
start = random.choices(words, k=20)
texts = {
    "20 words": start,
    "40 words": start + random.choices(words, k=20),
    "200 words": start + random.choices(words, k=180),
    "200 words of which 180 are one": start + words[:1] * 180,
}
found = []
for name, text in texts.items():
    metric = load_metric("perplexity", model_id=str(folder / "gpt"))
    score = NLGMetricverse(metrics=metric)(predictions=[" ".join(text)], references=["w1"])["perplexity"]
    ids = tokenizer(" ".join(text), return_tensors="pt")["input_ids"]
    with torch.no_grad():
        right = model(ids, labels=ids).loss.exp().item()
    found.append(f"{name} {score['mean_perplexity']:.0f} ({right:.0f})")
print(f"nlg-metricverse {importlib.metadata.version('nlg-metricverse')}, perplexity of", ", ".join(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nlg-metricverse 0.9.9, perplexity of 20 words 123 (1036), 40 words 123 (724), 200 words 123 (770), 200\
 words of which 180 are one 123 (193)"
