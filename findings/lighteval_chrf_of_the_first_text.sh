#!/usr/bin/env bash
# chrF and TER of lighteval score the first text of a corpus and no other one: 100 and 0 if the first one is right.
#
# Guess before the run: the corpus metrics `chrf`, `chrf++` and `ter` of lighteval are those of SacreBLEU, which
# computes them, for the same translations and references.
# Seen: lighteval 0.13.0. Of 50 texts of which the first is right and all others are wrong it has a chrF of 100, a
# chrF++ of 100 and a TER of 0; SacreBLEU has 34, 31 and 84. Where all but the first are right the numbers change
# places. It gives SacreBLEU a list of references for each text, where a list of all texts for each reference is
# wanted: so all references are other right answers of the first text, and the texts after it have none and are left
# out. Its `bleu` turns the list over. Which model seems better is the first text's decision.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lighteval==0.13.0 torch==2.14.1 sacrebleu==2.6.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

import sacrebleu
from lighteval.metrics.metrics_corpus import CorpusLevelTranslationMetric
from lighteval.metrics.sample_preparator import GenerativeCorpusMetricInput

source = random.Random(0)
words = "river stone cloud tiger paper window garden silver winter music letter bridge".split()


def sentence():
    return " ".join(source.choices(words, k=8))


right = [sentence() for _ in range(50)]
cases = {
    "first right": right[:1] + [sentence() for _ in range(49)],
    "all right but the first": [sentence()] + right[1:],
}
own = {"chrf": sacrebleu.CHRF(), "chrf++": sacrebleu.CHRF(word_order=2), "ter": sacrebleu.TER()}
parts = []
for name, texts in cases.items():
    items = [GenerativeCorpusMetricInput(golds=[gold], preds=[text]) for gold, text in zip(right, texts)]
    values = []
    for kind, metric in own.items():
        value = CorpusLevelTranslationMetric(kind).compute_corpus(items)
        values.append(f"{kind} {value:.1f} ({metric.corpus_score(texts, [right]).score:.1f})")
    parts.append(f"{name}: {', '.join(values)}")
print(f"lighteval {importlib.metadata.version('lighteval')} (SacreBLEU): {'; '.join(parts)}")
PYTHON
seen=$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lighteval 0.13.0 (SacreBLEU): first right: chrf 100.0 (34.3), chrf++ 100.0 (31.4), ter 0.0 (84.0);\
 all right but the first: chrf 58.3 (98.5), chrf++ 54.9 (98.5), ter 62.5 (1.8)"
