#!/usr/bin/env bash
# Quantiles of NumPyro's DiscreteUniform are between its values and below them: of 2 to 6 the median is 3.5, 5% is 1.25.
#
# Guess before the run: the inverse of the distribution function of whole numbers is the smallest of them whose
# probability reaches the quantile: of 2 to 6 the median is 4, and 5% is 2, as in SciPy.
# Seen: numpyro 0.22.0, SciPy 1.17.1. It is the formula of the continuous case, 2 - 1 + 5 q: no quantile but a few is
# one of the values, the lowest are below the support, where the log probability is that of an impossible value, and all
# are too small by up to 1. The distribution function of the median is .40. An interval of 90% from it, 1.25 to 5.75,
# leaves out the 6. Other quantiles of NumPyro's that are implemented, of continuous distributions, agree with samples.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpyro==0.22.0 jax==0.10.2 jaxlib==0.10.2 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import warnings

warnings.simplefilter("ignore")
import numpyro
import scipy.stats
from numpyro.distributions import DiscreteUniform

words = []
for low, high in ((2, 6), (0, 1)):
    ours, theirs = DiscreteUniform(low, high), scipy.stats.randint(low, high + 1)
    quantiles = (0.05, 0.5, 0.95)
    shown = ", ".join(f"{float(ours.icdf(q)):.2f}" for q in quantiles)
    right = ", ".join(f"{theirs.ppf(q):.0f}" for q in quantiles)
    reached = float(ours.cdf(ours.icdf(0.5)))
    words.append(f"{low} to {high} {shown} (SciPy {right}), probability up to the median {reached:.2f}")
print(f"numpyro {numpyro.__version__}, quantiles .05, .5, .95 of {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "numpyro 0.22.0, quantiles .05, .5, .95 of 2 to 6 1.25, 3.50, 5.75 (SciPy 2, 4, 6), probability up to t\
he median 0.40; 0 to 1 -0.90, 0.00, 0.90 (SciPy 0, 0, 1), probability up to the median 0.50"
