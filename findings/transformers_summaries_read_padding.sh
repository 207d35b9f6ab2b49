#!/usr/bin/env bash
# Summaries of transformers by mean or last word read padding: a class or a choice depends on the batch's longest text.
#
# Guess before the run: with `summary_type="mean"` or "last" the head of an XLM, or that of an ELECTRA for multiple
# choice, summarizes the words that the attention mask leaves, so that padding on the right is without effect.
# Seen: transformers 5.23.0. The summary gets no mask: the mean is that of all places, and the last one is a [PAD]. The
# logits of a text of 12 words move by .23 with the mean and by .51 with the last word if 5 places of padding are
# added, those of a choice of ELECTRA by .33 and .39. With "first", the default of both, they stay. ELECTRA for
# sequence classification takes the first word whatever `summary_type` says.
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
from transformers import ElectraConfig, ElectraForMultipleChoice, XLMConfig, XLMForSequenceClassification

logging.disable(logging.CRITICAL)
ids = torch.arange(10, 22)[None]
places = torch.zeros(1, 5, dtype=torch.long)


def moved(summary, choice):
    if choice:
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
        config = ElectraConfig(vocab_size=60, embedding_size=32, summary_type=summary, **sizes)
        model = ElectraForMultipleChoice(config)
    else:
        config = XLMConfig(vocab_size=60, emb_dim=32, n_layers=2, n_heads=4, pad_token_id=0, summary_type=summary)
        model = XLMForSequenceClassification(config)
    torch.manual_seed(0)
    for parameter in model.eval().parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.3)
    logits = []
    for count in (0, 5):
        inputs = torch.cat([ids, places[:, :count]], 1)
        mask = torch.cat([torch.ones_like(ids), torch.zeros_like(places[:, :count])], 1)
        if choice:
            inputs, mask = inputs[:, None], mask[:, None]
        with torch.no_grad():
            logits.append(model(input_ids=inputs, attention_mask=mask).logits)
    return (logits[0] - logits[1]).abs().max().item()


words = []
for summary in ("first", "mean", "last"):
    words.append(f"{summary} {moved(summary, False):.2f} and {moved(summary, True):.2f}")
version = importlib.metadata.version("transformers")
print(f"transformers {version}, logits of XLM and a choice of ELECTRA move by padding: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0, logits of XLM and a choice of ELECTRA move by padding: first 0.00 and 0.00; mean\
 0.23 and 0.33; last 0.51 and 0.39"
