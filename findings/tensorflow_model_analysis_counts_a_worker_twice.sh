#!/usr/bin/env bash
# In TensorFlow Model Analysis the examples of one worker count twice in cross entropies and mean errors.
#
# Guess before the run: a metric of one evaluation set is the same number whether Beam works on it with one worker or
# with two.
# Seen: tensorflow-model-analysis 0.52.0 with TensorFlow 2.21.0. The combiners of these metrics take the first of a
# list of parts, and then go through the whole list again, the first included. Of a binary cross entropy of 1,000
# texts, whose first half is right (.05) and whose second half is a guess (.69), .37 in all, one worker says .37, and
# two parts that are joined are .27 or .48, as the right or the guessing one comes first; the mean squared error is
# as far off. With two threads Beam's own runner has another number than with one, and intervals by the jackknife
# change the number also in one process. Other metrics, as precision, begin their loop after the first.
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
import pathlib
import sys

import apache_beam as beam
import numpy as np
import pandas as pd
import tensorflow_model_analysis as tfma
from apache_beam.options.pipeline_options import PipelineOptions
from google.protobuf import text_format
from tensorflow_model_analysis.metrics import metric_types, metric_util
from tensorflow_model_analysis.proto import config_pb2

labels = np.tile([0.0, 1.0], 500)
scores = np.concatenate([np.abs(labels[:500] - 0.05), np.full(500, 0.5)])
rows = [
    metric_util.to_standard_metric_inputs({"labels": np.array([label]), "predictions": np.array([score])})
    for label, score in zip(labels, scores)
]


def combiner(metric):
    computations = metric.computations(example_weighted=False)
    return next(each.combiner for each in computations if isinstance(each, metric_types.MetricComputation))


def joined(function, *parts):
    """The metric of some parts of the rows, joined."""
    accumulators = []
    for part in parts:
        accumulator = function.create_accumulator()
        for row in part:
            accumulator = function.add_input(accumulator, row)
        accumulators.append(accumulator)
    return f"{float(next(iter(function.extract_output(function.merge_accumulators(accumulators)).values()))):.2f}"


def of_workers(function, number):
    """The metric of the rows in another order by Beam's own runner."""
    options = PipelineOptions([f"--direct_num_workers={number}", "--direct_running_mode=multi_threading"])
    order = np.random.default_rng(0).permutation(len(rows))
    path = pathlib.Path(sys.argv[1]) / "value"
    with beam.Pipeline(options=options) as pipeline:
        numbers = pipeline | beam.Create(range(len(rows)))
        outputs = numbers | beam.Map(lambda i: rows[order[i]]) | beam.CombineGlobally(function)
        outputs | beam.Map(lambda output: path.write_text(str(float(next(iter(output.values()))))))
    return float(path.read_text())


def by_jackknife(name):
    """The metric in an evaluation that asks for its interval."""
    config = text_format.Parse(
        f"""
        model_specs {{ label_key: "label" prediction_key: "prediction" }}
        metrics_specs {{ metrics {{ class_name: "{name}" }} }}
        options {{ compute_confidence_intervals {{ value: true }} confidence_intervals {{ method: JACKKNIFE }} }}
        slicing_specs {{ }}
        """,
        config_pb2.EvalConfig(),
    )
    result = tfma.analyze_raw_data(pd.DataFrame({"label": labels, "prediction": scores}), config)
    (metrics,) = result.get_metrics_for_all_slices().values()
    (value,) = metrics.values()
    return value["boundedValue"]["value"]


words = []
for name in ("BinaryCrossEntropy", "MeanSquaredError"):
    function = combiner(getattr(tfma.metrics, name)())
    halves = rows[:500], rows[500:]
    parts = joined(function, rows), joined(function, *halves), joined(function, *reversed(halves))
    others = {"two threads": of_workers(function, 2), "the jackknife": by_jackknife(name)}
    for other, value in others.items():
        same = abs(of_workers(function, 1) - value) < 1e-6
        parts += (f"of {other} {'the same' if same else 'another'}",)
    words.append(f"{name} {', '.join(parts)}")
version = importlib.metadata.version("tensorflow-model-analysis")
print(f"tensorflow-model-analysis {version}: of all rows, of two halves, of the halves swapped: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-analysis 0.52.0: of all rows, of two halves, of the halves swapped:\
 BinaryCrossEntropy 0.37, 0.27, 0.48, of two threads another, of the jackknife another; MeanSquaredError 0.13, 0.08,\
 0.17, of two threads another, of the jackknife another"
