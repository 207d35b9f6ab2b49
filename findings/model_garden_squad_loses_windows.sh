#!/usr/bin/env bash
# Of 32 questions in batches of 48 the SQuAD evaluation of the TensorFlow Model Garden answers none: no padding.
#
# Guess before the run: `convert_examples_to_features` adds "padding examples to make sure no partial batch", for any
# number of windows; so the evaluation, which drops a partial batch, has a result of each.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. Whether padding is needed is asked of the id of the last
# window, which begins at 1,000,000,000, and not of the number of windows: with 48 in a batch, the default of the task,
# there is none where the number leaves 32. Then the last 32 windows have no result and their questions the answer
# "empty" (in SQuAD 2.0: no answer), which the F1 counts as wrong. In batches of 32, or of any divisor of the first id,
# nothing is lost.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    sentencepiece==0.2.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import collections
import importlib.metadata
import pathlib
import sys

import tensorflow as tf
import tf_keras
from absl import flags
from official.nlp.data import squad_lib
from official.nlp.tools import tokenization

folder = pathlib.Path(sys.argv[1])
flags.FLAGS(sys.argv[:1])
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "anna"]) + "\n")
tokenizer = tokenization.FullTokenizer(str(folder / "vocab.txt"))
Result = collections.namedtuple("Result", ["unique_id", "start_logits", "end_logits"])


def right_answers(questions, batch):
    """How many of the questions are answered, as tasks/question_answering.py evaluates them."""
    examples = [squad_lib.SquadExample(str(number), "who", ["anna"]) for number in range(questions)]
    features, records = [], folder / f"{questions}.tfrecord"
    writer = squad_lib.FeatureWriter(str(records), is_training=False)

    def add(feature, is_padding):
        if not is_padding:
            features.append(feature)
        writer.process_feature(feature)

    squad_lib.convert_examples_to_features(examples, tokenizer, 8, 4, 2, False, add, batch_size=batch)
    writer.close()
    spec = {"unique_ids": tf.io.FixedLenFeature([], tf.int64)}
    dataset = tf.data.TFRecordDataset(str(records)).map(lambda record: tf.io.parse_single_example(record, spec))
    logits = [float(place == 3) for place in range(8)]  # where "anna" is
    results = [
        Result(int(number), logits, logits)
        for rows in dataset.batch(batch, drop_remainder=True)  # of the task's data configuration, by default
        for number in rows["unique_ids"]
    ]
    answers, _, _ = squad_lib.postprocess_output(examples, features, results, 20, 30, True)
    return sum(answer == "anna" for answer in answers.values())


seen = ", ".join(f"{right_answers(questions, 48)} of {questions}" for questions in (31, 32, 33, 80, 128))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"answered in batches of 48: {seen}; of 32: {right_answers(32, 32)} of 32, {right_answers(33, 32)} of 33",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, answered in batches of 48: 31 of 31, 0 of 32, 33 of 33, 48\
 of 80, 96 of 128; of 32: 32 of 32, 33 of 33"
