#!/usr/bin/env bash
# `ValidJSON(schema=...)` of autoevals looks at no schema: answers without the required key score 1, as valid ones do.
#
# Guess before the run: with the schema of its documentation's example, an object with the texts of a label, ValidJSON
# scores 1 for an answer that has the label and 0 for one without it.
# Seen: autoevals 0.4.1. The constructor keeps the schema, and no code reads it: an answer without the required label,
# one with a number for it and an empty list score 1. The second argument of `eval`, by which the other scorers get the
# expected answer, is the schema instead: with the schema there the scores are right, and an answer is 1 for any
# dictionary that is expected. Evaluations of structured output with the documented call can not fail but for a syntax
# error.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    autoevals==0.4.1 jsonschema==4.25.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from autoevals import ValidJSON

schema = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
answers = ('{"label": "good"}', '{"score": 3}', '{"label": 3}', "[]", "good")
constructed = [ValidJSON(schema=schema).eval(output=answer).score for answer in answers]
given = [ValidJSON().eval(answer, schema).score for answer in answers]
other = ValidJSON(schema=schema).eval(answers[0], {"label": "bad"}).score
print(
    f"autoevals {importlib.metadata.version('autoevals')}: ValidJSON(schema=schema) of {len(answers)} answers",
    f"{constructed}, with the schema as second argument of eval {given}; another label than expected {other}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "autoevals 0.4.1: ValidJSON(schema=schema) of 5 answers [1, 1, 1, 1, 0], with the schema as second argu\
ment of eval [1, 0, 0, 0, 0]; another label than expected 1"
