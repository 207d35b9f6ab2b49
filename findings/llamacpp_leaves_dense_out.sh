#!/usr/bin/env bash
# A sentence encoder with a Dense after its pooling, as LaBSE, loses it in llama.cpp: the vectors are unrelated.
#
# Guess before the run: the converter reads the `modules.json` of sentence-transformers and follows it, as it does for
# the pooling, or refuses what it does not know, as it refuses the pooling "max".
# Seen: converter of llama-cpp-python 0.3.36, xllamacpp 2026.10.11549, sentence-transformers 6.2.0. It looks for the
# pooling in that file and for nothing else: `2_Dense` is left out without a word, and what llama.cpp gives are the
# vectors before it, whose cosines with the right ones are near 0. Of a model with "hidden_act": "relu" it computes
# GELU instead, as the activation is not read either; cosines are 0.99. Mean and [CLS] are right.
#
# The converter knows a tokenizer by a hash of its output; this small vocabulary is given the name of BERT's own.
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    xllamacpp==2026.10.11549 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 \
    numpy==2.4.6 sentencepiece==0.2.3 protobuf==7.36.2 pyyaml==6.0.3 requests==2.34.2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --dest "$folder" llama-cpp-python==0.3.36
tar -xzf "$folder/llama_cpp_python-0.3.36.tar.gz" -C "$folder" --strip-components=3 --wildcards \
    '*/vendor/llama.cpp/conversion/*' '*/vendor/llama.cpp/gguf-py/*' '*/vendor/llama.cpp/convert_hf_to_gguf.py'
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import sys

import numpy as np
import torch
import transformers
import xllamacpp
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

folder = sys.argv[1]
sys.path[:0] = [folder, f"{folder}/gguf-py"]
import convert_hf_to_gguf
from conversion import base

base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "bert-bge"
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
texts = ["a b c d", "x y z", "q r s t u v w a b c"]


def compare(name, activation="gelu", pooling="mean", dense=False):
    """Returns the lowest cosine of llama.cpp's vectors with those of sentence-transformers."""
    path = f"{folder}/{name}"
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        initializer_range=0.3,
        hidden_act=activation,
    )
    transformers.BertModel(config).save_pretrained(f"{path}_encoder")
    tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
    tokenizer.save_pretrained(f"{path}_encoder")
    encoder = SentenceTransformer(f"{path}_encoder")[0]
    extra = [Dense(32, 32)] if dense else []
    model = SentenceTransformer(modules=[encoder, Pooling(32, pooling), *extra, Normalize()])
    model.save_pretrained(path)
    sys.argv = ["convert", path, "--outtype", "f32", "--outfile", f"{path}.gguf"]
    convert_hf_to_gguf.main()
    options = xllamacpp.CommonParams()
    options.model.path = f"{path}.gguf"
    options.embedding = True
    options.n_ctx = 128
    options.n_parallel = 1
    options.warmup = False
    answer = xllamacpp.Server(options).handle_embeddings({"input": texts, "model": name})
    answer = json.loads(answer) if isinstance(answer, str) else answer
    vectors = np.array([one["embedding"] for one in answer["data"]])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return f"{(vectors * model.encode(texts)).sum(1).min():.2f}"


print(
    f"xllamacpp {importlib.metadata.version('xllamacpp')}, lowest cosine:",
    f"mean {compare('mean')}, [CLS] {compare('cls', pooling='cls')},",
    f"relu {compare('relu', activation='relu')}, Dense {compare('dense', dense=True)}",
    flush=True,
)
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder" > "$folder/said" 2> /dev/null
seen=$(grep ^xllamacpp "$folder/said")
echo "$seen"
test "$seen" = "xllamacpp 2026.10.11549, lowest cosine: mean 1.00, [CLS] 1.00, relu 0.99, Dense -0.16"
