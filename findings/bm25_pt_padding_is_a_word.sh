#!/usr/bin/env bash
# With a RoBERTa's tokenizer bm25_pt takes padding for a word: all documents are equally long, and short ones match it.
#
# Guess before the run: the BM25 of a document depends on its words, not on how many documents or queries are scored
# with it, and a short document with the word is before a long one that has it once, too.
# Seen: bm25_pt 0.0.7. It leaves token 0 out as padding, which is BERT's [PAD]; a RoBERTa's <pad> has the number 1. So
# all documents of a batch are as long as the longest one, and a document of 2 words and one of 8 have the same score. A
# query that is padded, because a longer one is scored beside it, finds <pad> in every shorter document and in no long
# one: its scores change with the batch, from .69 and .00 to 10.40 and 8.09, and another is first. With padding that is
# 0 all is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 scipy==1.17.1 numpy==2.4.6 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bm25-pt==0.0.7
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tqdm.auto
from bm25_pt import BM25
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

documents = ["cat sat", "cat ran far off over hill and dale", "dog ran far off over hill and dale", "dog sat on a mat"]


def tokenizer(first, second):
    words = {word: index for index, word in enumerate([first, second, "<unk>"])}
    for document in documents:
        for word in document.split():
            words.setdefault(word, len(words))
    model = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=model, pad_token="<pad>", unk_token="<unk>")


def shown(scores):
    return " ".join(f"{float(score):.2f}" for score in scores)


parts = []
for name, order in (("padding 0", ("<pad>", "<s>")), ("padding 1", ("<s>", "<pad>"))):
    ranker = BM25(tokenizer=tokenizer(*order))
    ranker.index(documents)
    alone = ranker.score_batch(["far cat"])[0]
    beside = ranker.score_batch(["far cat", "a dog sat on a mat over the hill"])[0]
    parts.append(f"{name}: cat {shown(ranker.score('cat')[:2])}; far cat alone {shown(alone)}, beside {shown(beside)}")
print(f"bm25_pt {importlib.metadata.version('bm25-pt')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bm25_pt 0.0.7, padding 0: cat 0.98 0.59; far cat alone 0.98 1.18 0.59 0.00, beside 0.98 1.18 0.59\
 0.00; padding 1: cat 0.69 0.69; far cat alone 0.69 1.39 0.69 0.00, beside 10.40 1.39 0.69 8.09"
