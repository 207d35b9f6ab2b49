#!/usr/bin/env bash
# sqlite-vec finds no text among the ids from 900 on, where a hundred are: a range of ids counts after the k nearest.
#
# Guess before the run: `vector MATCH ? AND k = 5 AND id >= 900` gives the five nearest of the texts with such ids, as
# the same condition on another column does.
# Seen: sqlite-vec 0.1.9. By the year, which is the same number, five texts are found. By the primary key none: the
# five nearest of all 1,000 texts are found first, and then those that are not in the range are taken out. `id IN
# (...)` is looked at before, and finds the five. Batches of texts, or one person's, that are told apart by ranges of
# ids have too few answers or none, and nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sqlite-vec==0.1.9 apsw==3.54.1.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import apsw
import numpy as np
import sqlite_vec

connection = apsw.Connection(":memory:")
connection.enable_load_extension(True)
connection.load_extension(sqlite_vec.loadable_path())
connection.execute("CREATE VIRTUAL TABLE texts USING vec0(id INTEGER PRIMARY KEY, vector FLOAT[8], year INTEGER)")
rng = np.random.default_rng(0)
for number, vector in enumerate(rng.normal(size=(1000, 8)).astype("float32")):
    connection.execute("INSERT INTO texts VALUES (?, ?, ?)", (number, vector.tobytes(), number))
query = rng.normal(size=8).astype("float32").tobytes()
for condition in (
    "year >= 900",
    "id >= 900",
    "id BETWEEN 900 AND 999",
    "id IN (SELECT value FROM json_each(?2))",
):
    numbers = str(list(range(900, 1000)))
    statement = f"SELECT id FROM texts WHERE vector MATCH ?1 AND k = 5 AND {condition}"
    arguments = (query, numbers) if "?2" in condition else (query,)
    found = [row[0] for row in connection.execute(statement, arguments)]
    print(f"{connection.execute('SELECT vec_version()').fetchone()[0]} {condition}: {found}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "v0.1.9 year >= 900: [916, 995, 928, 966, 983]
v0.1.9 id >= 900: []
v0.1.9 id BETWEEN 900 AND 999: []
v0.1.9 id IN (SELECT value FROM json_each(?2)): [916, 995, 928, 966, 983]"
