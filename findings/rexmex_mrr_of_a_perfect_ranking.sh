#!/usr/bin/env bash
# The mean reciprocal rank of a perfect ranking is .61 in rexmex: it falls with every relevant document that is found.
#
# Guess before the run: mean_reciprocal_rank of a query is one over the rank of its first relevant document, 1 for three
# relevant ones at the top; hits_at_k, "the number of relevant items in the first k", and average_recall_at_k of them
# are 3 and the mean of the recalls at 1 to 10.
# Seen: rexmex 0.1.3. The reciprocal rank is the mean over all relevant documents, (1 + 1/2 + 1/3) / 3. hits_at_k is the
# precision, of as many documents as were returned: one right document and no other has 1.00, three right ones of ten
# .30. The average recall at k of a late ranking is .369, its average precision; the mean of its recalls is .567.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6 six==1.17.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rexmex==0.1.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from rexmex.metrics.ranking import average_recall_at_k, hits_at_k, mean_average_precision_at_k, mean_reciprocal_rank

relevant = [3, 1, 2]
perfect = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
late = [9, 8, 1, 7, 2, 6, 5, 3, 4, 10]
reciprocal = [mean_reciprocal_rank(some, perfect) for some in ([1], [1, 2], relevant)]
hits = [hits_at_k(relevant, some) for some in (perfect, [1])]
recalls = np.mean([len({*late[:k]} & {*relevant}) / 3 for k in range(1, 11)])
print(
    f"rexmex {importlib.metadata.version('rexmex')}: MRR of one, two, three relevant ones at the top",
    " ".join(f"{value:.2f}" for value in reciprocal) + f"; hits of ten {hits[0]:.2f}, of one {hits[1]:.2f};",
    f"average recall {average_recall_at_k(relevant, late):.3f}, mean of recalls {recalls:.3f},",
    f"average precision {mean_average_precision_at_k([relevant], [late]):.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rexmex 0.1.3: MRR of one, two, three relevant ones at the top 1.00 0.75 0.61; hits of ten 0.30, of\
 one 1.00; average recall 0.369, mean of recalls 0.567, average precision 0.369"
