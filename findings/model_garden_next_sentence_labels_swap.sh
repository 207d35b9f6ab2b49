#!/usr/bin/env bash
# Label 1 of next sentences is "random" in records of the TensorFlow Model Garden and "next" in its text loader.
#
# Guess before the run: `BertPretrainDataLoader`, of records that `create_pretraining_data` has written, and
# `BertPretrainTextDataLoader`, which draws the pairs of raw text while training, give the task masked_lm the same
# labels: 0 for the next sentence, 1 for a random one, as BERT does.
# Seen: tf-models-official 2.20.0 with tensorflow_text 2.20.1. The text loader passes on whether the sentence is the
# next one. How many pairs of each label are of one document is shown: all of label 0 in the records, none of label 0
# from the texts. A pre-trained BERT, or one whose data change from one loader to the other, has a head that says the
# contrary; its next_sentence_accuracy is 1 minus what it was.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    sentencepiece==0.2.1 tensorflow-datasets==4.9.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0 tensorflow-text==2.20.1
cat > "$folder/program.py" <<'PYTHON'
import collections
import importlib.metadata
import pathlib
import random
import sys

import tensorflow as tf
import tf_keras
from absl import flags
from official.nlp.data import create_pretraining_data, pretrain_dataloader, pretrain_text_dataloader
from official.nlp.tools import tokenization

folder = pathlib.Path(sys.argv[1])
flags.FLAGS(sys.argv[:1])
words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(6)]
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
documents = [[f"{letter}{number}" for number in range(6)] for letter in "abcdefgh"]  # a sentence is one word
(folder / "text.txt").write_text("\n\n".join("\n".join(document) for document in documents) + "\n")


def count(dataset):
    """How often the second text is of the same document as the first, by label."""
    counts = collections.Counter()
    for batch in dataset:
        for ids, label in zip(batch["input_word_ids"].numpy(), batch["next_sentence_labels"].numpy().reshape(-1)):
            letters = [words[number - 5][0] for number in ids if number >= 5]
            counts[int(label), len(set(letters)) == 1] += 1
    return {label: f"{counts[label, True]} of {counts[label, True] + counts[label, False]}" for label in (0, 1)}


tokenizer = tokenization.FullTokenizer(str(folder / "vocab.txt"))
rng = random.Random(0)
instances = create_pretraining_data.create_training_instances(
    [str(folder / "text.txt")], tokenizer, create_pretraining_data.get_processor_text_fn(False, True),
    max_seq_length=5, dupe_factor=2, short_seq_prob=0.0, masked_lm_prob=0.0, max_predictions_per_seq=0, rng=rng,
)  # fmt: skip
create_pretraining_data.write_instance_to_example_files(
    instances, tokenizer, 5, 0, [str(folder / "records")], False, True
)
written = pretrain_dataloader.BertPretrainDataConfig(
    input_path=str(folder / "records"), global_batch_size=1, is_training=False, seq_length=5,
    max_predictions_per_seq=0, use_v2_feature_names=True,
)  # fmt: skip

with tf.io.TFRecordWriter(str(folder / "documents")) as writer:
    for document in documents * 4:
        text = tf.train.Feature(bytes_list=tf.train.BytesList(value=["\n".join(document).encode()]))
        writer.write(tf.train.Example(features=tf.train.Features(feature={"text": text})).SerializeToString())
raw = pretrain_text_dataloader.BertPretrainTextDataConfig(
    input_path=str(folder / "documents"), global_batch_size=1, doc_batch_size=8, is_training=False, seq_length=5,
    max_predictions_per_seq=1, masking_rate=0.0, vocab_file_path=str(folder / "vocab.txt"),
)  # fmt: skip
tf.random.set_seed(0)
of_records = count(pretrain_dataloader.BertPretrainDataLoader(written).load())
of_texts = count(pretrain_text_dataloader.BertPretrainTextDataLoader(raw).load())
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"pairs of one document: records, label 0 {of_records[0]}, label 1 {of_records[1]};",
    f"texts, label 0 {of_texts[0]}, label 1 {of_texts[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, pairs of one document: records, label 0 30 of 30, label 1 0\
 of 36; texts, label 0 0 of 106, label 1 86 of 86"
