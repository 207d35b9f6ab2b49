#!/usr/bin/env bash
# The mean average precision of evidently depends on the order of the rows: of one perfect ranking 1.00, 1.78 or 2.43.
#
# Guess before the run: MAP ranks the documents of each query by the scores of a re-ranker, type "score", whatever
# order the table has them in: 1.00 where the two right ones of ten have the highest scores.
# Seen: evidently 0.7.23 with pandas 2.3.3. The precision at k counts if the last row of the table among the first k
# ranks is right, which is the document at rank k only where the table is sorted. Best last, each k counts: 2.43, above
# the maximum; shuffled 1.78; and a ranking that has the right ones last has 0.00 in place of .16. MAP of training
# candidates as a loader shuffles them compares nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    evidently==0.7.23 pandas==2.3.3 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
from evidently import DataDefinition, Dataset, Recsys, Report
from evidently.metrics import MAP

ranking = [Recsys(user_id="query", item_id="document", target="right", prediction="score")]
rows = [dict(query="a", document=str(n), right=int(n < 2), score=1 - n / 10) for n in range(10)]
table = pd.DataFrame(rows)
orders = {
    "best first": table,
    "best last": table[::-1],
    "shuffled": table.sample(frac=1, random_state=0),
    "wrong ranking, best first": table.assign(score=table["score"][::-1].to_numpy()),
}
parts = []
for name, part in orders.items():
    data = Dataset.from_pandas(part.reset_index(drop=True), data_definition=DataDefinition(ranking=ranking))
    values = Report([MAP(k=10)]).run(data, None).dict()["metrics"][0]["value"]["value"]
    right = part.sort_values("score", ascending=False)["right"].to_numpy()
    places = [place for place, label in enumerate(right, start=1) if label]
    precision = sum(number / place for number, place in enumerate(places, start=1)) / len(places)
    parts.append(f"{name} {values[9]:.2f} {precision:.2f}")
print(f"evidently {importlib.metadata.version('evidently')}, MAP@10 and average precision: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evidently 0.7.23, MAP@10 and average precision: best first 1.00 1.00; best last 2.43 1.00; shuffled\
 1.78 1.00; wrong ranking, best first 0.00 0.16"
