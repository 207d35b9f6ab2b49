#!/usr/bin/env bash
# A KerasHub tokenizer that is saved forgets `split_on_cjk=False`, and cuts Chinese words into characters afterwards.
#
# Guess before the run: `WordPieceTokenizer(..., split_on_cjk=False)` saved in a model, or as its configuration, and
# loaded again tokenizes as before.
# Seen: KerasHub 0.32.0. The two words of a text cut beforehand, both in the vocabulary, are two tokens before and five
# characters, all [UNK], after: the argument is the only one that `get_config` leaves out.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import keras_hub

vocabulary = ["[PAD]", "[UNK]", "\u5317\u4eac", "\u5927\u5b66\u751f"]
tokenizer = keras_hub.tokenizers.WordPieceTokenizer(vocabulary, split_on_cjk=False)
text = " ".join(vocabulary[2:])
again = keras_hub.tokenizers.WordPieceTokenizer.from_config(tokenizer.get_config())
again.set_vocabulary(vocabulary)
print(f"keras_hub {keras_hub.__version__}:", *(list(map(int, each(text))) for each in (tokenizer, again)))
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: [2, 3] [1, 1, 1, 1, 1]"
