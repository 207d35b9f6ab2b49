#!/usr/bin/env bash
# minicons takes the vector of the last occurrence of a word, also where the characters of the first one are given.
#
# Guess before the run: `CWE.extract_representation([(text, (start, end))])` gives the vector of the word at these
# characters, as its documentation says, so that two senses of "bank" in a sentence can be compared.
# Seen: minicons 0.3.39 with transformers 4.57.6. The characters are only used to cut out the word, which is then
# searched for: both spans give the vector of the last one. `layer=[2, 0]` gives the layers 0 and 2. And the poolings
# "max" and "min" of `extract_sentence_representation` go over the texts of the batch: three texts have seven vectors.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    minicons==0.3.39 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from minicons.cwe import CWE
from transformers import BertConfig, BertModel, BertTokenizerFast

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(tokens))
tokenizer = BertTokenizerFast(f"{folder}/vocab.txt")
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=32,
    initializer_range=0.3,
)
model = BertModel(config).eval()
model.save_pretrained(f"{folder}/model")
tokenizer.save_pretrained(f"{folder}/model")
reader = CWE(f"{folder}/model")
text = "a b c b d"
with torch.no_grad():
    states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states


def layer_and_place(vector):
    """Returns the layer and the number of the token that a vector is of."""
    distances = torch.stack([(layer[0] - vector).abs().amax(-1) for layer in states])
    assert distances.min() < 1e-4
    return divmod(distances.argmin().item(), distances.shape[1])


words = []
for span in ((2, 3), (6, 7)):
    _, place = layer_and_place(reader.extract_representation([(text, span)])[0])
    words.append(f"{span[0]}-{span[1]} token {place}")
layers = [layer_and_place(vectors[0])[0] for vectors in reader.extract_representation([(text, "a")], layer=[2, 0])]
shapes = [
    f"{pooler} {len(reader.extract_sentence_representation(['a b c', 'd e f g h', 'i'], layer=2, pooler=pooler))}"
    for pooler in ("mean", "max", "min")
]
print(
    f"minicons {importlib.metadata.version('minicons')}: characters {', '.join(words)};",
    f"layers 2, 0 are {', '.join(map(str, layers))}; vectors of three texts: {', '.join(shapes)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "minicons 0.3.39: characters 2-3 token 4, 6-7 token 4; layers 2, 0 are 0, 2;\
 vectors of three texts: mean 3, max 7, min 7"
