#!/usr/bin/env bash
# The permutation collator of transformers drops the attention mask: an XLNet reads padding while it is trained.
#
# Guess before the run: a batch of `DataCollatorForPermutationLanguageModeling` keeps padding from being read, by the
# attention mask that the tokenizer gave for each text or by its `perm_mask`.
# Seen: transformers 5.23.0. The attention mask is left out of the batch, and `perm_mask` closes masked words only: of
# a text of 8 words beside one of 30 the words that are predicted may read all 22 places of padding. The loss of an
# XLNet changes if other ids are put there, by .005 of one with random weights, and stays if the tokenizer's attention
# mask is given. A short text is trained with [PAD] as its context, which it never has when it is alone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    DataCollatorForPermutationLanguageModeling,
    PreTrainedTokenizerFast,
    XLNetConfig,
    XLNetLMHeadModel,
)

logging.disable(logging.CRITICAL)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{number}" for number in range(40)]
backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
names = {name: f"[{short}]" for name, short in (("unk_token", "UNK"), ("pad_token", "PAD"), ("mask_token", "MASK"))}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, cls_token="[CLS]", sep_token="[SEP]", **names)
texts = [" ".join(f"w{number}" for number in range(count)) for count in (8, 30)]
collator = DataCollatorForPermutationLanguageModeling(tokenizer=tokenizer, plm_probability=0.4)
torch.manual_seed(0)
model = XLNetLMHeadModel(XLNetConfig(vocab_size=45, d_model=32, n_layer=2, n_head=4, d_inner=64, dropout=0.0)).eval()
for parameter in model.parameters():
    torch.nn.init.normal_(parameter, 0, 0.2)
read, moved, masked = [], [], []
for _ in range(50):
    batch = collator([tokenizer(text) for text in texts])
    predicted = batch["labels"][0] != -100
    padding = batch["input_ids"][0] == 0
    read.append((batch["perm_mask"][0][predicted][:, padding] == 0).float().mean())
    other = batch["input_ids"].clone()
    other[0, padding] = 7
    mask = torch.tensor(tokenizer(texts, padding=True)["attention_mask"])
    losses = []
    for ids in (batch["input_ids"], other):
        for options in ({}, {"attention_mask": mask}):
            with torch.no_grad():
                losses.append(model(**{**batch, "input_ids": ids}, **options).loss.item())
    moved.append(abs(losses[2] - losses[0]))
    masked.append(abs(losses[3] - losses[1]))
share = torch.stack(read).nanmean()
print(
    f"transformers {importlib.metadata.version('transformers')}: {sorted(batch)}, padding read {share:.2f},",
    f"loss moves {sum(moved) / 50:.3f}, with the mask {sum(masked) / 50:.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: ['input_ids', 'labels', 'perm_mask', 'target_mapping'], padding read 1.00, loss\
 moves 0.005, with the mask 0.000"
