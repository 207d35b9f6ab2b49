#!/usr/bin/env bash
# A right answer such as "1998" or "rock-n" has an EM and an F1 of 0 in tfkit if the targets are a list.
#
# Guess before the run: `EvalMetric.add_record` takes a target or a list of them ("target should be list of string"),
# and normalizes both as it normalizes the prediction.
# Seen: tfkit 0.8.20. The prediction goes through the tokenizer, is lower-cased, and every character that is no letter
# gets spaces around it: "1998" becomes "1 9 9 8", "café" with an uncased BERT "cafe". A target that is a string does,
# too; one in a list stays as it is. So "Paris" is right, and "1998", "rock-n" and "café" are right as a string and have
# EM 0 and F1 0 in a list. Uncased answers to SQuAD, which has several right ones, are measured too low.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.14.1 scikit-learn==1.9.1 numpy==2.4.6 nlp2==1.9.4 editdistance==0.8.1 \
    inquirer==3.4.1 accelerate==1.15.0 joblib==1.6.0 tensorboard==2.21.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tfkit==0.8.20
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

from tfkit.utility.eval_metric import EvalMetric
from transformers import BertTokenizer

with open(f"{sys.argv[1]}/vocab.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "1998", "paris", "rock", "-", "n", "cafe"]))
tokenizer = BertTokenizer(f"{sys.argv[1]}/vocab.txt")


def scores(answer, target):
    metric = EvalMetric(tokenizer)
    metric.add_record("question", answer, target, "emf1")
    ((_, result, _),) = metric.cal_score("emf1")
    return f"{result['EM']:.0f} {result['F1']:.2f}"


words = []
for text in ("Paris", "1998", "rock-n", "café"):
    words.append(f"{text} {scores(text, text)}, in a list {scores(text, [text])}")
print(f"tfkit {importlib.metadata.version('tfkit')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfkit 0.8.20: Paris 1 1.00, in a list 1 1.00; 1998 1 1.00, in a list 0 0.00; rock-n 1 1.00, in a list\
 0 0.00; café 1 1.00, in a list 0 0.00"
