#!/usr/bin/env bash
# The cross entropy of class 0 is 0 in TensorFlow Model Analysis, however wrong, if labels are numbers of classes.
#
# Guess before the run: CategoricalCrossEntropy takes labels as numbers of classes, "the sparseness of labels will be
# inferred from the shapes", as the package's other metrics of several classes do, or refuses them.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. It multiplies the number with the logarithms of all
# classes and adds them up: 0 for every text of class 0, and for class 2 of three twice the sum of all three, so that
# a perfect answer costs 40. A classifier that always says 0 is the best. Labels as one-hot vectors, and Keras'
# SparseCategoricalCrossentropy in the same run, are right.
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
import json

import numpy as np
import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.proto import config_pb2


def cost(name, labels, logits):
    options = json.dumps({"from_logits": True})
    config = text_format.Parse(
        f"""
        model_specs {{ label_key: "label" prediction_key: "prediction" }}
        metrics_specs {{ metrics {{ class_name: "{name}" config: '{options}' }} }}
        slicing_specs {{ }}
        """,
        config_pb2.EvalConfig(),
    )
    result = tfma.analyze_raw_data(pd.DataFrame({"label": labels, "prediction": logits}), config)
    (metrics,) = result.get_metrics_for_all_slices().values()
    (value,) = metrics.values()
    return f"{value['doubleValue']:.2f}"


def costs(name, one_hot):
    """Of a text of each of three classes, with logits that are right, and that are wrong."""
    words = []
    for label in range(3):
        labels = [np.eye(3)[label].tolist() if one_hot else [label]]
        right = (10.0 * np.eye(3)[label]).tolist()
        wrong = (10.0 * np.eye(3)[(label + 1) % 3]).tolist()
        words.append(f"{cost(name, labels, [right])} {cost(name, labels, [wrong])}")
    return ", ".join(words)


version = importlib.metadata.version("tensorflow-model-analysis")
print(
    f"tensorflow-model-analysis {version}: costs of a right and a wrong answer of class 0, 1, 2:",
    f"of numbers {costs('CategoricalCrossEntropy', False)}; of vectors {costs('CategoricalCrossEntropy', True)};",
    f"Keras {costs('SparseCategoricalCrossentropy', False)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: costs of a right and a wrong answer of class 0, 1, 2: of numbers\
 0.00 0.00, 20.00 20.00, 40.00 40.00; of vectors 0.00 10.00, 0.00 10.00, 0.00 10.00; Keras 0.00 10.00, 0.00 10.00,\
 0.00 10.00"
