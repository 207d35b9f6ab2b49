#!/usr/bin/env bash
# A BERT for answers that mergekit merges with itself has lost its answers: the head is left out of the merged file.
#
# Guess before the run: the linear merge of a model with itself is the model, tensor by tensor, for all heads of BERT, or
# mergekit refuses those that it doesn't know.
# Seen: mergekit 0.1.5, transformers 5.23.0. Classifiers, taggers and multiple choice are right. Of the merged
# BertForQuestionAnswering the head is not in the file, of BertForPreTraining pooler and next sentences; the command ends
# well, and its config.json names the class whose head is gone, which transformers then fills with random numbers. A
# class that it has no table of is taken for AutoModelForCausalLM, which it says; that what this one doesn't have is
# left out, it doesn't say.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mergekit==0.1.5 transformers==5.23.0 tokenizers==0.23.3 peft==0.21.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers import BertConfig, BertTokenizer

folder = Path(sys.argv[1])
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
tokenizer = BertTokenizer(vocab={token: id for id, token in enumerate(tokens)}, model_max_length=64)
config = BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=64,
)


def merge(name):
    """Returns how many tensors the merge of a model with itself has of the model's, and what is said of those left out."""
    torch.manual_seed(0)
    one, two, merged = (folder / f"{name}_{part}" for part in ("one", "two", "merged"))
    model = getattr(transformers, name)(config)
    for path in (one, two):
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
    parts = [{"model": str(path), "parameters": {"weight": 0.5}} for path in (one, two)]
    settings = {"merge_method": "linear", "dtype": "float32", "models": parts}
    (folder / "merge.yml").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "mergekit.scripts.run_yaml", folder / "merge.yml", merged]
    run = subprocess.run(
        [*command, "--allow-crimes", "--no-write-model-card"], capture_output=True, text=True, check=True
    )
    before = load_file(one / "model.safetensors")
    after = load_file(merged / "model.safetensors")
    assert all(torch.allclose(before[key], after[key]) for key in after)
    lost = sorted(set(before) - set(after))
    assert json.loads((merged / "config.json").read_text())["architectures"] == [name]
    said = "" if not lost else ", named" if any(key in run.stdout + run.stderr for key in lost) else ", not named"
    return f"{name.removeprefix('BertFor')} lost {len(lost)} of {len(before)}{said}"


names = ("SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice", "PreTraining")
print(
    f"mergekit {importlib.metadata.version('mergekit')}:", "; ".join(merge(f"BertFor{name}") for name in names)
)
PYTHON
seen=$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mergekit 0.1.5: SequenceClassification lost 0 of 41; TokenClassification lost 0 of 39;\
 QuestionAnswering lost 2 of 39, not named; MultipleChoice lost 0 of 41; PreTraining lost 4 of 46, not named"
