#!/usr/bin/env bash
# Pre-training from text in the TensorFlow Model Garden reads capitalized words as [UNK] if the vocabulary is uncased.
#
# Guess before the run: BertPretrainTextDataLoader lower-cases text for an uncased vocabulary, by default as the
# loaders for classification and for dual encoders do, or has an option for it.
# Seen: tf-models-official 2.20.0 with tensorflow_text 2.20.1. Its configuration has no such option, and its tokenizer
# is one for cased text: of "Anna Karenina went Home" one word of four is known; the others are [UNK], also as the
# words that BERT is to predict. Nothing is said. SentencePredictionTextDataLoader reads all four with the same
# vocabulary. Texts have to be in lower case, without accents, before they come here.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    tensorflow-datasets==4.9.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0 tensorflow-text==2.20.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import tensorflow as tf
import tf_keras
from official.nlp.data import pretrain_text_dataloader
from official.nlp.modeling import layers

folder = pathlib.Path(sys.argv[1])
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "karenina", "went", "home"]
(folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
text = "Anna Karenina went Home"
with tf.io.TFRecordWriter(str(folder / "documents")) as writer:
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
    writer.write(tf.train.Example(features=tf.train.Features(feature={"text": feature})).SerializeToString())


def words(ids):
    return " ".join(vocabulary[number] for number in ids)


def load(masking_rate):
    config = pretrain_text_dataloader.BertPretrainTextDataConfig(
        input_path=str(folder / "documents"), global_batch_size=1, is_training=False, seq_length=8,
        use_next_sentence_label=False, max_predictions_per_seq=4, masking_rate=masking_rate,
        vocab_file_path=str(folder / "vocab.txt"),
    )  # fmt: skip
    return next(iter(pretrain_text_dataloader.BertPretrainTextDataLoader(config).load()))


other = layers.BertTokenizer(vocab_file=str(folder / "vocab.txt"), lower_case=True)
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"read: {words(load(0.0)['input_word_ids'][0])}; to be predicted: {words(load(1.0)['masked_lm_ids'][0])};",
    f"the tokenizer of other loaders: {words(other(tf.constant([text])).flat_values)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, read: [CLS] [UNK] [UNK] went [UNK] [SEP] [PAD] [PAD]; to be\
 predicted: [UNK] [UNK] went [UNK]; the tokenizer of other loaders: anna karenina went home"
