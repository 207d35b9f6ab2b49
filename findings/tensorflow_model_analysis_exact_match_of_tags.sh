#!/usr/bin/env bash
# "ExactMatch" of TensorFlow Model Analysis is the share of right tags: of two sentences, one all right, it is .90.
#
# Guess before the run: the exact match of sentences of tags, or of the labels of a text with several, is the share
# of texts with no mistake in them, as for answers of SQuAD: .50 if one of two has one.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. The arrays are taken apart before they are compared,
# so that each tag is an example of its own: .90 for a sentence of five right tags and one with four of five, and
# longer sentences count more. Of 100 sentences of 20 tags with one mistake each, none of which is right, it is .95.
# Of strings, one for each example, it is as expected.
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

import pandas as pd
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.proto import config_pb2

CONFIG = """
    model_specs { label_key: "label" prediction_key: "prediction" }
    metrics_specs { metrics { class_name: "ExactMatch" } metrics { class_name: "ExampleCount" } }
    slicing_specs { }
"""


def match(labels, predictions):
    config = text_format.Parse(CONFIG, config_pb2.EvalConfig())
    result = tfma.analyze_raw_data(pd.DataFrame({"label": labels, "prediction": predictions}), config)
    (metrics,) = result.get_metrics_for_all_slices().values()
    return f"{metrics['exact_match']['doubleValue']:.2f} of {metrics['example_count']['doubleValue']:.0f}"


version = importlib.metadata.version("tensorflow-model-analysis")
print(
    f"tensorflow-model-analysis {version}: exact match of two answers {match([['a'], ['b']], [['a'], ['c']])},",
    f"of two sentences of five tags {match([[0, 1, 2, 0, 1]] * 2, [[0, 1, 2, 0, 1], [0, 1, 2, 0, 0]])},",
    f"of 100 of 20 {match([[1] * 20] * 100, [[1] * 19 + [0]] * 100)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: exact match of two answers 0.50 of 2, of two sentences of five\
 tags 0.90 of 2, of 100 of 20 0.95 of 100"
