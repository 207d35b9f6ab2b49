#!/usr/bin/env bash
# Tibert's mention F1 leaves out the documents in which nothing is found: 7 of 70 mentions are a recall of 1.00.
#
# Guess before the run: mentions found in one of ten documents have a recall of .1, wrong ones in the others a low
# precision as well; the right chains have 1 in every coreference metric, in any order of their mentions.
# Seen: tibert 0.6.0 with neleval 3.1.1. A document without a predicted mention, and one whose F1 is 0, is skipped
# before the means are taken: nothing or wrong mentions in nine of ten documents have precision, recall and F1 of 1.00.
# LEA (Moosavi and Strube 2016) takes its links as pairs in the order of the mentions: the same chains turned round
# have 0 where MUC, B3, CEAF and BLANC have 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6 tqdm==4.70.1 networkx==3.6.1 \
    more-itertools==11.2.1 neleval==3.1.1 rich==15.0.0 sacremoses==0.2.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tibert==0.6.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from tibert.bertcoref import CoreferenceDocument, Mention
from tibert.score import score_coref_predictions, score_mention_detection

tokens = [f"w{number}" for number in range(40)]


def document(*chains):
    return CoreferenceDocument(tokens, [[Mention(tokens[a:b], a, b) for a, b in chain] for chain in chains])


chains = [[(0, 2), (5, 6), (9, 11), (20, 21)], [(3, 4), (12, 14), (30, 31)]]
right = document(*chains)
empty = document()
wrong = document([(7, 8), (15, 16)])
turned = document(*[chain[::-1] for chain in chains])
references = [right] * 10
cases = {
    "all are found": references,
    "nothing in nine": [right] + [empty] * 9,
    "wrong ones in nine": [right] + [wrong] * 9,
    "nothing in all": [empty] * 10,
}
detected = []
for name, found in cases.items():
    precision, recall, f1 = score_mention_detection(found, references)
    mentions = sum(len(chain) for answer in found for chain in answer.coref_chains)
    right_ones = 7 * sum(answer is right for answer in found)
    detected.append(f"{name} {precision:.2f} {recall:.2f} {f1:.2f} ({right_ones} of {mentions}, {right_ones} of 70)")
scores = []
for name, found in (("as they are", right), ("turned round", turned)):
    result = score_coref_predictions([found], [right])
    scores.append(f"{name} " + " ".join(f"{metric} {values['f1']:.2f}" for metric, values in result.items()))
print(
    f"tibert {importlib.metadata.version('tibert')}, precision, recall and F1 of mentions if of ten documents",
    "; ".join(detected) + "; F1 of the right chains",
    "; ".join(scores),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tibert 0.6.0, precision, recall and F1 of mentions if of ten documents all are found 1.00 1.00 1.00\
 (70 of 70, 70 of 70); nothing in nine 1.00 1.00 1.00 (7 of 7, 7 of 70); wrong ones in nine 1.00 1.00\
 1.00 (7 of 25, 7 of 70); nothing in all 0.00 0.00 0.00 (0 of 0, 0 of 70); F1 of the right chains as\
 they are MUC 1.00 B3 1.00 CEAF 1.00 BLANC 1.00 LEA 1.00; turned round MUC 1.00 B3 1.00 CEAF 1.00 BLANC\
 1.00 LEA 0.00"
