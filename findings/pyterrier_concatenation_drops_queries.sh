#!/usr/bin/env bash
# `first ^ second` of PyTerrier has no document for a query for which the first has none: the second is not asked.
#
# Guess before the run: the concatenation of two rankings puts the documents of the second behind those of the first,
# and where the first has found none they are all that there is.
# Seen: pyterrier 1.1.2. For a query for which the first ranking is empty the result is empty, though the second has the
# right document at the first place: its scores are to be moved below the last one of the first ranking, and what has no
# such score is dropped by a merge. So a filter or a strict re-ranker with a fallback behind it, the use of `^`, lacks
# the fallback where it is needed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pyterrier==1.1.2 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
import pyterrier as pt


def ranker(rows):
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "score"])
    frame["rank"] = frame.groupby("qid").cumcount()
    return pt.Transformer.from_df(frame)


first = ranker([("1", "red moon", "a", 3.0)])
second = ranker([("1", "red moon", "b", 2.0), ("1", "red moon", "a", 1.0), ("2", "deep sea", "c", 1.0)])
topics = pd.DataFrame([("1", "red moon"), ("2", "deep sea")], columns=["qid", "query"])


def text(pipeline):
    result = pipeline(topics)
    lists = {query: " ".join(result[result.qid == query].docno) or "nothing" for query in topics.qid}
    return ", ".join(f"{query}: {documents}" for query, documents in lists.items())


cut = pt.apply.generic(lambda frame: frame[frame.score > 1.5])
print(
    f"pyterrier {importlib.metadata.version('pyterrier')}: second alone {text(second)};",
    f"first ^ second {text(first ^ second)};",
    f"second ^ first {text(second ^ first)}; sure ones of the second ^ the second {text((second >> cut) ^ second)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pyterrier 1.1.2: second alone 1: b a, 2: c; first ^ second 1: a b, 2: nothing; second ^ first 1: b a,\
 2: c; sure ones of the second ^ the second 1: b a, 2: nothing"
