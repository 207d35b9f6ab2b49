#!/usr/bin/env bash
# While losses fall softadapt's NormalizedSoftAdapt gives the task that learns best the greatest weight.
#
# Guess before the run: `NormalizedSoftAdapt(beta=1.0)` of losses of which one falls ten times as fast as the other
# gives the slow one more weight, as `SoftAdapt` does: with beta > 0 it "will pay more attention the worst performing
# loss component".
# Seen: softadapt 0.2.0 with Keras 3.15.1 on JAX. It divides the slopes by their sum, which is negative when losses
# fall, so that their order is turned round: the fast one has .69 and the slow one .31, where SoftAdapt has .29 and .71.
# While losses rise it is right. Where one falls as fast as the other rises the sum is 0 and the weights are NaN.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    softadapt==0.2.0 keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 findiff==0.16.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
from softadapt import NormalizedSoftAdapt, SoftAdapt

warnings.simplefilter("ignore")
steps = np.arange(5)
cases = {
    "both fall, fast and slow": (10 - 1.0 * steps, 10 - 0.1 * steps),
    "both rise, fast and slow": (10 + 1.0 * steps, 10 + 0.1 * steps),
    "one rises, one falls": (10 + 1.0 * steps, 10 - 1.0 * steps),
}
parts = []
for name, losses in cases.items():
    values = []
    for method in (NormalizedSoftAdapt, SoftAdapt):
        weights = method(beta=1.0).get_component_weights(*(list(map(float, row)) for row in losses), verbose=False)
        values.append(" ".join(f"{float(weight):.2f}" for weight in weights))
    parts.append(f"{name} {values[0]} ({values[1]})")
version = importlib.metadata.version("softadapt")
print(f"softadapt {version}, weights of the normalized variant and of the plain one: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "softadapt 0.2.0, weights of the normalized variant and of the plain one: both fall, fast and slow 0.69\
 0.31 (0.29 0.71); both rise, fast and slow 0.69 0.31 (0.71 0.29); one rises, one falls nan nan (0.88 0.12)"
