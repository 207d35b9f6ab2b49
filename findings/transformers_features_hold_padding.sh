#!/usr/bin/env bash
# The feature-extraction pipeline of transformers returns vectors of padding for a text that shares a batch.
#
# Guess before the run: a text has a vector for each of its tokens, with any `batch_size`, which its documentation
# calls a matter of speed, so that their mean is the same vector of the text.
# Seen: transformers 5.23.0, no warning. With `batch_size=2` a text of 4 tokens beside one of 10 has 10 vectors, of
# which the last 6 are those of [PAD]; nothing in the answer tells which. The mean of them is another vector, the
# farther off, the longer the neighbour. The vectors of the tokens themselves are equal; the mask that would be needed
# for a mean is not returned.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import torch
import transformers

tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    initializer_range=0.3,
)
model = transformers.BertModel(config).eval()
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
pipeline = transformers.pipeline("feature-extraction", model=model, tokenizer=tokenizer)


def compare(neighbour):
    texts = ["a b", " ".join("cdefghijklmnopqrst"[:neighbour])]
    alone, together = (np.array(pipeline(texts, batch_size=size)[0][0]) for size in (1, 2))
    first, second = alone.mean(0), together.mean(0)
    far = np.linalg.norm(first - second) / np.linalg.norm(first)
    tokens_equal = np.allclose(alone, together[: len(alone)], atol=1e-4)
    return f"{len(together)} vectors of {len(alone)} tokens{', the first equal' * tokens_equal}, mean off by {far:.0%}"


words = "; ".join(f"beside {neighbour + 2}: {compare(neighbour)}" for neighbour in (2, 8, 18))
print(f"transformers {transformers.__version__}: {words}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: beside 4: 4 vectors of 4 tokens, the first equal, mean off by 0%;\
 beside 10: 10 vectors of 4 tokens, the first equal, mean off by 4%;\
 beside 20: 20 vectors of 4 tokens, the first equal, mean off by 7%"
