#!/usr/bin/env bash
# Whether a label that has vanished is a drift by evidently's PSI depends on one text of another label: .046 or .191.
#
# Guess before the run: of 20,000 texts 200 were "refund" and none is now. The PSI of this is one number, and one text
# of a third label, which is there before and after, changes it by next to nothing.
# Seen: evidently 0.7.23. A share of zero is replaced by .0001, but by a millionth of the smallest other share if that
# is below .0001. Without the third label the PSI is 0.046, below the threshold of .1: no drift. With one text of it in
# both samples it is 0.191: a drift. The Kullback-Leibler divergence goes from 0.036 to 0.181, and Jensen and Shannon's
# distance, which fills nothing, is 0.059 both times. With many rare intents each that is missing for a day is an alarm.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    evidently==0.7.23 pandas==2.3.3 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
from evidently import DataDefinition, Dataset, Report
from evidently.metrics import ValueDrift

definition = DataDefinition(categorical_columns=["label"])


def drift(method, **rare):
    """Of 20,000 texts 200 were "refund"; none is any more. One text may be of another label, before and after."""
    parts = []
    for counts in ({"refund": 0, **rare}, {"refund": 200, **rare}):
        rows = [label for label, count in counts.items() for _ in range(count)]
        rows += ["other"] * (20000 - len(rows))
        parts.append(Dataset.from_pandas(pd.DataFrame({"label": rows}), data_definition=definition))
    result = Report([ValueDrift(column="label", method=method)]).run(*parts)
    return float(result.dict()["metrics"][0]["value"])


words = [f"{name} {drift(name):.3f} and {drift(name, card=1):.3f}" for name in ("psi", "kl_div", "jensenshannon")]
version = importlib.metadata.version("evidently")
print(f"evidently {version}, drift without and with one text of a third label: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evidently 0.7.23, drift without and with one text of a third label: psi 0.046 and 0.191, kl_div 0.036\
 and 0.181, jensenshannon 0.059 and 0.059"
