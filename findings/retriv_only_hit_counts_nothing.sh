#!/usr/bin/env bash
# The only document that BM25 finds gets 0 for it in retriv's hybrid search, and one more, worse hit makes it the best.
#
# Guess before the run: `Merger`, by which the hybrid retriever adds BM25 and a sentence encoder, ranks a document with
# a BM25 score of 12 above one that BM25 has not found, where the encoder has .79 for the first and .80 for the other.
# Seen: retriv 0.2.3. Min-max, the default, makes the lowest score of a list 0, so that the only one is 0, as if it were
# not found: the fused scores are .98 and 1.00. With a second hit, a document with a BM25 score of .1 that the encoder
# puts last, it has 1.98 and is first. "sum", which the tuner may choose, does the same. "max" divides a list whose
# scores are all negative, as logits of a cross-encoder, by .000000001: they become -200,000,000 and less, and the best
# of them is behind a document that is not in the list at all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    retriv==0.2.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The merger alone, without the encoders, indices and the tuner that the whole package imports.
root = importlib.util.find_spec("retriv").submodule_search_locations[0]
for name, path in (("retriv", root), ("retriv.merger", f"{root}/merger"), ("retriv.autotune", root)):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
sys.modules["retriv.autotune"].tune_merger = None

from retriv.merger.merger import Merger

encoder = {"a": 0.80, "b": 0.79, "c": 0.20}
negative = {"a": -0.2, "b": -0.3, "c": -0.9}
cases = {
    "BM25 finds b": ({"b": 12.0}, encoder),
    "b and c": ({"b": 12.0, "c": 0.1}, encoder),
    "negative, BM25 finds d": ({"b": 12.0, "d": 3.0}, negative),
}
parts = []
for norm in ("min-max", "sum", "max"):
    merger = Merger()
    merger.norm = norm
    for name, lists in cases.items():
        ranking = merger.fuse(list(lists))
        parts.append(f"{norm}, {name}: {' '.join(f'{document} {score:.2f}' for document, score in ranking.items())}")
print(f"retriv {importlib.metadata.version('retriv')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "retriv 0.2.3: min-max, BM25 finds b: a 1.00 b 0.98 c 0.00; min-max, b and c: b 1.98 a 1.00 c 0.00;\
 min-max, negative, BM25 finds d: b 1.86 a 1.00 c 0.00 d 0.00; sum, BM25 finds b: a 0.50 b 0.50 c 0.00; sum, b and c:\
 b 1.50 a 0.50 c 0.00; sum, negative, BM25 finds d: b 1.46 a 0.54 c 0.00 d 0.00; max, BM25 finds b: b 1.99 a 1.00 c\
 0.25; max, b and c: b 1.99 a 1.00 c 0.26; max, negative, BM25 finds d: d 0.25 a -200000000.00 b -299999999.00 c\
 -900000000.00"
