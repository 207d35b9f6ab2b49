#!/usr/bin/env bash
# RoundRobinTrimmer of tensorflow_text keeps 11 pieces of a pair where 6 are allowed, if its pieces stand in words.
#
# Guess before the run: `RoundRobinTrimmer(6)` keeps at most six pieces of a pair of texts, "until all the buckets are
# filled", also where its input is what WordpieceTokenizer returns, [batch, words, pieces]: its Python path is there for
# this.
# Seen: tensorflow-text 2.20.1. Two texts of eight words keep 3 and 3 pieces alone. Beside a pair whose second text is
# empty they keep 6 and 5: the loop adds to every row until all rows of the batch are full, and that pair needs twice as
# many rounds. Rows of pieces without words are right, and so are the two other trimmers with both. What
# `combine_segments` then makes of it is longer than the model, and `pad_model_inputs` cuts the end of it off: [SEP] and
# the second text, depending on the batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow as tf
import tensorflow_text as text


def kept(trimmer, firsts, seconds, in_words):
    """How many pieces of the first pair of a batch are kept."""
    counts = []
    segments = [tf.ragged.constant([[[7]] * n for n in ns], tf.int64, ragged_rank=2) for ns in (firsts, seconds)]
    if not in_words:
        segments = [segment.merge_dims(1, 2) for segment in segments]
    for segment in trimmer(6).trim(segments):
        counts.append(str(len(segment.merge_dims(1, -1)[0] if in_words else segment[0])))
    return "+".join(counts)


parts = []
for name in ("RoundRobinTrimmer", "ShrinkLongestTrimmer", "WaterfallTrimmer"):
    trimmer = getattr(text, name)
    values = [kept(trimmer, *pairs, words) for words in (False, True) for pairs in (([8], [8]), ([8, 8], [8, 0]))]
    parts.append(f"{name} {values[0]} and {values[1]}, in words {values[2]} and {values[3]}")
version = importlib.metadata.version("tensorflow-text")
print(f"tensorflow-text {version}, 6 pieces, alone and in a batch:", "; ".join(parts))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-text 2.20.1, 6 pieces, alone and in a batch: RoundRobinTrimmer 3+3 and 3+3, in words 3+3\
 and 6+5; ShrinkLongestTrimmer 3+3 and 3+3, in words 3+3 and 3+3; WaterfallTrimmer 6+0 and 6+0, in words 6+0 and 6+0"
