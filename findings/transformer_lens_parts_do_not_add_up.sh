#!/usr/bin/env bash
# The parts into which TransformerLens decomposes a BERT's residual stream don't add up to it: the sum is four times as far.
#
# Guess before the run: `decompose_resid` of a BERT in TransformerLens, whose "sum" the documentation says to be the
# stream, gives parts that add up to it as those of a GPT-2, or refuses, as BERT normalizes the sum after every layer.
# Seen: TransformerLens 4.3.0, transformers 5.23.0. The stream itself and the logits are the model's, to 1e-5. The parts
# of a GPT-2 add up exactly. Those of a BERT are off by four times the stream's size, and nothing is said: the outputs
# of attention and MLP are taken before the LayerNorms that rescale them and all before them, and "embed" is the sum of
# all three embeddings after its LayerNorm, to which "pos_embed" is added once more.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformer-lens==4.3.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import warnings

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import BertConfig, BertForMaskedLM, BertTokenizer, GPT2Config, GPT2LMHeadModel

folder = sys.argv[1]
letters = [chr(97 + number) for number in range(26)]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
tokenizer = BertTokenizer(vocab={token: id for id, token in enumerate(tokens)}, model_max_length=64)
bert = BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    initializer_range=0.3,
    max_position_embeddings=64,
)
gpt2 = GPT2Config(
    vocab_size=len(tokens), n_embd=32, n_layer=2, n_head=2, n_positions=64, initializer_range=0.3
)


@torch.no_grad()
def compare(name, model):
    """Returns how far the stream is from the model's, and the sum of its parts from the stream, relative to it."""
    path = f"{folder}/{name}"
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    bridge = TransformerBridge.boot_transformers(path, hf_model=model.eval(), device="cpu")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bridge.enable_compatibility_mode(no_processing=True)
        ids = torch.arange(5, 13)[None]
        logits, cache = bridge.run_with_cache(ids)
        parts, labels = cache.decompose_resid(-1, return_labels=True)
    assert not any("decompos" in str(warning.message) or "norm" in str(warning.message).lower() for warning in caught)
    stream = cache["resid_post", 1]
    right = torch.allclose(logits, model(ids).logits, atol=1e-4)
    off = (parts.sum(0) - stream).norm() / stream.norm()
    return f"{name} logits {'equal' if right else 'other'}, {len(labels)} parts off by {off:.1f}"


torch.manual_seed(0)
print(
    f"TransformerLens {importlib.metadata.version('transformer-lens')}:",
    "; ".join([compare("GPT-2", GPT2LMHeadModel(gpt2)), compare("BERT", BertForMaskedLM(bert))]),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "TransformerLens 4.3.0: GPT-2 logits equal, 6 parts off by 0.0; BERT logits equal, 6 parts off by 4.2"
