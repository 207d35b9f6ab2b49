#!/usr/bin/env bash
# MNLI of the TensorFlow Model Garden calls entailment contradiction, and BoolQ calls no yes: labels in another order.
#
# Guess before the run: the examples of `create_finetuning_data`'s processors have the labels of the data: an example
# that tensorflow_datasets labels "entailment" is one of entailment.
# Seen: tf-models-official 2.20.0 with tensorflow_datasets 4.9.10. The number of a label there is looked up in a list
# that has another order here: all three labels of MNLI (of which AX is predicted), the two of BoolQ and two of CB are
# renamed; those of QNLI and RTE are right. Training does not suffer, as all sets are renamed alike, but what is
# submitted to GLUE by these names is wrong for all, a model is told the wrong names, and records of these examples
# can't be mixed with those of other programs. (The program stands in for the download: one example of each label,
# numbered by tensorflow_datasets itself, whose text is the label.)
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
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow as tf
import tensorflow_datasets as tfds
import tf_keras
from official.nlp.data import classifier_data_lib

processors = {
    "glue/mnli": classifier_data_lib.MnliProcessor,
    "glue/qnli": classifier_data_lib.QnliProcessor,
    "glue/rte": classifier_data_lib.RteProcessor,
    "super_glue/boolq": classifier_data_lib.BoolQProcessor,
    "super_glue/cb": classifier_data_lib.CBProcessor,
}


def load(name, **options):
    """A data set with one example of each label, as tensorflow_datasets numbers its labels."""
    features = tfds.builder(name, data_dir=sys.argv[1]).info.features
    rows = []
    for label in features["label"].names:
        row = dict.fromkeys(features, label.encode())
        rows.append({**row, "idx": len(rows), "label": features["label"].str2int(label)})
    return tf.data.Dataset.from_tensor_slices({key: [row[key] for row in rows] for key in rows[0]})


def renamed(processor):
    examples = processor.get_dev_examples(None)
    wrong = [f"{one.text_a} is {one.label}" for one in examples if one.text_a != one.label]
    return ", ".join(wrong) or "right"


tfds.load = load
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')},",
    f"tensorflow-datasets {tfds.__version__}, tf_keras {tf_keras.__version__}:",
    "; ".join(f"{name} {renamed(kind())}" for name, kind in processors.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tensorflow-datasets 4.9.10, tf_keras 2.20.1: glue/mnli entailment is\
 contradiction, neutral is entailment, contradiction is neutral; glue/qnli right; glue/rte right;\
 super_glue/boolq False is True, True is False; super_glue/cb contradiction is neutral, neutral is\
 contradiction"
