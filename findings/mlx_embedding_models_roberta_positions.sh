#!/usr/bin/env bash
# An XLM-RoBERTa in mlx-embedding-models, as multilingual E5, counts positions as a BERT does and reads its padding.
#
# Guess before the run: models that its register lists, "multilingual-e5-small" (an XLM-RoBERTa) among them, have the
# vectors of transformers: its loader has a branch for XLMRobertaConfig.
# Seen: mlx-embedding-models 0.0.11, MLX 0.32.4 on a CPU. Positions are counted from 0, as in BERT, where RoBERTa's
# begin at 2. The attention mask is padded with the id of the padding token, which is 1 there: "read this". And the
# vector of the one segment is left out, as the tokenizer gives no segment ids. A random model has nothing in common
# with itself, a cosine of -0.03; transformers has exactly the vector seen, 1.000, for positions from 0, ten words <pad>
# at the end, all attended to, and no segment. Without the last one it has 0.14. BERTs, whose tokenizer has segments and
# whose padding is 0, are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlx-embedding-models==0.0.11 mlx==0.32.4 mlx-cpu==0.32.4 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 \
    awkward==2.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import torch
from mlx_embedding_models.embedding import EmbeddingModel
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

path = sys.argv[1]
words = "<s> <pad> </s> <unk> <mask> good bad film the was".split()
backend = Tokenizer(models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="<unk>"))
backend.pre_tokenizer = pre_tokenizers.Whitespace()
ends = [("<s>", 0), ("</s>", 2)]
backend.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=ends)
# As XLMRobertaTokenizer, it has no segment ids.
inputs = ["input_ids", "attention_mask"]
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", model_input_names=inputs
)
tokenizer.save_pretrained(path)
torch.manual_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
config = XLMRobertaConfig(vocab_size=len(words), type_vocab_size=1, initializer_range=0.3, pad_token_id=1, **sizes)
model = XLMRobertaModel(config).eval()
model.save_pretrained(path)
mlx_model = EmbeddingModel(path, pooling_strategy="first", normalize=False, max_length=64)


def first_vector(ids, positions=None, segment=True):
    """Returns transformers' vector of <s>; every token is attended to."""
    words = model.embeddings.word_embeddings(torch.tensor([ids]))
    if not segment:
        words = words - model.embeddings.token_type_embeddings.weight[0]
    with torch.no_grad():
        positions = torch.tensor([positions or range(2, len(ids) + 2)])
        states = model(inputs_embeds=words, position_ids=positions).last_hidden_state
    return states[0, 0].numpy()


def cosine(other):
    return f"{vector @ other / np.linalg.norm(vector) / np.linalg.norm(other):.3f}"


ids = tokenizer("the film was bad")["input_ids"]
vector = np.asarray(mlx_model.encode(["the film was bad"], show_progress=False))[0]
padded = ids + [1] * (16 - len(ids))
print(
    f"mlx-embedding-models {importlib.metadata.version('mlx-embedding-models')}:",
    f"transformers {cosine(first_vector(ids))}; positions from 0 {cosine(first_vector(ids, range(len(ids))))};",
    f"and 10 words <pad> {cosine(first_vector(padded, range(16)))};",
    f"and no segment {cosine(first_vector(padded, range(16), False))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embedding-models 0.0.11: transformers -0.029; positions from 0 0.072; and 10 words <pad> 0.144;\
 and no segment 1.000"
