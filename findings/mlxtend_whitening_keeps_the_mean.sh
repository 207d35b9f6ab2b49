#!/usr/bin/env bash
# Whitened sentence vectors of mlxtend keep their mean: two texts have a cosine of .75, more than before, and not of 0.
#
# Guess before the run: `PrincipalComponentAnalysis(whitening=True)` takes the mean off and makes all units vary alike,
# as scikit-learn's does. So it is what is done to a BERT's sentence vectors, whose cosines are all high: after it the
# mean cosine of two texts is 0.
# Seen: mlxtend 0.25.0. Vectors with a mean cosine of .67 have .67 as components and .75 whitened; scikit-learn has .00
# for both. The components are found of centred vectors, but `transform` multiplies vectors with their mean: its length
# is 3.59, and whitened 6.74. Whitening divides by small deviations, and the mean with them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mlxtend.feature_extraction import PrincipalComponentAnalysis
from sklearn.decomposition import PCA

random = np.random.default_rng(0)
# Sentence vectors as a BERT's: a mean that all share, and units that vary differently.
vectors = random.normal(size=(1000, 16)) * np.linspace(1, 0.2, 16) @ np.linalg.qr(random.normal(size=(16, 16)))[0]
vectors += random.normal(size=16)


def cosine(vectors):
    """The mean cosine of two texts."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return (np.sum(units @ units.T) - len(units)) / (len(units) * (len(units) - 1))


parts = [f"vectors {cosine(vectors):.2f}"]
for whiten in (False, True):
    seen = PrincipalComponentAnalysis(n_components=16, whitening=whiten).fit(vectors).transform(vectors)
    expected = PCA(16, whiten=whiten).fit_transform(vectors)
    parts.append(
        f"{'whitened' if whiten else 'components'} {cosine(seen):.2f} ({cosine(expected):.2f}),"
        f" length of the mean {np.linalg.norm(seen.mean(0)):.2f} ({np.linalg.norm(expected.mean(0)):.2f})"
    )
version = importlib.metadata.version("mlxtend")
print(f"mlxtend {version} (scikit-learn), mean cosine of two texts: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0 (scikit-learn), mean cosine of two texts: vectors 0.67; components 0.67 (-0.00), length\
 of the mean 3.59 (0.00); whitened 0.75 (-0.00), length of the mean 6.74 (0.00)"
