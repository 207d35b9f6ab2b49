#!/usr/bin/env bash
# sentence-transformers 6 forgets do_lower_case of a model on its way to disk: loaded again, vectors of capitals differ.
#
# Guess before the run: `do_lower_case` of a `Transformer` module, or in `sentence_bert_config.json` as versions
# before 6 wrote it, is kept by `save`, so that the model that is loaded again makes the same vectors.
# Seen: sentence-transformers 6.2.0, transformers 5.23.0, tokenizers 0.23.3. The module puts a step that lower-cases
# before BERT's in the tokenizer and writes that into tokenizer.json alone, no longer into
# sentence_bert_config.json. transformers' class BertTokenizer, which tokenizer_config.json names, builds its steps
# from its own keys, where do_lower_case is false for a cased model. So the model that is saved and loaded again
# gets "QUERY" for "query", unwarned; saved once more the step is gone from tokenizer.json, too.
# The tokenizers library alone, reading the first tokenizer.json, lower-cases.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import json
import pathlib
import sys

import numpy as np
import sentence_transformers
import tokenizers
import torch
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(0)
folder = pathlib.Path(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "QUERY", "the"]
(folder / "vocab.txt").write_text("\n".join(words) + "\n")
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
# A cased model, as a version before 6 kept it: the vectors are the means of all tokens'.
before = folder / "before"
BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(before)
BertModel(BertConfig(vocab_size=len(words), initializer_range=0.5, **sizes)).save_pretrained(before)
settings = {"max_seq_length": 16, "do_lower_case": True}
(before / "sentence_bert_config.json").write_text(json.dumps(settings))
modules = []
for number, (path, name) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling")]):
    type_name = f"sentence_transformers.models.{name}"
    modules.append({"idx": number, "name": str(number), "path": path, "type": type_name})
(before / "modules.json").write_text(json.dumps(modules))
(before / "1_Pooling").mkdir()
pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
(before / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


def describe(path: pathlib.Path) -> tuple[str, np.ndarray]:
    """Returns the tokens and the vector of "the QUERY" in the model of a directory, and saves it again."""
    model = SentenceTransformer(str(path), device="cpu")
    model.save(str(folder / f"{path.name}_saved"))
    return " ".join(model.tokenizer.tokenize("the QUERY")), model.encode("the QUERY")


tokens, vector = describe(before)
saved = folder / "before_saved"
tokens_again, vector_again = describe(saved)
alone = tokenizers.Tokenizer.from_file(str(saved / "tokenizer.json"))
steps = []
for path in (saved, folder / "before_saved_saved"):
    steps.append("Lowercase" in (path / "tokenizer.json").read_text())
print(
    f"sentence-transformers {sentence_transformers.__version__}: {tokens}, loaded again {tokens_again},"
    f" same vector {np.allclose(vector, vector_again, atol=1e-3)};"
    f" tokenizers {' '.join(alone.encode('the QUERY', add_special_tokens=False).tokens)};"
    f" step in tokenizer.json {steps[0]}, saved again {steps[1]}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sentence-transformers 6.2.0: the query, loaded again the QUERY, same vector False;\
 tokenizers the query; step in tokenizer.json True, saved again False"
