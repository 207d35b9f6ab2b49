#!/usr/bin/env bash
# A sure re-ranker has a reciprocal rank of .10 or 1 in ModelScope, as its right document is last or first in the file.
#
# Guess before the run: TextRankingMetric ranks by the logits, so that a right document with the highest logit of ten
# has an MRR of 1 and an nDCG of 1, whatever number is added to all logits.
# Seen: modelscope 1.40.2 with torch 2.13.0. So it is for logits from 0 to 9. From 20 to 29 the MRR is .10 if the right
# document is the last of the file and 1.00 if it is the first, and the nDCG .45: what is ranked is the sigmoid of the
# logits in float32, which is 1 from about 17 on, and equal scores keep their order. (The class is taken out of its
# file: the package's import wants others that it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    modelscope==1.40.2
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata

import numpy as np
import torch

package = importlib.metadata.distribution("modelscope")
tree = ast.parse(package.locate_file("modelscope/metrics/text_ranking_metric.py").read_text())
tree.body = [part for part in tree.body if getattr(part, "name", None) == "TextRankingMetric"]
tree.body[0].decorator_list.clear()


class MetricKeys:
    MRR, NDCG = "mrr", "ndcg"


names = {"np": np, "Metric": object, "MetricKeys": MetricKeys, "Dict": dict, "List": list}
exec(compile(tree, "text_ranking_metric.py", "exec"), names)

scores = torch.arange(10, dtype=torch.float32)
parts = []
for shift in (0, 15, 20):
    words = []
    for labels in (torch.tensor([0] * 9 + [1]), torch.tensor([1] + [0] * 9)):
        metric = names["TextRankingMetric"](mrr_k=10, ndcg_k=10)
        logits = (scores if labels[-1] else scores.flip(0)) + shift
        metric.add({"logits": logits[:, None]}, {"labels": labels, "qid": torch.zeros(10, dtype=torch.long)})
        result = metric.evaluate()
        words.append(f"{'last' if labels[-1] else 'first'} MRR {result['mrr']:.2f} nDCG {result['ndcg']:.2f}")
    parts.append(f"scores {shift} to {shift + 9}: {', '.join(words)}")
print(f"modelscope {package.version}, right one in the file {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "modelscope 1.40.2, right one in the file scores 0 to 9: last MRR 1.00 nDCG 1.00, first MRR 1.00 nDCG\
 1.00; scores 15 to 24: last MRR 0.14 nDCG 0.52, first MRR 1.00 nDCG 0.52; scores 20 to 29: last MRR 0.10 nDCG 0.45,\
 first MRR 1.00 nDCG 0.45"
