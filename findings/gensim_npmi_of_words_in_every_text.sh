#!/usr/bin/env bash
# Two words that are together in every text have an NPMI of -1 in gensim, as if they never met; in 99 of 100 it is 1.
#
# Guess before the run: with every text that has both words the value rises, to 1 where they are never apart.
# Seen: gensim 4.4.0. Together in 99 of 100 texts, and never apart, it is 1.00. In 100 of 100 it is -1.00. A small
# constant is added to the probability 1, so that the logarithm in the denominator changes its sign, and both
# logarithms are nearly zero. Topics of a corpus of one kind, such as letters or reports with fixed phrases, get the
# worst value for the words that are in all of them. The mean over pairs hides which ones.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gensim==4.4.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import gensim
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

topic = [["loan", "rate"]]
for together in (1, 50, 99, 100):
    texts = [["loan", "rate", "bank"]] * together + [["loan", "bank"], ["rate", "bank"]] * ((100 - together) // 2)
    texts += [["bank"]] * (100 - len(texts))
    model = CoherenceModel(
        topics=topic, texts=texts, dictionary=Dictionary(texts), coherence="c_npmi", processes=1
    )
    print(f"gensim {gensim.__version__}, together in {together} of 100 texts: {model.get_coherence():.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "gensim 4.4.0, together in 1 of 100 texts: -0.70
gensim 4.4.0, together in 50 of 100 texts: -0.17
gensim 4.4.0, together in 99 of 100 texts: 1.00
gensim 4.4.0, together in 100 of 100 texts: -1.00"
