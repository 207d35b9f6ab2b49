#!/usr/bin/env bash
# "No" is an exact match of "it is not known" in qa-metrics, "1" of "in 1912", and its precision is the recall.
#
# Guess before the run: `em_match` says whether there is an "exact normalized match" of words, if not of the whole
# answer, as its example has one inside a sentence; precision falls with words too many, as in SQuAD's F1.
# Seen: qa-metrics 0.2.42. The right answer may stand anywhere in the letters of the given one: "no" in "not known", "1"
# in "1912", "Rome" in "Romeo". The answer "1912" is wrong for "in 1912". An answer of ten words for the one right has a
# precision of 1.00 and a recall of .10: both names are swapped. Words count once, so that "New York" has an F1 of 1.00
# for "New York, New York". Yes/no questions and numbers are right by chance.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nltk==3.10.4 contractions==0.1.73 regex==2026.11.19 requests==2.34.2 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    qa-metrics==0.2.42
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import nltk

nltk.download = lambda *_, **__: True  # The package asks for word lists when it is imported; nothing here needs them.

from qa_metrics.em import em_match
from qa_metrics.f1 import f1_score_with_precision_recall_normalized as f1

pairs = {
    "no": "it is not known",
    "1": "in 1912",
    "Rome": "romeo and juliet",
    "in 1912": "1912",
}
words = [f"{right} / {answer} {em_match(right, answer)}" for right, answer in pairs.items()]
long = f1("paris", "paris is the capital of france and its largest city")
repeated = f1("new york new york", "new york")
print(
    f"qa_metrics {importlib.metadata.version('qa-metrics')}: {', '.join(words)};",
    f"ten words for one: precision {long['precision']:.2f}, recall {long['recall']:.2f};",
    f"half of a name: F1 {repeated['f1']:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "qa_metrics 0.2.42: no / it is not known True, 1 / in 1912 True, Rome / romeo and juliet True, in 1912\
 / 1912 False; ten words for one: precision 1.00, recall 0.10; half of a name: F1 1.00"
