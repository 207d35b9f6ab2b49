#!/usr/bin/env bash
# Chunks of LangChain's SentenceTransformersTokenTextSplitter are no parts of the text: BERT's word pieces are joined.
#
# Guess before the run: the splitter cuts a text after as many tokens as the sentence encoder can read, so that each
# chunk is a part of the text and all of its tokens are encoded.
# Seen: langchain-text-splitters 1.1.3, sentence-transformers 6.2.0, transformers 5.24.0. The ids of the tokens are
# decoded again: with an uncased BERT the chunks are in lower case without accents, with blanks within numbers and
# around hyphens, and what is not in the vocabulary is [UNK], also for the language model that is to answer from them.
# By default a chunk has as many tokens as the encoder reads with [CLS] and [SEP], so that of each chunk the last two
# are cut off before it is encoded: without an overlap two of ten tokens are in no vector.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    langchain-text-splitters==1.1.3 sentence-transformers==6.2.0 transformers==5.24.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib

import torch
from langchain_text_splitters import SentenceTransformersTokenTextSplitter
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizerFast

folder = pathlib.Path(__file__).parent
text = "The café-bar cost 3.14 $ in May, and Ωmega isn't open. The café-bar cost 3.14 $ in May."
words = "[PAD] [UNK] [CLS] [SEP] [MASK] the cafe bar cost 3 14 in may and isn t open - . , '".split()
with open(f"{folder}/vocab.txt", "w") as file:
    file.write(chr(10).join(words))
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
)
BertModel(config).save_pretrained(f"{folder}/bert")
BertTokenizerFast(f"{folder}/vocab.txt", do_lower_case=True).save_pretrained(f"{folder}/bert")
word = models.Transformer(f"{folder}/bert", max_seq_length=10)
SentenceTransformer(modules=[word, models.Pooling(16)]).save(f"{folder}/encoder")

splitter = SentenceTransformersTokenTextSplitter(model_name=f"{folder}/encoder", chunk_overlap=0)
chunks = splitter.split_text(text)
encoder = SentenceTransformer(f"{folder}/encoder")
read = [encoder.tokenize([chunk])["input_ids"].shape[1] - 2 for chunk in chunks]
tokens = [len(encoder.tokenizer.tokenize(chunk)) for chunk in chunks]
print(
    f"langchain-text-splitters {importlib.metadata.version('langchain-text-splitters')}: {chunks};",
    f"parts of the text: {sum(chunk in text for chunk in chunks)} of {len(chunks)}; tokens {tokens}, encoded {read}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "langchain-text-splitters 1.1.3: ['the cafe - bar cost 3. 14 [UNK] in', \"may, and [UNK] isn ' t open. \
the\", 'cafe - bar cost 3. 14 [UNK] in may', '.']; parts of the text: 1 of 4; tokens [10, 10, 10, 1], encoded [8, 8, 8\
, 1]"
