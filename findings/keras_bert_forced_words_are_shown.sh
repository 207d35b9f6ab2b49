#!/usr/bin/env bash
# Half of the words that keras-bert asks for in short texts are shown: "at least one position" masked is not masked.
#
# Guess before the run: where no word of a pair is drawn, `force_mask` of `gen_batch_inputs` masks one, so that nearly
# all words a model has to predict are hidden: 80 % [MASK], 10 % another word. With `swap_sentence_rate=.5` half of the
# second sentences are others.
# Seen: keras-bert 0.89.0. The forced place is always the first word, and it stays as it is: the model learns to copy
# it. In pairs of four words 51 % of the words that count in the loss are shown, in pairs of 40 words 10 %, as it should
# be. If the first sentence is empty its [SEP] is the forced word. Second sentences are shuffled among those that were
# drawn: in batches of 2, 4 and 64 they are others in 12, 27 and 48 % of pairs. Padding has segment 1 here, and 0 in the
# package's own `encode`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-bert==0.89.0 keras-transformer==0.40.0 keras-pos-embd==0.13.0 keras-multi-head==0.29.0 \
    keras-layer-normalization==0.16.0 keras-position-wise-feed-forward==0.8.0 keras-embed-sim==0.10.0 \
    keras-self-attention==0.51.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from keras_bert import Tokenizer, gen_batch_inputs, get_base_dict

words = get_base_dict()
names = [f"w{number}" for number in range(1000)]
for name in names:
    words[name] = len(words)
np.random.seed(0)


def shown(length):
    """The share of words to be predicted that the model is shown, and of them the share at the first place."""
    first = seen = total = 0
    for _ in range(4000 // length * 10):
        text = list(np.random.choice(names, length))
        inputs, outputs = gen_batch_inputs([(text[: length // 2], text[length // 2 :])], words, names, length + 3)
        asked = inputs[2][0] == 1
        same = asked & (inputs[0][0] == outputs[0][0, :, 0])
        first, seen, total = first + same[1], seen + same.sum(), total + asked.sum()
    return f"{seen / total:.2f} (first word {first / seen:.2f})"


def swapped(size):
    pairs = [(["w1"], [names[number]]) for number in range(size)]
    return np.mean([gen_batch_inputs(pairs, words, names, 8)[1][1] for _ in range(32000 // size)])


segments = gen_batch_inputs([(["w1"], ["w2"])], words, names, 8)[0][1][0]
print(
    f"keras-bert {importlib.metadata.version('keras-bert')}: shown in pairs of 4 words {shown(4)}, of 40 {shown(40)};",
    f"swapped in batches of 2 {swapped(2):.2f}, 4 {swapped(4):.2f}, 64 {swapped(64):.2f};",
    f"segments {''.join(map(str, segments))}, encode {''.join(map(str, Tokenizer(words).encode('w1', 'w2', 8)[1]))}",
)
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-bert 0.89.0: shown in pairs of 4 words 0.51 (first word 0.92), of 40 0.10 (first word 0.04);\
 swapped in batches of 2 0.12, 4 0.27, 64 0.48; segments 00011111, encode 00011000"
