#!/usr/bin/env bash
# A BERT in tfkit never reads [CLS]: its texts begin with the word "cls", that is [UNK], twice.
#
# Guess before the run: tfkit's tasks give a BERT "[CLS] text [SEP]": `tok_begin` of a BERT's tokenizer is its
# `cls_token`, for it has no `bos_token`.
# Seen: tfkit 0.8.20. The function looks the `cls_token` up and forgets to return it, so that it ends at its last line
# and returns "cls". That word has the id of [UNK], if the vocabulary does not have it, and both steps of the
# preprocessing set it before the text: a classifier reads "[UNK] [UNK] w1 w2 [SEP]". A BERT whose classifier was
# trained elsewhere says other things here, and a pre-trained one has never seen a text like that; the outputs of [CLS]
# are missing.
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

import torch
from tfkit.task.clas import Preprocessor
from tfkit.utility import tok
from transformers import BertConfig, BertModel, BertTokenizer

with open(f"{sys.argv[1]}/vocab.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "w1", "w2"]))
tokenizer = BertTokenizer(f"{sys.argv[1]}/vocab.txt")
preprocessor = Preprocessor(tokenizer, maxlen=16)
labels = {"topic": ["a", "b"]}
(item,) = preprocessor.preprocess({"task": "topic", "input": "w1 w2"})
ids = preprocessor.postprocess({**item, "task_dict": labels}, tokenizer, 16)["input"]
right = torch.tensor(tokenizer("w1 w2")["input_ids"])
torch.manual_seed(0)
size = dict(vocab_size=7, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
bert = BertModel(BertConfig(**size)).eval()
with torch.no_grad():
    first, other = (bert(row[None]).last_hidden_state[0, 0] for row in (ids, right))
print(
    f"tfkit {importlib.metadata.version('tfkit')}: tok_begin {tok.tok_begin(tokenizer)!r},",
    f"id {tok.tok_begin_id(tokenizer)} of {tokenizer.unk_token}; reads {tokenizer.decode(ids.tolist())},",
    f"BERT {tokenizer.decode(right.tolist())};",
    f"cosine of the first vectors {torch.cosine_similarity(first, other, dim=0):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfkit 0.8.20: tok_begin 'cls', id 1 of [UNK]; reads [UNK] [UNK] w1 w2 [SEP], BERT [CLS] w1 w2 [SEP];\
 cosine of the first vectors 0.82"
