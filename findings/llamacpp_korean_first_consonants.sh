#!/usr/bin/env bash
# The BERT tokenizer of llama.cpp keeps the first consonant of a Korean syllable, and strips the vowels of Hindi.
#
# Guess before the run: an uncased model, converted, reads text as its own tokenizer does: NFD, which takes Hangul
# apart into letters, without the non-spacing marks (Mn), as bert-base-multilingual-uncased was trained.
# Seen: converter of llama-cpp-python 0.3.36, xllamacpp 2026.10.11549. Its table for NFD has one character for each,
# the first: of "한국" ᄒ and ᄀ are left, so that it has the tokens of "학교". And it strips every mark (\p{M}), the
# spacing vowel signs (Mc) of Devanagari, Bengali, Tamil and others, too: "मारा", "मीरा" and "मेरी" are all "मर".
# Texts that mean something else therefore have the same vector. Latin and Greek accents are as they should be.
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
import json
import sys
import unicodedata
import urllib.request

import transformers
import xllamacpp

folder = sys.argv[1]
sys.path[:0] = [folder, f"{folder}/gguf-py"]
import convert_hf_to_gguf
from conversion import base

texts = ["한국", "학교", "मारा", "मीरा", "मेरी", "café", "λόγος"]
letters = sorted(set(unicodedata.normalize("NFD", "".join(texts))))
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
config = transformers.BertConfig(
    vocab_size=len(tokens), hidden_size=32, num_hidden_layers=1, num_attention_heads=1, intermediate_size=32
)
transformers.BertModel(config).save_pretrained(f"{folder}/model")
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
tokenizer.save_pretrained(f"{folder}/model")
base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "bert-bge"
sys.argv = ["convert", f"{folder}/model", "--outtype", "f32", "--outfile", f"{folder}/model.gguf"]
convert_hf_to_gguf.main()

options = xllamacpp.CommonParams()
options.model.path = f"{folder}/model.gguf"
options.embedding = True
options.warmup = False
server = xllamacpp.Server(options)


def tokens_of(text):
    request = urllib.request.Request(
        f"{server.listening_address}/tokenize",
        json.dumps({"content": text}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return [tokens[id] for id in json.load(answer)["tokens"]]


def count(texts, read):
    return f"{sum(len(read(text)) for text in texts)} tokens, {len({tuple(read(text)) for text in texts})} different"


groups = {"Korean": texts[:2], "Hindi": texts[2:5], "café λόγος": texts[5:]}
print(
    f"xllamacpp {importlib.metadata.version('xllamacpp')}:",
    "; ".join(
        f"{name}: {count(group, tokens_of)}, transformers {count(group, tokenizer.tokenize)}"
        for name, group in groups.items()
    ),
    flush=True,
)
PYTHON
"$folder/venv/bin/python" "$folder/program.py" "$folder" > "$folder/said" 2> /dev/null
seen=$(grep ^xllamacpp "$folder/said")
echo "$seen"
test "$seen" = "xllamacpp 2026.10.11549: Korean: 4 tokens, 1 different, transformers 11 tokens, 2 different;\
 Hindi: 6 tokens, 1 different, transformers 11 tokens, 3 different;\
 café λόγος: 9 tokens, 2 different, transformers 9 tokens, 2 different"
