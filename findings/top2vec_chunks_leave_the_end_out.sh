#!/usr/bin/env bash
# `split_documents=True` of Top2Vec leaves out the second half of long documents: it ends at word 550 of 1,000.
#
# Guess before the run: with chunks of 100 words that overlap by half, the defaults, every word of a document of 1,000
# words is in a chunk, and most of them are in two.
# Seen: top2vec 1.0.36. There are ten chunks, which begin every 50 words and end with word 550: the number of chunks is
# that of chunks without an overlap. With an overlap of .8 the last word is the 271st, with 0 it is the 1,000th. So the
# vectors, topics and search of long documents know their first half alone, or less with more overlap, which is meant
# to lose less. `chunk_overlap_ratio=0` reads all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 joblib==1.6.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    top2vec==1.0.36
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types


class Unused(types.ModuleType):
    """A package that the chunks do not need: its names are there and do nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


names = "gensim.models.doc2vec gensim.models.phrases gensim.utils gensim.parsing.preprocessing umap hdbscan wordcloud"
for name in [*names.split(), "matplotlib.pyplot", "torch.utils.data", "transformers"]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        sys.modules[".".join(parts[:end])] = Unused(".".join(parts[:end]))
from top2vec.top2vec import get_chunks

words = []
for overlap in (0.0, 0.25, 0.5, 0.8):
    chunks = [chunk.split() for chunk in get_chunks([str(n) for n in range(1, 1001)], 100, None, overlap)]
    read = len({word for chunk in chunks for word in chunk})
    words.append(f"overlap {overlap}: {len(chunks)} chunks, {read} words, the last is {chunks[-1][-1]}")
print(f"top2vec {importlib.metadata.version('top2vec')}, 1,000 words: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "top2vec 1.0.36, 1,000 words: overlap 0.0: 10 chunks, 1000 words, the last is 1000; overlap 0.25: 10\
 chunks, 775 words, the last is 775; overlap 0.5: 10 chunks, 550 words, the last is 550; overlap 0.8: 10 chunks, 271\
 words, the last is 271"
