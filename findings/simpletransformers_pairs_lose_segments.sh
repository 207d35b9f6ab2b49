#!/usr/bin/env bash
# simpletransformers gives a BERT of pairs another input where use_multiprocessing is off: no text has segment 1.
#
# Guess before the run: `use_multiprocessing` and `use_multiprocessing_for_evaluation` say how fast texts are tokenized,
# and change no number.
# Seen: simpletransformers 0.70.8, transformers 4.57.3. With processes the tokenizer's token types go into the model,
# as transformers' own model has them; without, the columns that are kept are the ids and the mask alone, and BERT
# reads both texts as the first: other probabilities, unwarned. Both ways of training do the same, so that a model
# that is trained in processes (the default) and asked without them, or the other way round, answers for pairs that
# it never saw. Single texts are the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    simpletransformers==0.70.8 transformers==4.57.3 tokenizers==0.22.2 datasets==3.6.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import sys

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

os.environ["WANDB_MODE"] = "disabled"
from simpletransformers.classification import ClassificationModel

if __name__ == "__main__":
    torch.manual_seed(0)
    path = f"{sys.argv[1]}/model"
    os.chdir(sys.argv[1])
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
    with open("vocab.txt", "w") as file:
        file.write("\n".join(words) + "\n")
    tokenizer = BertTokenizerFast("vocab.txt")
    tokenizer.save_pretrained(path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(words), initializer_range=0.5, num_labels=3, **sizes)
    model = BertForSequenceClassification(config).eval()
    model.save_pretrained(path)

    def answers(texts: list, uses_processes: bool) -> np.ndarray:
        """Returns the logits that the library's own prediction gives."""
        settings = {
            "silent": True,
            "process_count": 1,
            "use_multiprocessing": uses_processes,
            "use_multiprocessing_for_evaluation": uses_processes,
        }
        return ClassificationModel("bert", path, use_cuda=False, args=settings).predict(texts)[1]

    pair, single = [["a b", "c d"]], ["a b"]
    with torch.no_grad():
        inputs = tokenizer(*pair[0], return_tensors="pt")
        expected = model(**inputs).logits.numpy()
        without = model(**{**inputs, "token_type_ids": 0 * inputs["token_type_ids"]}).logits.numpy()
    found = {uses: answers(pair, uses) for uses in (True, False)}
    print(
        f"simpletransformers {importlib.metadata.version('simpletransformers')}:"
        f" pairs in processes as transformers {np.allclose(found[True], expected, atol=1e-4)},"
        f" without {np.allclose(found[False], expected, atol=1e-4)},"
        f" which has one segment {np.allclose(found[False], without, atol=1e-4)};"
        f" single texts the same {np.allclose(answers(single, True), answers(single, False), atol=1e-4)}"
    )
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "simpletransformers 0.70.8: pairs in processes as transformers True, without False,\
 which has one segment True; single texts the same True"
