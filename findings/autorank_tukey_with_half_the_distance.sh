#!/usr/bin/env bash
# autorank calls differences of three systems significant that Tukey's test has a p of .24 and .36 for.
#
# Guess before the run: after a significant ANOVA autorank's report names the systems that Tukey's test can't tell
# apart, as it says: "Populations are significantly different if their confidence intervals are not overlapping".
# Seen: autorank 1.3.0. For three systems whose intervals of the means overlap by half it reports that "all
# differences between the populations are significant", where statsmodels' Tukey test, which it asks, has p .361 and
# .237 for two of the three pairs. The groups are made of means that are no further apart than half the width of one
# interval; intervals overlap up to twice that distance. In 175 of 200 tables of three systems "all" is said where
# Tukey's test does not reject all. A table of BERTs gets marks of significance that nobody has tested.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    autorank==1.3.0 statsmodels==0.14.6 pandas==2.3.3 scipy==1.17.1 numpy==2.4.6 matplotlib==3.10.9 baycomp==1.0.3
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import warnings

import numpy as np
import pandas as pd
from autorank import autorank, create_report
from statsmodels.stats.multicomp import pairwise_tukeyhsd

warnings.filterwarnings("ignore")
random = np.random.default_rng(0)


def quiet(function, *arguments, **options):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        return function(*arguments, **options), text.getvalue()


first = None
texts = 0
for _ in range(200):
    level = random.normal(size=(30, 1))
    data = pd.DataFrame(level + 0.3 * random.normal(size=(30, 3)) + [0.9, 0.45, 0], columns=list("cba"))
    result, _ = quiet(autorank, data, force_mode="parametric")
    if result.omnibus != "anova" or result.pvalue >= 0.05:
        continue
    _, report = quiet(create_report, result)
    stacked = data.stack().reset_index()
    tukey = pairwise_tukeyhsd(stacked[0], stacked["level_1"])
    if "all differences between the populations are significant" in report and not tukey.reject.all():
        texts += 1
        first = first or (result.rankdf, tukey.pvalues)
widths = [f"{name} {row.ci_lower:.2f} to {row.ci_upper:.2f}" for name, row in first[0].iterrows()]
print(
    f"autorank {importlib.metadata.version('autorank')}: all significant: {', '.join(widths)},",
    f"p of statsmodels {' '.join(f'{p:.3f}' for p in first[1])}; in {texts} of 200 tables",
)
PYTHON
seen=$(MPLBACKEND=agg "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "autorank 1.3.0: all significant: a -0.23 to 0.31, b 0.08 to 0.62, c 0.45 to 0.99, p of statsmodels\
 0.361 0.010 0.237; in 175 of 200 tables"
