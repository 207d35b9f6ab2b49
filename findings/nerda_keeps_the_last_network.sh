#!/usr/bin/env bash
# NERDA's best network is the last one: its valid_loss is another network's; confidences are of 8 sentences, and logits.
#
# Guess before the run: after `train` the network is the one of the best epoch, whose validation loss is in
# `valid_loss`, as its code's comment says ("return best model"); `predict` with `return_confidence` gives tags and
# confidence scores of all sentences, the scores between 0 and 1.
# Seen: NERDA 1.0.0 with torch 2.13.0 and transformers 4.46.3, 60 sentences of ten words, names with 30 % of noise and
# a small BERT. `state_dict` of the best epoch holds the parameters themselves, which go on learning, so that loading
# them at the end changes nothing: the loss grows from .58 to 1.22, `valid_loss` says .58. `predict` returns inside of
# its loop after the first batch, and the scores are the greatest logits.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 scikit-learn==1.9.1 pandas==3.1.1 \
    nltk==3.10.4 pyconll==3.3.1 tqdm==4.70.1 progressbar==2.5
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    NERDA==1.0.0
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import pathlib
import random
import sys

import torch
from NERDA.models import NERDA
from NERDA.training import create_dataloader, validate
from transformers import BertConfig, BertModel

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
folder = pathlib.Path(sys.argv[1])
words = [f"w{number}" for number in range(100)]
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=105, **sizes)).save_pretrained(folder)


def data(count, noise):
    sentences = [random.choices(words, k=10) for _ in range(count)]
    names = [[(int(word[1:]) < 30) != (random.random() < noise) for word in sentence] for sentence in sentences]
    return {"sentences": sentences, "tags": [["B-PER" if name else "O" for name in row] for row in names]}


with contextlib.redirect_stdout(io.StringIO()) as log:
    model = NERDA(
        str(folder),
        device="cpu",
        tag_scheme=["B-PER"],
        dataset_training=data(60, 0.3),
        dataset_validation=data(60, 0.3),
        max_len=16,
        num_workers=0,
        hyperparameters=dict(epochs=30, warmup_steps=0, train_batch_size=10, learning_rate=0.005),
    )
    model.train()
losses = [float(line.split()[-1]) for line in log.getvalue().splitlines() if "Valid Loss" in line]
valid = model.dataset_validation
loader = create_dataloader(
    **valid,
    transformer_tokenizer=model.transformer_tokenizer,
    transformer_config=model.transformer_config,
    max_len=16,
    batch_size=8,
    tag_encoder=model.tag_encoder,
    tag_outside="O",
    num_workers=0,
)
with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
    loss = validate(model.network.eval(), loader, "cpu", 2)
predictions, confidences = model.predict(valid["sentences"], return_confidence=True)
scores = [score for sentence in confidences for score in sentence]
print(
    f"NERDA {importlib.metadata.version('NERDA')}: validation losses of the 1st, 10th, 20th and 30th epoch",
    " ".join(f"{losses[epoch]:.2f}" for epoch in (0, 9, 19, 29)) + f", valid_loss {model.valid_loss:.2f},",
    f"the loss of its network {loss:.2f}; with confidences {len(predictions)} of 60 sentences, without them",
    f"{len(model.predict(valid['sentences']))}, confidences from {min(scores):.1f} to {max(scores):.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "NERDA 1.0.0: validation losses of the 1st, 10th, 20th and 30th epoch 0.58 0.63 1.08 1.22, valid_loss\
 0.58, the loss of its network 1.22; with confidences 8 of 60 sentences, without them 60, confidences\
 from -0.1 to 3.1"
