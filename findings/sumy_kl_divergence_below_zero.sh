#!/usr/bin/env bash
# The KL divergence of sumy's summaries is below 0: words that a summary lacks count nothing, and it likes odd ones.
#
# Guess before the run: KL summarization adds the sentence after which the text's words diverge least from the
# summary's; a divergence is 0 or more, and of four sentences about a bank and one of eight words that nothing else has
# the odd one comes last.
# Seen: sumy 0.13.0. The odd one is first, at -.36. The sum goes over the words of the summary, not over those of the
# text (as `scipy.stats.entropy`, to which the code says its value is equal, does), so that what a summary misses, the
# whole of its loss, is not in it; each term is then most negative for words that the summary has far more often than
# the text, rare ones in a sentence of their own. Summed over all words, with .01 for those that the summary lacks, the
# odd one is the worst of the five.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sumy==0.13.0 nltk==3.10.4 lxml==6.1.3 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from scipy.stats import entropy
from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers.kl import KLSummarizer


class Words:
    """Splits at spaces: sumy's tokenizer of English needs files of NLTK."""

    @staticmethod
    def to_words(text):
        return tuple(text.split())


def make_document(sentences):
    return ObjectDocumentModel([Paragraph([Sentence(text, Words) for text in sentences])])


texts = [
    "a bank lends money",
    "the bank took money back",
    "money of a bank",
    "the bank and the money",
    "wombats photograph improbable turquoise lighthouses whenever accordions hibernate",
]
document = make_document(texts)
summarizer = KLSummarizer()
words = summarizer.compute_tf(document.sentences)
seen, full = [], []
for text in texts:
    shares = summarizer._joint_freq(text.split(), [])
    seen.append(summarizer._kl_divergence(shares, words))
    full.append(entropy(list(words.values()), [shares.get(word, 0.01) for word in words]))


def show(values):
    return " ".join(f"{value:.2f}" for value in values)


chosen = str(summarizer(document, 1)[0])
print(
    f"sumy {importlib.metadata.version('sumy')}, first: '{chosen[:20]}...'; divergences {show(seen)},",
    f"over all words {show(full)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sumy 0.13.0, first: 'wombats photograph i...'; divergences -0.31 -0.27 -0.31 -0.29 -0.36, over all wor\
ds 0.71 0.57 0.71 0.61 1.26"
