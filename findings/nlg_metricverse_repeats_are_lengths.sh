#!/usr/bin/env bash
# NLG-Metricverse's repetitiveness is a tenth of the word count, and its abstractness finds new words inside of others.
#
# Guess before the run: repetitiveness counts n-grams that repeat, normalized by the sentence's length, as documented:
# 0 for different words, more for one word 50 times; abstractness is the share of the summary's n-grams that are not in
# the source.
# Seen: nlg-metricverse 0.9.9. The number of words is added to the number of words that repeat, and the sum divided by
# ten: 50 different words have 5.00, one word 50 times 5.10, one word six times 0.70. An n-gram is looked for in the
# source as a string: "he", "saw", "art", "or", "an" and "inn" are in "the", "sawing", "heart", "story", "and" and
# "dinner", so that a summary without one word of its source has 0.
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
    matplotlib==3.11.2 setuptools==79.0.1
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


def score(name, predictions, references):
    return NLGMetricverse(metrics=load_metric(name))(predictions=predictions, references=references)[name]["score"]


texts = {
    "3 different words": "one two three",
    "50 different words": " ".join(f"w{number}" for number in range(50)),
    "one word 6 times": " ".join(["the"] * 6),
    "one word 50 times": " ".join(["the"] * 50),
}
repeated = ", ".join(f"{name} {score('repetitiveness', [text], [text]):.2f}" for name, text in texts.items())
summary, source = "he saw art or an inn", "the heart of the story was there before the dinner and sawing"
words = summary.split()
new = sum(word not in source.split() for word in words) / len(words)
print(
    f"nlg-metricverse {importlib.metadata.version('nlg-metricverse')}: repetitiveness of {repeated};",
    f"abstractness of a summary of {len(words)} words {score('abstractness', [summary], [source]):.2f},",
    f"share of its words that are not in the source {new:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nlg-metricverse 0.9.9: repetitiveness of 3 different words 0.30, 50 different words 5.00, one word 6\
 times 0.70, one word 50 times 5.10; abstractness of a summary of 6 words 0.00, share of its words that\
 are not in the source 1.00"
