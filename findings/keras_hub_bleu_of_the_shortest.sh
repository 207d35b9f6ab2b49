#!/usr/bin/env bash
# The BLEU of KerasHub compares lengths with the shortest reference, and words by another tokenizer than SacreBLEU's.
#
# Guess before the run: `keras_hub.metrics.Bleu`, whose default tokenizer "replicates" SacreBLEU's "13a", has SacreBLEU's
# score, with several references too: the brevity penalty takes the reference of the closest length (Papineni et al.).
# Seen: KerasHub 0.32.0, SacreBLEU 2.6.0. A text of 7 words that has references of 3 and of 9 words scores .81 in KerasHub
# and .61 in SacreBLEU: its penalty is 1, and not exp(1 - 9 / 7). A short reference beside a good one is enough to allow
# texts that stop early. A number at the end of a text keeps its full stop, "20,000." for "20,000" and ".", as
# "13a" sets blanks around a text before its rules and KerasHub does not: a right text has .80 there.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6 \
    sacrebleu==2.6.0
cat > "$folder/program.py" <<'PYTHON'
import keras_hub
import sacrebleu


def scores(text, *references):
    metric = keras_hub.metrics.Bleu()
    metric.update_state([list(references)], [text])
    theirs = sacrebleu.corpus_bleu([text], [[reference] for reference in references]).score / 100
    return f"{float(metric.result()):.2f} {theirs:.2f}"


long = "the cat sat on the mat right now ok"
number = "the old man who lived there had paid them 20,000"
print(
    f"keras_hub {keras_hub.__version__} and SacreBLEU:",
    f"one reference {scores('the cat sat on the mat today', long)},",
    f"a shorter one, too, {scores('the cat sat on the mat today', long, 'the cat sat')},",
    f"a number at the end {scores(number + '.', number + ' .')}",
)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0 and SacreBLEU: one reference 0.61 0.61, a shorter one, too, 0.81 0.61, a number at the end 0.80 1.00"
