#!/usr/bin/env bash
# Annotators who always agree have a Fleiss' kappa of 0.00 in statsmodels if each text is read by two of four of them.
#
# Guess before the run: `aggregate_raters` leaves out ratings that are missing, so that annotators who always agree have
# a kappa of 1.00, whoever read a text, or it refuses NaN.
# Seen: statsmodels 0.15.0. With all ratings the kappa is 1.00; with two of four ratings for each text it is 0.00, and
# Krippendorff's alpha, of another package, 1.00. Annotators who guess have -.18 instead of -.02. NaN is a class of its
# own, the fourth of three: two who did not read a text agree with each other and disagree with the others. Labels for a
# BERT are called worthless because each text was given to some of the annotators only. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    statsmodels==0.15.0 krippendorff==0.9.0 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import krippendorff
import numpy as np
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

random = np.random.default_rng(0)
labels = random.integers(0, 3, 300)
parts = []
for name, share in (("always agree", 1.0), ("guess", 0.0)):
    ratings = np.repeat(labels[:, None], 4, axis=1).astype(float)
    guesses = random.integers(0, 3, ratings.shape)
    ratings = np.where(random.random(ratings.shape) < share, ratings, guesses)
    missing = ratings.copy()
    for row in missing:
        row[random.permutation(4)[:2]] = np.nan  # two of four annotators read a text
    table, _ = aggregate_raters(missing)
    whole, _ = aggregate_raters(ratings)
    alpha = krippendorff.alpha(missing.T, level_of_measurement="nominal")
    parts.append(
        f"annotators who {name} {fleiss_kappa(whole):.2f}, two of four for each text {fleiss_kappa(table):.2f}"
        f" (Krippendorff's alpha {alpha:.2f}), classes {table.shape[1]}"
    )
print(f"statsmodels {importlib.metadata.version('statsmodels')}, Fleiss' kappa: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "statsmodels 0.15.0, Fleiss' kappa: annotators who always agree 1.00, two of four for each text -0.00\
 (Krippendorff's alpha 1.00), classes 4; annotators who guess -0.02, two of four for each text -0.18 (Krippendorff's\
 alpha -0.05), classes 4"
