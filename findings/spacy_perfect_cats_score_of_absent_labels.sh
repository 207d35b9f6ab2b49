#!/usr/bin/env bash
# A perfect text classifier has a cats_score of .67 in spaCy if two of six labels have no text in the test set.
#
# Guess before the run: `cats_score`, by which spaCy chooses the best model, is 1.00 for a classifier that is always
# right; labels without a text have no AUC and no F1, and are left out of the mean.
# Seen: spacy 3.8.18. With texts for four of six labels it is .67, with texts for two .33: an AUC that can't be
# computed, and an F1 of 0 of 0, count as 0 in the mean over all labels, for several labels ("macro AUC") and for one
# ("macro F"). The micro F beside it is 1.00. The scores of two test sets, as of two languages or months, differ by the
# labels that they have, whatever the BERT.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    spacy==3.8.18 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example

nlp = spacy.blank("en")
LABELS = ["toxic", "obscene", "threat", "insult", "identity_hate", "spam"]


def example(gold, scores):
    reference = Doc(nlp.vocab, words=["a", "text"])
    predicted = Doc(nlp.vocab, words=["a", "text"])
    reference.cats, predicted.cats = gold, scores
    return Example(predicted, reference)


def cats(present, exclusive):
    """A classifier that is always right and sure; some of the labels have no text."""
    examples = []
    for number in range(60):
        gold = {label: float(label == present[number % len(present)]) for label in LABELS}
        examples.append(example(gold, {label: 0.98 * gold[label] + 0.01 for label in LABELS}))
    result = Scorer.score_cats(examples, "cats", labels=LABELS, multi_label=not exclusive)
    return f"{result['cats_score']:.2f} ({result['cats_score_desc']}, micro F {result['cats_micro_f']:.2f})"


parts = []
for count in (6, 4, 2):
    present = LABELS[:count]
    parts.append(f"{count} of 6 labels: {cats(present, False)} and {cats(present, True)}")
print(f"spacy {spacy.__version__}, cats_score of several labels and of one, all right: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spacy 3.8.18, cats_score of several labels and of one, all right: 6 of 6 labels: 1.00 (macro AUC,\
 micro F 1.00) and 1.00 (macro F, micro F 1.00); 4 of 6 labels: 0.67 (macro AUC, micro F 1.00) and 0.67 (macro F,\
 micro F 1.00); 2 of 6 labels: 0.33 (macro AUC, micro F 1.00) and 0.33 (macro F, micro F 1.00)"
