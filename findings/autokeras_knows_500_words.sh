#!/usr/bin/env bash
# AutoKeras knows 500 words of texts, whatever vocabulary a text block is given or the search finds.
#
# Guess before the run: `TextBlock(max_tokens=20000)`, "The maximum size of the vocabulary", knows the 20,000 most
# frequent words of the texts.
# Seen: autokeras 3.0.0 with Keras 3.10.0 on JAX. Of texts with 290 words all are known, of texts with 540 the 500 most
# frequent: the 40 that tell the class all become 0, as padding does, while the embedding has 20,001 rows. The tokenizer
# is made without arguments, with 500 words and texts of 100: the 101st word of a text is cut off, too. What a search
# finds among 500, 5,000 and 20,000 words is only the size of the embedding.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.10.0 keras-tuner==1.4.8 jax==0.10.2 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 six==1.17.0 \
    dm-tree==0.1.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    autokeras==3.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import autokeras
import numpy as np


def run(fillers):
    """Train on texts of 20 fillers and one of 40 words that are less frequent, and say how many of these are known."""
    told = [f"told{row % 40}" for row in range(800)]
    words = np.array([f"filler{row % fillers}" for row in range(16000)]).reshape(800, 20)
    texts, labels = np.array([" ".join([*row, word]) for word, row in zip(told, words)]), np.arange(800) % 2
    inputs = autokeras.TextInput()
    outputs = autokeras.ClassificationHead()(autokeras.TextBlock(max_tokens=20000)(inputs))
    name = f"{fillers + 40} words"
    model = autokeras.AutoModel(inputs, outputs, max_trials=1, directory=sys.argv[1], project_name=name, seed=1)
    model.fit(texts, labels, epochs=1, verbose=0)
    rows = next(layer.input_dim for layer in model.export_model().layers if hasattr(layer, "input_dim"))
    tokenizer = model.tuner.get_best_pipeline().inputs[0][-1]
    told, far = tokenizer.transform([" ".join(told[:40]), "filler0 " * 100 + "filler1"])
    far = np.sum(far == tokenizer.vocab["filler1"])
    return f"{name}, {len(tokenizer.vocab)} known, {np.sum(told > 0)} of 40, word 101 {far} times, {rows} rows"


parts = [run(250), run(500)]
print(f"autokeras {importlib.metadata.version('autokeras')}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "autokeras 3.0.0: 290 words, 290 known, 40 of 40, word 101 0 times, 20001 rows; 540 words, 500 known, 0\
 of 40, word 101 0 times, 20001 rows"
