#!/usr/bin/env bash
# Annotators who give a text the same labels in another order agree by 0 in label-studio-evalme, or by a third.
#
# Guess before the run: choices "sport" and "politics" are the same two labels as "politics" and "sport", and three
# nodes of a taxonomy the same three nodes in any order.
# Seen: label-studio-evalme 0.0.18. Lists of choices are compared as lists: another order is an agreement of 0. A node
# of a taxonomy is looked for in what is left of an iterator over the other annotation, so that the nodes that one look
# has passed by are not found any more: of three equal nodes in another order one is found, .33, and with a first node
# that is missing none, .00 instead of .67. Which order a list has depends on the order of the annotator's clicks.
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

from evalme.classification import exact_matching_choices
from evalme.text.text import TaxonomyEvalItem


def choices(*labels):
    return [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}]


def taxonomy(*nodes):
    return TaxonomyEvalItem([{"from_name": "t", "type": "taxonomy", "value": {"taxonomy": [[node]]}} for node in nodes])


same = exact_matching_choices(choices("sport", "politics"), choices("sport", "politics"))
turned = exact_matching_choices(choices("sport", "politics"), choices("politics", "sport"))
right = taxonomy("a", "b", "c")
orders = {name: right.spans_match(taxonomy(*name.split())) for name in ("a b c", "b a c", "c b a", "a b d", "d a b")}
print(
    f"label-studio-evalme {importlib.metadata.version('label-studio-evalme')}:",
    f"choices {same:.2f}, turned {turned:.2f};",
    f"nodes a b c with {', '.join(f'{name} {value:.2f}' for name, value in orders.items())}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "label-studio-evalme 0.0.18: choices 1.00, turned 0.00; nodes a b c with a b c 1.00, b a c 0.33, c b a\
 0.33, a b d 0.67, d a b 0.00"
