#!/usr/bin/env bash
# On ReCoRD, a task of SuperGLUE, DeepPavlov calls the exact match F1 and the F1 exact match.
#
# Guess before the run: `record_em_score` is the share of questions whose answer is exactly right, and `record_f1_score`
# gives part of a point for part of the words, so that it is the higher one.
# Seen: DeepPavlov 1.7.0. A model that says "Barack Obama" where "Obama" is right in each of four questions has an "EM"
# of .67 and an "F1" of 0.00; with one question all right they are .75 and .25. The two functions call each other's
# score of an answer. A table with both looks better in the column that is hard, and ReCoRD's average is the same, so
# nothing is noticed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deeppavlov==1.7.0
cat > "$folder/program.py" <<'PYTHON'
import ast
import collections
import importlib.metadata
import re
import string
import typing

import numpy as np

package = importlib.metadata.distribution("deeppavlov")
tree = ast.parse(package.locate_file("deeppavlov/metrics/record_metrics.py").read_text())
tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
for part in tree.body:
    part.decorator_list.clear()
Example = collections.namedtuple("Example", "index prediction answers")
names = {**vars(typing), "RecordNestedExample": Example, "np": np}
names.update(re=re, string=string, collections=collections)
exec(compile(tree, "record_metrics.py", "exec"), names)


def scores(right):
    """F1 and exact match of four answers, of which the first ones are right and the others have a word more."""
    answers = ["Obama"] * right + ["Barack Obama"] * (4 - right)
    examples = [Example(str(number), answer, ["Obama"]) for number, answer in enumerate(answers)]
    return f"F1 {names['record_f1_score'](examples):.2f} EM {names['record_em_score'](examples):.2f}"


parts = [f"{right} of 4 right {scores(right)}" for right in (0, 1, 4)]
print(f"deeppavlov {package.version}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deeppavlov 1.7.0: 0 of 4 right F1 0.00 EM 0.67; 1 of 4 right F1 0.25 EM 0.75; 4 of 4 right F1 1.00 EM\
 1.00"
