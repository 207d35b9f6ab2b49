#!/usr/bin/env bash
# Tjur's coefficient and the squared correlation of each class are one number in TensorFlow Model Analysis: that of all.
#
# Guess before the run: with `binarize { class_ids }` each class has metrics of its own scores and labels, those two
# as well as precision and AUC.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. CoefficientOfDiscrimination and
# SquaredPearsonCorrelation are reported for each class, and computed without one, over the scores of all classes in
# a row. For three classes they are .45 and .46 three times, where those of the classes are .27, .41 and -.05, and
# .37, .74 and 1.00: a class whose texts get lower scores than others has a coefficient of .45. Precision and
# calibration beside them are those of the class.
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

CONFIG = """
    model_specs { label_key: "label" prediction_key: "prediction" }
    metrics_specs {
        metrics { class_name: "CoefficientOfDiscrimination" }
        metrics { class_name: "SquaredPearsonCorrelation" }
        metrics { class_name: "Calibration" }
        binarize { class_ids { values: [0, 1, 2] } }
    }
    slicing_specs { }
"""
NAMES = ("coefficient_of_discrimination", "squared_pearson_correlation", "calibration")
counts = (60, 15, 15, 10)
scores = np.repeat([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.9, 0.05, 0.05]], counts, axis=0)
labels = np.repeat([0, 1, 1, 2], counts)
texts = pd.DataFrame({"label": labels[:, None].tolist(), "prediction": scores.tolist()})
((_, outputs),) = tfma.analyze_raw_data(texts, text_format.Parse(CONFIG, config_pb2.EvalConfig())).slicing_metrics
words = []
for number in range(3):
    (values,) = [each for key, each in outputs[""].items() if f"classId:{number}" in key]
    seen = " ".join(f"{values[name]['doubleValue']:.2f}" for name in NAMES)
    is_class, column = labels == number, scores[:, number]
    tjur = column[is_class].mean() - column[~is_class].mean()
    right = tjur, np.corrcoef(column, is_class)[0, 1] ** 2, column.sum() / is_class.sum()
    words.append(f"class {number} {seen} for {' '.join(f'{value:.2f}' for value in right)}")
version = importlib.metadata.version("tensorflow-model-analysis")
print(f"tensorflow-model-analysis {version}: coefficient, correlation, calibration: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: coefficient, correlation, calibration: class 0 0.45 0.46 1.15 for\
 0.27 0.37 1.15, class 1 0.45 0.46 0.72 for 0.41 0.74 0.72, class 2 0.45 0.46 0.95 for -0.05 1.00 0.95"
