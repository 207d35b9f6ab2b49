#!/usr/bin/env bash
# llama.cpp reranks with a BERT cross-encoder without its pooler and without segment ids: the best document is the last.
#
# Guess before the run: the converter registers BertForSequenceClassification, so that a reranker of one label, as
# sentence-transformers trains it, gives the scores of transformers in llama.cpp (pooling "rank"), up to rounding.
# Seen: converter of llama-cpp-python 0.3.36, xllamacpp 2026.10.11549. No warning, and other scores in another order.
# They are the classifier's product with the raw state of [CLS] while all segment ids are 0: the converter drops
# `pooler.dense` of every BERT, although the classifier was trained behind it and its tanh, and the graph adds the
# first segment to query and document alike. transformers without both gives the scores.
#
# The converter knows a tokenizer by a hash of its output; this small vocabulary is given the name of BERT's own.
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    xllamacpp==2026.10.11549 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6 \
    sentencepiece==0.2.3 protobuf==7.36.2 pyyaml==6.0.3 requests==2.34.2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --dest "$folder" llama-cpp-python==0.3.36
tar -xzf "$folder/llama_cpp_python-0.3.36.tar.gz" -C "$folder" --strip-components=3 --wildcards \
    '*/vendor/llama.cpp/conversion/*' '*/vendor/llama.cpp/gguf-py/*' '*/vendor/llama.cpp/convert_hf_to_gguf.py'
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
import transformers
import xllamacpp

folder = sys.argv[1]
sys.path[:0] = [folder, f"{folder}/gguf-py"]
import convert_hf_to_gguf
from conversion import base

tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
config = transformers.BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=128,
    initializer_range=0.3,
    hidden_act="gelu_new",
    num_labels=1,
)
torch.manual_seed(0)
model = transformers.BertForSequenceClassification(config).eval()
model.save_pretrained(f"{folder}/model")
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
tokenizer.save_pretrained(f"{folder}/model")
base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "bert-bge"
sys.argv = ["convert", f"{folder}/model", "--outtype", "f32", "--outfile", f"{folder}/model.gguf"]
convert_hf_to_gguf.main()

query = "a b c"
documents = ["d e f g", "a b c", "x y z q r", "c c a"]
rows = tokenizer([query] * len(documents), documents, return_tensors="pt", padding=True)
with torch.no_grad():
    right = model(**rows).logits[:, 0]
    states = model.bert(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"])
    bare = model.classifier(states.last_hidden_state[:, 0])[:, 0]

options = xllamacpp.CommonParams()
options.model.path = f"{folder}/model.gguf"
options.embedding = True
options.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
options.n_ctx = 128
options.n_parallel = 1
options.warmup = False
answer = xllamacpp.Server(options).handle_rerank({"query": query, "documents": documents})
found = {one["index"]: one["relevance_score"] for one in answer["results"]}


def words(scores):
    return " ".join(f"{score:.1f}" for score in scores)


print(
    f"transformers {transformers.__version__} {words(right)};",
    f"llama.cpp (xllamacpp {importlib.metadata.version('xllamacpp')})",
    f"{words(found[number] for number in range(len(documents)))};",
    f"without pooler and segments {words(bare)}",
    flush=True,
)
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder" > "$folder/said" 2> /dev/null
seen=$(grep ^transformers "$folder/said")
echo "$seen"
test "$seen" = "transformers 5.23.0 1.0 0.3 0.4 0.6;\
 llama.cpp (xllamacpp 2026.10.11549) -1.8 -0.6 -1.5 -1.2; without pooler and segments -1.8 -0.6 -1.5 -1.2"
