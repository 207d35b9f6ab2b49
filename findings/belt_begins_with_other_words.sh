#!/usr/bin/env bash
# BELT's long texts begin with w96 instead of [CLS] unless the vocabulary has Google's places: in RoBERTa, too.
#
# Guess before the run: one chunk of a text is the same input as the truncated classifier's, [CLS] text [SEP], with the
# tokenizer's own special tokens and padding, for any BERT and RoBERTa, as BELT's documentation says; so are the
# scores.
# Seen: belt-nlp 1.1.0 with torch 2.13.0 and transformers 5.23.0, small random models. The numbers 101, 102 and 0 are
# written in: a vocabulary whose special tokens come first (as Hugging Face's trainers write it) gets the words of
# these numbers at both ends of each chunk, RoBERTa also <s> as padding, and the score of a class changes by a fifth.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    belt-nlp==1.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import torch
from belt_nlp.bert import BertNN
from belt_nlp.bert_classifier_truncated import BertClassifierTruncated
from belt_nlp.bert_classifier_with_pooling import BertClassifierWithPooling
from transformers import BertConfig, BertModel, BertTokenizerFast, RobertaConfig, RobertaModel, RobertaTokenizerFast

torch.manual_seed(0)
torch.set_num_threads(1)
words = [f"w{number}" for number in range(200)]
folder = pathlib.Path(sys.argv[1])
sizes = dict(hidden_size=768, num_hidden_layers=1, num_attention_heads=12, intermediate_size=64)
sizes |= dict(max_position_embeddings=520, initializer_range=0.2)
special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
places = ["[PAD]", *[f"[unused{number}]" for number in range(99)], *special[1:], *words]
cases = []
for name, tokens in (("BERT with Google's places", places), ("BERT of another vocabulary", [*special, *words])):
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    model = BertModel(BertConfig(vocab_size=len(tokens), **sizes))
    cases.append((name, BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512), model))
pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *[chr(code) for code in range(33, 127)], "\u0120", *words]
vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
tokenizer = RobertaTokenizerFast(vocab=vocab, merges=[], model_max_length=512)
config = RobertaConfig(vocab_size=len(vocab), pad_token_id=1, **sizes)
cases.append(("RoBERTa", tokenizer, RobertaModel(config)))
texts = ["w1 w2 w3", "w7 w8", "w100 w101 w102 w103 w104", "w9"]
found = []
for name, tokenizer, model in cases:
    options = dict(num_labels=2, batch_size=4, learning_rate=1e-4, epochs=1, device="cpu")
    options |= dict(tokenizer=tokenizer, neural_network=BertNN(model, 2))
    pooled = BertClassifierWithPooling(chunk_size=510, stride=510, minimal_chunk_length=1, **options)
    truncated = BertClassifierTruncated(**options)
    ids = pooled._tokenize(texts)["input_ids"][0][0]
    pads = ids[-1].item()
    end = (ids != pads).nonzero().max()
    difference = (pooled.predict_scores(texts) - truncated.predict_scores(texts)).abs().max().item()
    first, last, pad = tokenizer.convert_ids_to_tokens([ids[0].item(), ids[end].item(), pads])
    found.append(
        f"{name} begins with {first}, ends with {last}, is padded with {pad}, scores differ by {difference:.2f}"
    )
print(f"belt-nlp {importlib.metadata.version('belt-nlp')}, one chunk and the truncated classifier:", "; ".join(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "belt-nlp 1.1.0, one chunk and the truncated classifier: BERT with Google's places begins with [CLS],\
 ends with [SEP], is padded with [PAD], scores differ by 0.00; BERT of another vocabulary begins with\
 w96, ends with w97, is padded with [PAD], scores differ by 0.21; RoBERTa begins with w1, ends with w2,\
 is padded with <s>, scores differ by 0.23"
