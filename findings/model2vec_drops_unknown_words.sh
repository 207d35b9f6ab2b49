#!/usr/bin/env bash
# A static model that model2vec saves for sentence-transformers has other vectors there for texts with unknown words.
#
# Guess before the run: the directory of a BERT's word vectors that model2vec saves, with a `modules.json` that lists
# sentence-transformers' StaticEmbedding, gives the same vectors in both: the means of the same vectors of tokens.
# Seen: model2vec 0.10.0, sentence-transformers 6.2.0. model2vec leaves [UNK] out of the mean, sentence-transformers takes
# its vector in, and neither says so: a text with one unknown word of three has a cosine of 0.73 with itself. A text of
# unknown words alone is all zeros in one and the vector of [UNK] in the other, which then finds all texts of that kind.
# Texts of known words are equal, also after `vocabulary_quantization`, whose mapping and weights both read.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    model2vec==0.10.0 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from transformers import BertTokenizer

path = f"{sys.argv[1]}/static"
letters = [chr(97 + number) for number in range(26)]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, "##a", "##b", "the"]
tokenizer = BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
vectors = np.random.default_rng(0).normal(size=(len(tokens), 32)).astype("float32")
model = StaticModel(vectors, tokenizer.backend_tokenizer)
model.save_pretrained(path)
one = StaticModel.from_pretrained(path)
other = SentenceTransformer(path, device="cpu")
fewer = StaticModel.from_pretrained(path, vocabulary_quantization=16)
fewer.save_pretrained(f"{path}_fewer")
other_fewer = SentenceTransformer(f"{path}_fewer", device="cpu")


def compare(text, one=one, other=other):
    """Returns the cosine of the two vectors of a text, or their lengths where one is zero."""
    first, second = (np.asarray(model.encode([text])[0], np.float64) for model in (one, other))
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    if min(lengths) == 0:
        return f"lengths {lengths[0]:.1f} and {lengths[1]:.1f}"
    return f"{first @ second / lengths[0] / lengths[1]:.2f}"


texts = ("a b c", "the ab", "a Ω c", "Ω")
words = [f"{text} {compare(text)}" for text in texts]
words.append(f"16 vectors {compare('the ab', fewer, other_fewer)}")
print(
    f"model2vec {importlib.metadata.version('model2vec')}, sentence-transformers",
    importlib.metadata.version("sentence-transformers") + ":",
    "; ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "model2vec 0.10.0, sentence-transformers 6.2.0: a b c 1.00; the ab 1.00; a Ω c 0.73; Ω lengths 0.0 and 5.7;\
 16 vectors 1.00"
