#!/usr/bin/env bash
# The last word of a text takes in the vector of [PAD] in MobileBERT of transformers, if its batch has a longer text.
#
# Guess before the run: a text has the same states alone and beside a longer one, if padding is on the right and the
# attention mask leaves it out, in MobileBertModel as in BertModel.
# Seen: transformers 5.24.0. The input of a word is its vector with those of the words before and after it, and this has
# no mask: the last word gets the vector of [PAD] where the batch goes on, and zeros where the text ends it. With drawn
# weights its state moves by .32 of its length, those of other words by .01 through attention. With a vector of zeros
# for [PAD], as a new model has it, or `trigram_input=False`, all are alike, so that a test of a new model shows
# nothing; weights from elsewhere have any vector there. A tag of the last word, and an embedding by it, depend on the
# batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.24.0 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers
from transformers import BertConfig, BertModel, MobileBertConfig, MobileBertModel

sizes = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 64}
sizes |= {"num_hidden_layers": 2, "num_attention_heads": 4}
extra = {"embedding_size": 32, "intra_bottleneck_size": 32}


def differences(model, zero=False):
    """How far the vectors of the last word and of the others move if a text is padded, of their size."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    if zero:
        model.get_input_embeddings().weight.data[0] = 0.0
    ids = torch.randint(5, 100, (16, 12))
    padded = torch.cat([ids, torch.zeros(16, 4, dtype=torch.long)], 1)
    with torch.no_grad():
        alone = model.eval()(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        beside = model(padded, attention_mask=(padded > 0).long()).last_hidden_state[:, :12]
    moved = (beside - alone).norm(dim=-1) / alone.norm(dim=-1)
    return f"last word {moved[:, -1].mean():.2f}, others {moved[:, :-1].mean():.2f}"


mobile = MobileBertConfig(**sizes, **extra)
print(
    f"transformers {transformers.__version__}: MobileBERT {differences(MobileBertModel(mobile))};",
    f"with a [PAD] of 0 {differences(MobileBertModel(mobile), zero=True)};",
    f"without trigrams {differences(MobileBertModel(MobileBertConfig(**sizes, **extra, trigram_input=False)))};",
    f"BERT {differences(BertModel(BertConfig(**sizes)))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.24.0: MobileBERT last word 0.32, others 0.01; with a [PAD] of 0 last word 0.00, others\
 0.00; without trigrams last word 0.00, others 0.00; BERT last word 0.00, others 0.00"
