#!/usr/bin/env bash
# tf-idf of TensorFlow Transform takes unknown words for the last word of the vocabulary: -1 modulo the size.
#
# Guess before the run: `tft.tfidf(tft.compute_and_apply_vocabulary(words, top_k=3), 3)`, the two steps of its
# example, gives no weight to a word that is not among the three, and the third word the weight of its own documents.
# Seen: tensorflow-transform 1.21.0 with TensorFlow 2.21.0. `compute_and_apply_vocabulary` numbers unknown words -1
# by default, and tfidf takes all numbers modulo the size: -1 is the last word of the vocabulary, the rarest one. A
# text of unknown words only has the weight 1.00 of that word, which is not in it, and a text that has it once among
# six words has .50 for it instead of .25, though every text seems to have it. With `num_oov_buckets=1` and the size
# 4 the words stay apart.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.21.0 numpy==2.4.6 tensorflow-transform==1.21.0 apache-beam==2.77.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam

TEXTS = ["the cat sat on the mat", "the dog sat on the log", "quick brown foxes", "zebra"]


def weights(**options):
    """The weights of tf-idf of each text: the numbers of words, and their weights."""

    def preprocess(inputs):
        ids = tft.compute_and_apply_vocabulary(inputs["words"], top_k=3, vocab_filename="words", **options)
        numbers, values = tft.tfidf(ids, tft.get_num_buckets_for_transformed_feature(ids))
        return {"numbers": numbers, "values": values}

    metadata = tft.DatasetMetadata.from_feature_spec({"words": tf.io.VarLenFeature(tf.string)})
    data = [{"words": text.split()} for text in TEXTS]
    with tft_beam.Context(temp_dir=sys.argv[1]):
        (rows, _), _ = (data, metadata) | tft_beam.AnalyzeAndTransformDataset(preprocess)
    lines = []
    for row in rows:
        lines.append(" ".join(f"{number}:{value:.2f}" for number, value in zip(row["numbers"], row["values"])))
    return "; ".join(lines)


print(
    f"tensorflow-transform {importlib.metadata.version('tensorflow-transform')}, tensorflow {tf.__version__},",
    f"number and weight of the words of four texts: {weights()}. With a bucket: {weights(num_oov_buckets=1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-transform 1.21.0, tensorflow 2.21.0, number and weight of the words of four texts: 0:0.50\
 1:0.25 2:0.50; 0:0.50 1:0.25 2:0.50; 2:1.00; 2:1.00. With a bucket: 0:0.50 1:0.25 2:0.25 3:0.33; 0:0.50 1:0.25\
 2:0.25 3:0.33; 3:1.00; 3:1.00"
