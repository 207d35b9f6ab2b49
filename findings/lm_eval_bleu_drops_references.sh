#!/usr/bin/env bash
# One text with a single reference makes BLEU, chrF and TER of lm_eval drop the other references of all texts.
#
# Guess before the run: `bleu` of the language model evaluation harness is SacreBLEU's for the same texts, of which 99
# have three references and one has one: SacreBLEU takes None for a reference that is missing.
# Seen: lm_eval 0.4.13. It turns the lists of references over with `zip`, which ends with the shortest one: BLEU is
# 3.9, that of the first references alone, where SacreBLEU with three of each but the last has 100, as each answer is
# one of its references. Without the one text it is 100 in both. chrF is 35 for 100 and TER 83 for 0. A data set in
# which one row has fewer references is scored as if it had no others, and nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sacrebleu==2.6.0 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lm_eval==0.4.13
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

import sacrebleu
from lm_eval.api.metrics import bleu, chrf, ter

source = random.Random(0)
words = "river stone cloud tiger paper window garden silver winter music letter bridge".split()


def sentence():
    return " ".join(source.choices(words, k=8))


references = [[sentence() for _ in range(3)] for _ in range(100)]
answers = [row[2] for row in references]
references[-1] = [answers[-1]]
columns = [[row[place] if place < len(row) else None for row in references] for place in range(3)]
own = (sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER())
parts = []
for name, metric, other in zip(("BLEU", "chrF", "TER"), (bleu, chrf, ter), own):
    mixed, equal = metric(list(zip(references, answers))), metric(list(zip(references[:-1], answers[:-1])))
    first = other.corpus_score(answers, columns[:1]).score
    right = other.corpus_score(answers, columns).score
    words = f"without one text {equal:.1f}, SacreBLEU {right:.1f}, of first references {first:.1f}"
    parts.append(f"{name} {mixed:.1f} ({words})")
print(f"lm_eval {importlib.metadata.version('lm_eval')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lm_eval 0.4.13: BLEU 3.9 (without one text 100.0, SacreBLEU 100.0, of first references 3.9); chrF\
 35.3 (without one text 100.0, SacreBLEU 100.0, of first references 35.3); TER 82.6 (without one text 0.0, SacreBLEU\
 0.0, of first references 82.6)"
