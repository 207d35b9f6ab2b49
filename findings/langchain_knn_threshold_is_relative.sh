#!/usr/bin/env bash
# LangChain's KNNRetriever with relevancy_threshold=.9 returns the best of strangers, and no near-copy (.998) by one.
#
# Guess before the run: the threshold of the retrievers by nearest neighbours and by SVM is one of relevance: a text
# that has little to do with the query is left out, and one that is nearly the same as it is kept.
# Seen: langchain-community 0.4.2. Similarities are scaled so that the corpus' largest is 1 and its smallest 0 before
# they are compared: the best text always passes, though its cosine with the query is .09 or negative; beside a text
# that is the query one with a cosine of .998 is left out if all others are alike; and in a store with a single text,
# which is the smallest, nothing is found, not even the query itself.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    langchain-community==0.4.2 langchain-core==1.8.3 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np

warnings.simplefilter("ignore")
from langchain_community.retrievers import KNNRetriever
from langchain_core.embeddings import Embeddings


class Angles(Embeddings):
    """A text is an angle in degrees, its vector points there."""

    def embed_query(self, text):
        return [float(np.cos(np.radians(float(text)))), float(np.sin(np.radians(float(text))))]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


words = []
for name, texts in {"strangers": "85 120 150", "opposites": "95 120 150", "alike": "0 4 6 8", "single": "0"}.items():
    texts = texts.split()
    retriever = KNNRetriever.from_texts(texts, Angles(), relevancy_threshold=0.9)
    found = {document.page_content for document in retriever.invoke("0")}
    parts = [f"{np.cos(np.radians(float(text))):.3f}{' found' if text in found else ''}" for text in texts]
    words.append(f"{name} {', '.join(parts)}")
version = importlib.metadata.version("langchain-community")
print(f"langchain-community {version}, cosines with the query at relevancy_threshold=0.9: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "langchain-community 0.4.2, cosines with the query at relevancy_threshold=0.9: strangers 0.087 found, -\
0.500, -0.866; opposites -0.087 found, -0.500, -0.866; alike 1.000 found, 0.998, 0.995, 0.990; single 1.000"
