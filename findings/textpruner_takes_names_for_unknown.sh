#!/usr/bin/env bash
# TextPruner forgets that a BERT is cased: the pruned vocabulary holds Paris and London, but both are read as [UNK].
#
# Guess before the run: a model whose vocabulary is pruned to the words of some texts has the same scores for these
# texts after it is loaded from its folder, as the tokenizer says "Reinitialize the tokenizer".
# Seen: textpruner 1.1.post2 with torch 2.13.0 and transformers 4.46.3, a small cased BERT. Of the tokenizer only
# vocab.txt is written, and a tokenizer that is made from the folder lower-cases: names and capitals, whose small forms
# were pruned away or never there, are unknown, and a class's score changes by .74. With `do_lower_case=False` by hand
# nothing changes.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 tqdm==4.70.1 sentencepiece==0.2.3 \
    protobuf==7.36.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textpruner==1.1.post2
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import pathlib
import sys

import torch
from textpruner import VocabularyPruner
from textpruner.configurations import GeneralConfig
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

torch.manual_seed(0)
torch.set_num_threads(1)
folder = pathlib.Path(sys.argv[1])
words = ["Paris", "London", "Anna", "the", "train", "from", "to", "was", "late", "polish", "Polish", "us", "US", "."]
special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
(folder / "vocab.txt").write_text("\n".join([*special, *[f"other{number}" for number in range(200)], *words]) + "\n")
tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False)
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
model = BertForSequenceClassification(BertConfig(vocab_size=219, initializer_range=0.5, **sizes)).eval()
texts = ["the train from Paris to London was late .", "Anna was late .", "the Polish train to US was late ."]


def scores(tokenizer, model):
    with torch.no_grad():
        return torch.stack([model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0, 1] for text in texts])


before = scores(tokenizer, model)
with contextlib.redirect_stdout(io.StringIO()):
    config = GeneralConfig(use_device="cpu", output_dir=str(folder / "out"))
    saved = VocabularyPruner(model, tokenizer, general_config=config).prune(dataiter=texts, save_model=True)
found = []
for name, options in (("as it was saved", {}), ("with do_lower_case=False", dict(do_lower_case=False))):
    pruned = BertTokenizer.from_pretrained(saved, **options)
    loaded = BertForSequenceClassification.from_pretrained(saved).eval()
    changes = (scores(pruned, loaded) - before).abs()
    unknown = sum(pruned.tokenize(text).count("[UNK]") for text in texts)
    found.append(
        f"{name} {unknown} unknown of {sum(len(text.split()) for text in texts)}, scores change by {changes.max():.2f}"
    )
files = ", ".join(sorted(path.name for path in pathlib.Path(saved).iterdir()))
print(f"textpruner {importlib.metadata.version('textpruner')} of a cased BERT saves {files}:", "; ".join(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textpruner 1.1.post2 of a cased BERT saves config.json, pytorch_model.bin, vocab.txt: as it was saved\
 5 unknown of 21, scores change by 0.74; with do_lower_case=False 0 unknown of 21, scores change by\
 0.00"
