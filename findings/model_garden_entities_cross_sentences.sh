#!/usr/bin/env bash
# The F1 of entities in the TensorFlow Model Garden depends on the batch size: a batch counts as one long sentence.
#
# Guess before the run: the task `tagging` scores entities by sentence, as seqeval and conlleval do. Of a text whose
# sentences end and begin with a name, in tags of CoNLL-2003 (IOB1), a model that finds the half of the names has an F1
# of .50; one that finds all, but begins them by I- where the data have B- (IOB2), has one of 1.00.
# Seen: tf-models-official 2.20.0 with seqeval 1.2.2. `validation_step` drops the padding of all sentences of a batch
# at once, so that seqeval gets one row of tags per batch: a name at the end of a sentence and one at the beginning of
# the next are one name. With one sentence in a batch the scores are right; in larger ones they fall, whatever the
# model has learnt.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    sentencepiece==0.2.1 tensorflow-datasets==4.9.10 seqeval==1.2.2 sacrebleu==2.5.1 setuptools==80.9.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0 tensorflow-text==2.20.1 tensorflow-hub==0.16.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow as tf
import tf_keras
from official.nlp.tasks import tagging

task = tagging.TaggingTask(tagging.TaggingConfig(class_names=["O", "B-PER", "I-PER"]))
# [CLS] ... [SEP]; the last two words of a sentence are a name, the first two of the next one are another
half = ([[-1, 0, 2, 2, -1], [-1, 2, 2, 0, -1]], [[0, 0, 2, 2, 0], [0, 2, 0, 0, 0]])
inside = ([[-1, 0, 1, 2, -1], [-1, 1, 2, 0, -1]], [[0, 0, 2, 2, 0], [0, 2, 2, 0, 0]])


class Model:
    def __call__(self, inputs, training):
        return {"logits": tf.one_hot(inputs["predicted"], 3)}


def scores(labels, predicted):
    dataset = tf.data.Dataset.from_tensor_slices(({"predicted": predicted * 4}, labels * 4))
    found = []
    for batch in (1, 2, 8):
        state = None
        for rows in dataset.batch(batch):
            logs = task.validation_step(rows, Model())
            state = task.aggregate_logs(state, {name: [value] for name, value in logs.items()})
        found.append(f"{task.reduce_aggregated_logs(state)['f1']:.2f}")
    return " ".join(found)


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"seqeval {importlib.metadata.version('seqeval')}, F1 in batches of 1, 2, 8: {scores(*half)};",
    f"IOB2: {scores(*inside)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, seqeval 1.2.2, F1 in batches of 1, 2, 8: 0.50 0.00 0.00;\
 IOB2: 1.00 0.00 0.00"
