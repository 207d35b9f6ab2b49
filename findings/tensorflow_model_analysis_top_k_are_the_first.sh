#!/usr/bin/env bash
# `top_k` of the set metrics of TensorFlow Model Analysis takes the first k classes, not those with the highest scores.
#
# Guess before the run: `SetMatchPrecision(top_k=1)` of a text with several labels looks at the class with the
# highest score: "the top-k values should be used", and scores are given beside the classes.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. It cuts the list of classes after k, as it stands. A
# BERT's classes stand in the order of its output layer: one that is right for all of 90 texts, one label of nine
# each, has a precision and a recall of .11 with top_k=1, that of the texts of the first class; sorted by their
# scores the same predictions have 1.00.
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
import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.metrics import metric_types

CLASSES = np.array([f"class {i}" for i in range(9)])


def value(name, rows):
    """A metric of rows, by its own computations."""
    options = {"prediction_class_key": "classes", "prediction_score_key": "scores", "top_k": 1}
    values = {}
    for computation in getattr(tfma.metrics, name)(**options).computations(example_weighted=False):
        if isinstance(computation, metric_types.MetricComputation):
            accumulator = computation.combiner.create_accumulator()
            for row in rows:
                for preprocessor in computation.preprocessors:
                    for inputs in preprocessor.process(row):
                        accumulator = computation.combiner.add_input(accumulator, inputs)
            values.update(computation.combiner.extract_output(accumulator))
        else:
            values.update(computation.result(values))
    (result,) = [value for key, value in values.items() if not key.name.startswith("_")]
    return f"{float(result):.2f}"


def rows(by_score):
    for i in range(90):
        scores = np.where(np.arange(9) == i % 9, 0.9, 0.05)
        order = np.argsort(-scores) if by_score else np.arange(9)
        yield {"labels": CLASSES[[i % 9]], "predictions": {"classes": CLASSES[order], "scores": scores[order]}}


words = []
for by_score in (True, False):
    precision, recall = (value(name, rows(by_score)) for name in ("SetMatchPrecision", "SetMatchRecall"))
    words.append(f"{'by score' if by_score else 'as in the model'} {precision} {recall}")
version = importlib.metadata.version("tensorflow-model-analysis")
print(f"tensorflow-model-analysis {version}: precision and recall of a right model, classes {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: precision and recall of a right model, classes by score 1.00 1.00,\
 as in the model 0.11 0.11"
