#!/usr/bin/env bash
# On SQuAD 2.0 PaddleNLP gives a perfect system 60 of 100: it takes "is_impossible" for "has an answer", and swaps them.
#
# Guess before the run: `squad_evaluate` of six questions with an answer and four without has an exact match of 100 for
# a system that is right ten times, and 60 for one that always answers, whose score is 100 with answers, and 0 without.
# Seen: paddlenlp 2.8.1. With the key "is_impossible", as SQuAD 2.0's files have it, both have 60: 0 for questions with
# an answer and 100 for those without. Without the key, where the list of answers decides, all is as guessed. The key is
# taken as it is for "has an answer", so that who says rightly, by a difference above the threshold, that there is none,
# is wrong. (The functions are taken out of their file: the package's import wants all of PaddleNLP's dependencies.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import ast
import collections
import importlib.metadata
import json
import logging
import re
import string

import numpy as np

package = importlib.metadata.distribution("paddlenlp")
tree = ast.parse(package.locate_file("paddlenlp/metrics/squad.py").read_text())
tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
names = {"collections": collections, "json": json, "re": re, "string": string, "np": np, "logger": logging}
exec(compile(tree, "squad.py", "exec"), names)

answers = {"text": ["Ada"], "answer_start": [0]}
rows = [{"id": str(row), "answers": answers if row < 6 else {"text": [], "answer_start": []}} for row in range(10)]
marked = [{**row, "is_impossible": not row["answers"]["text"]} for row in rows]
systems = {
    "all right": {row["id"]: "Ada" if row["answers"]["text"] else "" for row in rows},
    "always Ada": {row["id"]: "Ada" for row in rows},
}
parts = []
for kind, examples in (("marked", marked), ("not marked", rows)):
    for system, found in systems.items():
        differences = {name: -5.0 if text else 5.0 for name, text in found.items()}
        scores = names["squad_evaluate"](examples, found, differences)
        parts.append(
            f"{kind}, {system} " + "/".join(f"{scores[f'{part}exact']:.0f}" for part in ("", "HasAns_", "NoAns_"))
        )
print(f"paddlenlp {package.version}, exact, HasAns, NoAns: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1, exact, HasAns, NoAns: marked, all right 60/0/100; marked, always Ada 60/0/100; not\
 marked, all right 100/100/100; not marked, always Ada 60/100/0"
