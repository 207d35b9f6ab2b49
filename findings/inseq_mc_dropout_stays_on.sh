#!/usr/bin/env bash
# After one call with Inseq's mc_dropout_prob_avg a model keeps its dropout: what it says and why differs in each call.
#
# Guess before the run: `step_scores=["mc_dropout_prob_avg"]`, "the average of probability scores", is a mean of
# probabilities, and later calls explain the model without dropout, as those before it did.
# Seen: inseq 0.7.1. Before the call two calls give a word the same probability and all words the same saliency. After
# it the model is in training mode, and two calls give the same words other probabilities and saliencies. The score
# itself is no probability: of the two words one is below 0. It is the distance from the mean of five draws with
# dropout, in their standard deviations.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    inseq==0.7.1 transformers==4.57.6 captum==0.9.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import inseq
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

words = ["[PAD]", "[UNK]", "[EOS]", *(f"w{number}" for number in range(61))]
tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", eos_token="[EOS]", bos_token="[EOS]"
)
torch.manual_seed(0)
sizes = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
config = GPT2Config(**sizes, bos_token_id=2, eos_token_id=2, attn_implementation="eager")
model = GPT2LMHeadModel(config).eval()
for parameter in model.parameters():
    if parameter.ndim > 1:
        torch.nn.init.normal_(parameter, std=0.3)
explainer = inseq.load_model(model, "saliency", tokenizer=fast)


def explain(score="probability"):
    result = explainer.attribute("w1 w2 w3", "w1 w2 w3 w4 w5", show_progress=False, step_scores=[score])[0]
    return result.step_scores[score], result.target_attributions.nan_to_num().sum(-1)


def difference():
    (first, one), (second, two) = explain(), explain()
    largest = [((a - b).abs() / torch.maximum(a, b).clamp_min(1e-9)).max() for a, b in ((first, second), (one, two))]
    return "differ" if min(largest) > 0.01 else f"{max(largest):.2f}"


before = f"{difference()}, training {model.training}"
score = explain("mc_dropout_prob_avg")[0]
after = f"{difference()}, training {model.training}"
version = importlib.metadata.version("inseq")
print(f"inseq {version}: two calls before: {before}; after: {after}; a score below 0: {bool((score < 0).any())}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "inseq 0.7.1: two calls before: 0.00, training False; after: differ, training True; a score below 0: Tr\
ue"
