#!/usr/bin/env bash
# NannyML estimates where "exact" is asked for, and one new value makes its Wasserstein distance half as long again.
#
# Guess before the run: `computation_params={"wasserstein": {"calculation_method": "exact"}}` of NannyML's
# UnivariateDriftCalculator, as its page writes it, gives scipy's Wasserstein distance of a batch of texts from the
# reference; the default, of 10,000 bins for 10,000 texts or more, is nearly the same.
# Seen: nannyml 0.13.1. The option changes nothing: the method looks for "calculation_method" beside "wasserstein",
# not in it, and finds its default. That estimate is right as long as a batch lies within the reference, .260 of 20
# texts in both, or above it. With one value below it, by .01, it is .313 for .213 in batches of 50 and .696 for .382
# in batches of 20: the share of the values below is taken to be one value too many, at all places of the
# distribution. A new lowest score of a BERT is an alarm that scipy's distance does not give.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nannyml==0.13.1 statsmodels==0.15.0 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import nannyml
import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

warnings.filterwarnings("ignore")
random = np.random.default_rng(0)
reference = pd.DataFrame({"score": random.normal(size=20000)})
lowest, highest = reference["score"].min(), reference["score"].max()
exact = {"wasserstein": {"calculation_method": "exact"}}
parts = []
for size in (20, 50):
    for name, value in (("within", 0.0), ("one below", lowest - 0.01), ("one above", highest + 0.01)):
        rows = []
        for _ in range(20):
            batch = pd.DataFrame({"score": [value, *random.normal(size=size - 1).clip(lowest, highest)]})
            row = [wasserstein_distance(reference["score"], batch["score"])]
            for options in ({}, {"computation_params": exact}):
                calculator = nannyml.UnivariateDriftCalculator(
                    column_names=["score"], continuous_methods=["wasserstein"], chunk_size=size * 20, **options
                ).fit(reference)
                frame = calculator.calculate(batch).filter(period="analysis").to_df()
                row.append(frame["score", "wasserstein", "value"].iloc[0])
            rows.append(row)
        own, plain, asked = np.mean(rows, axis=0)
        parts.append(f"{size} texts, {name}: scipy {own:.3f}, default {plain:.3f}, exact {asked:.3f}")
print(f"nannyml {importlib.metadata.version('nannyml')}: {'; '.join(parts)}")
PYTHON
export NML_DISABLE_USAGE_LOGGING=1 MPLBACKEND=agg
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nannyml 0.13.1: 20 texts, within: scipy 0.260, default 0.260, exact 0.260; 20 texts, one below: scipy\
 0.382, default 0.696, exact 0.696; 20 texts, one above: scipy 0.372, default 0.372, exact 0.372; 50 texts, within:\
 scipy 0.190, default 0.189, exact 0.189; 50 texts, one below: scipy 0.213, default 0.313, exact 0.313; 50 texts, one\
 above: scipy 0.220, default 0.220, exact 0.220"
