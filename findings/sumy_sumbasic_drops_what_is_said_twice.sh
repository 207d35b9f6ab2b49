#!/usr/bin/env bash
# What a text says twice is the last thing in sumy's SumBasic: the second time overwrites the first one's rating.
#
# Guess before the run: SumBasic takes the sentence with the likeliest words, then squares what it has said; a sentence
# that the text repeats, as a title or a quotation does, is first, once.
# Seen: sumy 0.13.0. A text of four sentences, of which "money talks" is chosen first. With the same sentence once more
# at the end it is in no summary of one, two or three. Ratings are kept in a dictionary by sentence, and two sentences
# of the same text are one key: the first choice has 0, the best, and the later choice of the copy overwrites it with
# -4, below all others. The rating is also minus the dictionary's size, which doesn't grow then.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sumy==0.13.0 nltk==3.10.4 lxml==6.1.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers.sum_basic import SumBasicSummarizer


class Words:
    """Splits at spaces: sumy's tokenizer of English needs files of NLTK."""

    @staticmethod
    def to_words(text):
        return tuple(text.split())


def make_document(sentences):
    return ObjectDocumentModel([Paragraph([Sentence(text, Words) for text in sentences])])


texts = ["money talks", "money of firms grows", "cats sleep on trees all day", "a bank has shops"]
parts = []
for repeated in (texts, [*texts, texts[0]]):
    document = make_document(repeated)
    summary = SumBasicSummarizer()(document, 3)
    places = [number for number in range(1, 6) if texts[0] in map(str, SumBasicSummarizer()(document, number))]
    parts.append(f"'{texts[0]}' is in summaries of {places[0]} and more")
print(f"sumy {importlib.metadata.version('sumy')}: said once, {parts[0]}; said twice, {parts[1]}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sumy 0.13.0: said once, 'money talks' is in summaries of 1 and more; said twice, 'money talks' is in s\
ummaries of 4 and more"
