#!/usr/bin/env bash
# Two annotators who differ about a text's sentiment agree by 1.00 in label-studio-evalme, if another control is last.
#
# Guess before the run: the agreement of two lists of results with a sentiment and a topic for each text is the weighted
# mean of the agreements about each of the two, .50 if the sentiments differ.
# Seen: label-studio-evalme 0.0.18. It is 1.00 if the topic comes last, and 0.00 if the sentiment does: the loop over
# the controls sets weights for each of them, and the comparison stands behind it, so that only the last control is
# compared. Entities that are marked in a text, before or after a choice, are left out or counted alone likewise. In the
# other form, whole annotations, all results count, and it is .50. Data for a BERT that is chosen by agreement is that
# of one question alone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    attrs==26.1.0 shapely==2.2.0 textdistance==4.6.3 xmljson==0.2.1 lxml==6.1.3 requests==2.34.2 scipy==1.17.1 \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    label-studio-evalme==0.0.18
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import evalme.text
from evalme.metrics import get_agreement


def choice(control, label):
    return {"from_name": control, "to_name": "text", "type": "choices", "value": {"choices": [label]}}


def entity(start, end):
    value = {"start": start, "end": end, "labels": ["PER"]}
    return {"from_name": "entities", "to_name": "text", "type": "labels", "value": value}


def agreements(first, second):
    """Of lists of results, of the same in the other order, and of whole annotations."""
    lists = get_agreement(first, second)
    turned = get_agreement(first[::-1], second[::-1])
    whole = get_agreement({"result": first}, {"result": second})
    return f"{lists:.2f}, in the other order {turned:.2f}, as annotations {whole:.2f}"


topics = [[choice("sentiment", label), choice("topic", "sport")] for label in ("good", "bad")]
entities = [[choice("sentiment", "good"), entity(0, end)] for end in (5, 9)]
print(
    f"label-studio-evalme {importlib.metadata.version('label-studio-evalme')}:",
    f"sentiments differ {agreements(*topics)}; entities differ {agreements(*entities)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "label-studio-evalme 0.0.18: sentiments differ 1.00, in the other order 0.00, as annotations 0.50;\
 entities differ 0.00, in the other order 1.00, as annotations 0.50"
