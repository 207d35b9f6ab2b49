#!/usr/bin/env bash
# The micro-averaged recall of the top k is 1.00 in TensorFlow Model Analysis, whatever the model predicts.
#
# Guess before the run: `aggregate { micro_average: true top_k_list { values: [1] } }` of a recall is the share of
# labels that are among the k best classes, as `binarize { top_k_list }` reports it: .75 for a model that is right
# for 75 of 100 texts.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. Labels are cut to the k best classes as well as
# predictions, so that a label which is not among them is not missed: the recall is 1.00 for k of 1 and 2, also for a
# model that is wrong for all texts but one. Its precision is .01, but 1.00 as soon as one of 100 scores is exactly
# 1: all lower ones count as no prediction then. By `binarize` the recalls are .75 and .90, and .01 and .01, and a
# score of 1 changes nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.21.0 numpy==2.4.6 tensorflow-model-analysis==0.52.0 apache-beam==2.77.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.proto import config_pb2

TOP = "top_k_list { values: [1, 2] }"
counts = (60, 15, 15, 10)
good = np.repeat([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.9, 0.05, 0.05]], counts, axis=0)
labels = np.repeat([0, 1, 1, 2], counts)
bad = np.where(np.arange(3) == labels[:, None], 0.0, [0.4, 0.5, 0.6])
bad[0] = [0.9, 0.05, 0.05]
sure = bad.copy()
sure[0] = [1.0, 0.0, 0.0]


def values(scores, how):
    """Precision and recall of the best and the two best classes."""
    config = text_format.Parse(
        f"""
        model_specs {{ label_key: "label" prediction_key: "prediction" }}
        metrics_specs {{ metrics {{ class_name: "Precision" }} metrics {{ class_name: "Recall" }} {how} }}
        slicing_specs {{ }}
        """,
        config_pb2.EvalConfig(),
    )
    texts = pd.DataFrame({"label": labels[:, None].tolist(), "prediction": scores.tolist()})
    ((_, outputs),) = tfma.analyze_raw_data(texts, config).slicing_metrics
    words = []
    for name in ("precision", "recall"):
        for each in outputs[""].values():
            words += [f"{value['doubleValue']:.2f}" for key, value in each.items() if name in key]
    return " ".join(words)


words = []
for name, scores in (("a good model", good), ("a bad one", bad), ("with one score of 1", sure)):
    micro = values(scores, f"aggregate {{ micro_average: true {TOP} }}")
    words.append(f"{name} {micro}, by binarize {values(scores, f'binarize {{ {TOP} }}')}")
version = importlib.metadata.version("tensorflow-model-analysis")
print(f"tensorflow-model-analysis {version}: precision and recall of the top 1 and 2: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: precision and recall of the top 1 and 2: a good model 0.75 0.45\
 1.00 1.00, by binarize 0.75 0.45 0.75 0.90; a bad one 0.01 0.01 1.00 1.00, by binarize 0.01 0.01 0.01 0.01; with\
 one score of 1 1.00 1.00 1.00 1.00, by binarize 0.01 0.01 0.01 0.01"
