#!/usr/bin/env bash
# In a PyTerrier sum of two rankers, `bm25 + dense`, what the second alone has found has no query and no text: NaN.
#
# Guess before the run: the sum of two rankings has the query and the text beside each document, so that a cross-encoder
# behind it reads both, whichever ranker has found the document.
# Seen: pyterrier 1.1.2. Columns that both rankings have are taken from the first one. Documents that only the second
# has have NaN for the query and the text, and if the first finds nothing for a query, all have. A re-ranker that makes
# words of it reads "nan" twice, which is a perfect match: both documents get the score 1 of 1, above those of the first
# ranker, for the words in common. In the other order it is the other ones. `|`, the union, keeps both.
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
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "text", "score"])
    frame["rank"] = frame.groupby("qid").cumcount()
    return pt.Transformer.from_df(frame)


sparse = ranker([("1", "red moon", "a", "a red dress", 3.0), ("1", "red moon", "b", "blue sky", 2.0)])
dense = ranker([("1", "red moon", "c", "the green sea", 0.9), ("2", "deep sea", "d", "deep in the sea", 0.8)])
topics = pd.DataFrame([("1", "red moon"), ("2", "deep sea")], columns=["qid", "query"])


def share(row):
    """The share of the query's words that the text has."""
    query = set(str(row["query"]).split())
    return len(query & set(str(row["text"]).split())) / len(query)


def text(pipeline):
    result = (pipeline >> pt.apply.doc_score(share))(topics).sort_values("docno")
    rows = zip(result.docno, result["query"], result.text, result.score)
    return ", ".join(f"{name} ({query}: {text}) {score:.1f}" for name, query, text, score in rows)


version = importlib.metadata.version("pyterrier")
print(f"pyterrier {version}: sum {text(sparse + dense)}; turned {text(dense + sparse)}; union {text(sparse | dense)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pyterrier 1.1.2: sum a (red moon: a red dress) 0.5, b (red moon: blue sky) 0.0, c (nan: nan) 1.0, d\
 (nan: nan) 1.0; turned a (nan: nan) 1.0, b (nan: nan) 1.0, c (red moon: the green sea) 0.0, d (deep sea: deep in the\
 sea) 1.0; union a (red moon: a red dress) 0.5, b (red moon: blue sky) 0.0, c (red moon: the green sea) 0.0, d (deep\
 sea: deep in the sea) 1.0"
