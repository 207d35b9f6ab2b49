#!/usr/bin/env bash
# NLG-Metricverse's SacreBLEU, chrF, TER and CIDEr with one reference per text read the first text and no other one.
#
# Guess before the run: of four texts of which only the first is right, a corpus score is about a quarter, of all but
# the first three quarters; if each text is another's reference, little is left; a reference given twice changes
# little.
# Seen: nlg-metricverse 0.9.9 with SacreBLEU 2.6.0. References, a list for each text, are given to SacreBLEU as its
# streams: the first text gets all the references, and the rest is dropped, with two references each all but the first
# two texts. Wrong texts behind the first cost nothing, a wrong first text makes the score 0, and texts in another
# order are perfect. CIDEr does the same with one reference (but not with two), and NIST compares each text with all
# references. ROUGE is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 \
    scikit-learn==1.9.1 nltk==3.10.4 evaluate==0.4.6 datasets==5.2.0 bert-score==0.3.13 textstat==0.7.13 \
    syllables==1.1.5 pyemd==1.1.0 validators==0.36.0 seaborn==0.13.2 fire==0.7.1 rouge-score==0.1.2 \
    matplotlib==3.11.2 sacrebleu==2.6.0 setuptools==79.0.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    nlg-metricverse==0.9.9
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import pathlib
import sys

from transformers import BertConfig, BertModel

folder = pathlib.Path(sys.argv[1]) / "model"
BertModel(BertConfig(vocab_size=5, hidden_size=16, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(folder)
(folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
os.environ["MOVERSCORE_MODEL"] = str(folder)  # its import loads one for a picture
from nlgmetricverse import NLGMetricverse, load_metric  # noqa: E402

rights = [
    "the children went to the river in the morning",
    "he sold the old house near the station",
    "she read the letter twice and burned it",
    "nobody had seen the ship since the storm",
]
wrongs = [" ".join(f"x{row}{place}" for place in range(8)) for row in range(4)]
predictions = {
    "all are right": rights,
    "the first is right": rights[:1] + wrongs[1:],
    "all but the first are right": wrongs[:1] + rights[1:],
    "each is another's": rights[1:] + rights[:1],
}
found = []
for metric in ("sacrebleu", "chrf", "ter", "nist", "cider", "rouge"):
    for twice in (False, True):
        references = [[text, text] for text in rights] if twice else rights
        scores = []
        for texts in predictions.values():
            scorer = NLGMetricverse(metrics=load_metric(metric))
            result = scorer(predictions=list(texts), references=list(references))[metric]
            scores.append(result["rouge1" if metric == "rouge" else "score"])
        found.append((metric if not twice else "twice") + " " + " ".join(f"{score:.2f}" for score in scores))
print(
    f"nlg-metricverse {importlib.metadata.version('nlg-metricverse')}",
    "if all four are right, the first, all but the first",
    "and if each is another's, with one reference and the same twice:",
    "; ".join(found),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nlg-metricverse 0.9.9 if all four are right, the first, all but the first and if each is another's,\
 with one reference and the same twice: sacrebleu 1.00 1.00 0.00 1.00; twice 1.00 0.54 0.50 1.00; chrf\
 1.00 1.00 0.00 1.00; twice 1.00 0.52 0.47 1.00; ter 0.00 0.00 0.97 0.00; twice 0.00 0.48 0.48 0.00;\
 nist 5.06 1.29 3.77 5.06; twice 1.04 0.47 0.57 1.04; cider 2.96 2.96 0.00 3.12; twice 10.00 2.50 7.50\
 0.00; rouge 1.00 0.25 0.75 0.18; twice 1.00 0.25 0.75 0.18"
