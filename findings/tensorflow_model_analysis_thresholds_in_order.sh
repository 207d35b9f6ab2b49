#!/usr/bin/env bash
# A confusion matrix of TensorFlow Model Analysis at .5 lacks predictions if the threshold .8 is named before .5.
#
# Guess before the run: `MultiClassConfusionMatrixAtThresholds(thresholds=[0.8, 0.5])` has the matrices of [0.5,
# 0.8], in another order.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. A text whose best class is below one threshold keeps
# "no prediction" for all thresholds named after it. In descending order the matrix at .5 is the one at .8: of 100
# texts, all right with .6 to .95, those below .8 count as texts without a prediction at .5 too, 57 instead of 0.
# Nothing says that thresholds have to ascend.
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

sure = np.linspace(0.6, 0.95, 100)
scores = [[score, (1 - score) / 2, (1 - score) / 2] for score in sure]


def without_prediction(*thresholds):
    """How many texts have no prediction at each threshold."""
    options = json.dumps({"thresholds": thresholds})
    config = text_format.Parse(
        f"""
        model_specs {{ label_key: "label" prediction_key: "prediction" }}
        metrics_specs {{ metrics {{ class_name: "MultiClassConfusionMatrixAtThresholds" config: '{options}' }} }}
        slicing_specs {{ }}
        """,
        config_pb2.EvalConfig(),
    )
    result = tfma.analyze_raw_data(pd.DataFrame({"label": [[0]] * 100, "prediction": scores}), config)
    (metrics,) = result.get_metrics_for_all_slices().values()
    (value,) = metrics.values()
    words = []
    for matrix in value["multiClassConfusionMatrixAtThresholds"]["matrices"]:
        entries = [each for each in matrix["entries"] if each.get("predictedClassId", 0) == -1]
        words.append(f"{matrix['threshold']}: {sum(each['numWeightedExamples'] for each in entries):.0f}")
    return ", ".join(words)


version = importlib.metadata.version("tensorflow-model-analysis")
print(
    f"tensorflow-model-analysis {version}: of 100 texts without a prediction: ascending"
    f" {without_prediction(0.5, 0.8)}; descending {without_prediction(0.8, 0.5)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: of 100 texts without a prediction: ascending 0.5: 0, 0.8: 57;\
 descending 0.5: 57, 0.8: 57"
