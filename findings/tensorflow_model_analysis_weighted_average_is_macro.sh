#!/usr/bin/env bash
# Of the macro and the weighted macro F1 TensorFlow Model Analysis reports the one that was asked for first, as "macro".
#
# Guess before the run: a configuration that asks for `macro_average` and, in a second specification, for
# `weighted_macro_average` has both numbers, by their names.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. The weighted average is filed as "macro_average:
# true". Alone it is .697 under that name, for three classes with 60, 30 and 10 texts, where the macro average is
# .498; of the two together the first one is reported, and the other is not there. A comparison with a threshold, or
# with a model of another day, may be one of two different averages.
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

WEIGHTS = " ".join(f"class_weights {{ key: {i} value: 1.0 }}" for i in range(3))
scores = [[0.8, 0.1, 0.1]] * 60 + [[0.2, 0.7, 0.1]] * 15 + [[0.6, 0.3, 0.1]] * 15 + [[0.9, 0.05, 0.05]] * 10
texts = pd.DataFrame({"label": [[0]] * 60 + [[1]] * 30 + [[2]] * 10, "prediction": scores})


def averages(*kinds):
    """Names and values of the averages that are reported."""
    specifications = [
        f"""metrics_specs {{
            metrics {{ class_name: "F1Score" }}
            binarize {{ class_ids {{ values: [0, 1, 2] }} }}
            aggregate {{ {kind}: true {WEIGHTS} }}
        }}"""
        for kind in kinds
    ]
    models = 'model_specs { label_key: "label" prediction_key: "prediction" } slicing_specs { }'
    config = text_format.Parse(models + " ".join(specifications), config_pb2.EvalConfig())
    ((_, outputs),) = tfma.analyze_raw_data(texts, config).slicing_metrics
    values = outputs[""][""]
    return "; ".join(f"{name.split()[0].strip(':')} {value['doubleValue']:.3f}" for name, value in values.items())


asked = ("macro_average",), ("weighted_macro_average",), ("macro_average", "weighted_macro_average")
words = [f"{' and '.join(kinds)}: {averages(*kinds)}" for kinds in (*asked, asked[-1][::-1])]
print(f"tensorflow-model-analysis {importlib.metadata.version('tensorflow-model-analysis')}, asked for", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0, asked for macro_average: macro_average 0.498,\
 weighted_macro_average: macro_average 0.697, macro_average and weighted_macro_average: macro_average 0.498,\
 weighted_macro_average and macro_average: macro_average 0.697"
