#!/usr/bin/env bash
# A SetFit classifier that is exported to ONNX has lost the Normalize or Dense of its encoder: it has other labels.
#
# Guess before the run: `export_onnx(model.model_body, model.model_head, …)` computes what `predict` does, of the
# encoders whose `modules.json` ends with Normalize, as all-MiniLM-L6-v2's and the BGE models', too, or refuses them.
# Seen: setfit 1.2.0, sentence-transformers 6.2.0, skl2onnx 1.20.0. The export takes the modules 0 and 1, the
# transformer and its pooling, and puts the head behind them, which was trained on what the last module gives. Nothing
# is said, as the sizes fit. `normalize_embeddings=True` of the model itself is left out as well. Without these it is
# exact.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    setfit==1.2.0 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6 \
    skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random
import sys

import numpy as np
import onnxruntime
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from setfit import SetFitModel
from setfit.exporters.onnx import export_onnx
from transformers import BertConfig, BertModel, BertTokenizer

folder = sys.argv[1]
letters = [chr(97 + number) for number in range(26)]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
tokenizer = BertTokenizer(vocab={token: id for id, token in enumerate(tokens)}, model_max_length=16)
draw = random.Random(0)
texts = [" ".join(draw.choices(letters, k=draw.randrange(3, 10))) for _ in range(60)]
labels = [int(sum(text.count(vowel) for vowel in "aeio") > 1) for text in texts]


def compare(name, modules=(), **options):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    path = f"{folder}/{name}"
    BertModel(config).save_pretrained(f"{path}_encoder")
    tokenizer.save_pretrained(f"{path}_encoder")
    encoder = Transformer(f"{path}_encoder")
    SentenceTransformer(modules=[encoder, Pooling(32, "mean"), *modules], device="cpu").save_pretrained(path)
    model = SetFitModel.from_pretrained(path, device="cpu", **options)
    model.fit(texts, labels, num_epochs=1)
    right = np.asarray(model.predict_proba(texts))
    export_onnx(model.model_body, model.model_head, opset=14, output_path=f"{path}.onnx")
    session = onnxruntime.InferenceSession(f"{path}.onnx")
    rows = tokenizer(texts, padding=True, return_token_type_ids=True, return_tensors="np")
    found_labels, found = session.run(None, {one.name: rows[one.name] for one in session.get_inputs()})
    if np.abs(found - right).max() < 1e-4:
        return f"{name} equal"
    return f"{name} other, {np.sum(found_labels == right.argmax(1))} of 60 labels are the same"


print(
    f"setfit {importlib.metadata.version('setfit')}:",
    "; ".join(
        [
            compare("pooling"),
            compare("Normalize", [Normalize()]),
            compare("Dense", [Dense(32, 32)]),
            compare("normalize_embeddings", normalize_embeddings=True),
        ]
    ),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "setfit 1.2.0: pooling equal; Normalize other, 44 of 60 labels are the same;\
 Dense other, 57 of 60 labels are the same; normalize_embeddings other, 44 of 60 labels are the same"
