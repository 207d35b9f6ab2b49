#!/usr/bin/env bash
# DeepPavlov's F1 of entities depends on the order of the sentences: an entity at the end of one goes on in the next.
#
# Guess before the run: `ner_f1` of two sentences does not depend on their order; an entity that a BERT begins with
# I-LOC, which is counted as an entity at the beginning of a text, is one at the beginning of any sentence.
# Seen: deeppavlov 1.7.0. Three entities are found, the last by an I- tag at the beginning of its sentence: the F1 is
# 100 if that sentence is the first, and 40 if it is behind one that ends in an entity of the same type; seqeval 1.2.2
# has 100 for both. The sentences are made one list of tags, with nothing between them, so that both entities are lost.
# (The functions are taken out of their file: the package's import wants others that they do not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    seqeval==1.2.2 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deeppavlov==1.7.0
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata
import itertools
import logging
import typing
from collections import OrderedDict

import numpy as np
import seqeval.metrics

package = importlib.metadata.distribution("deeppavlov")
tree = ast.parse(package.locate_file("deeppavlov/metrics/fmeasure.py").read_text())
tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
for part in tree.body:
    part.decorator_list.clear()
names = {**vars(typing), "itertools": itertools, "chain": itertools.chain, "OrderedDict": OrderedDict, "np": np}
names["log"] = logging.getLogger()
exec(compile(tree, "fmeasure.py", "exec"), names)

right = [["B-PER", "O", "B-LOC"], ["B-LOC", "O"]]
found = [["B-PER", "O", "B-LOC"], ["I-LOC", "O"]]
parts = []
for name, sentences in (("in this order", [0, 1]), ("in the other order", [1, 0])):
    labels, tags = ([rows[sentence] for sentence in sentences] for rows in (right, found))
    seqeval_f1 = 100 * seqeval.metrics.f1_score(labels, tags)
    parts.append(f"{name} {names['ner_f1'](labels, tags):.1f}, seqeval {seqeval_f1:.1f}")
print(f"deeppavlov {package.version}, F1 of two sentences {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deeppavlov 1.7.0, F1 of two sentences in this order 40.0, seqeval 100.0; in the other order 100.0,\
 seqeval 100.0"
