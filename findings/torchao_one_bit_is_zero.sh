#!/usr/bin/env bash
# With one bit, `torch.int1`, torchao makes all weights of a BERT 0, or NaN, and all texts get the same answer.
#
# Guess before the run: `IntxWeightOnlyConfig(weight_dtype=torch.int1)`, whose types are int1 to int8, leaves two
# values for the weights of a group, as a sign times a scale; the outputs of different texts differ.
# Seen: torchao 0.18.0. Integers of one bit with a sign are -1 and 0, and the scale is set by the range of both: with
# the default mapping, symmetric, every weight of a classifier is 0, and its answer is the bias for all texts, without
# a word. With SYMMETRIC_NO_CLIPPING_ERR all are NaN. The asymmetric mapping leaves 4 % of the weights. With two bits
# all three give 32 answers for 32 texts.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchao==0.18.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import torch
from torchao.quantization import IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.quantization.quant_primitives import MappingType

logging.disable(logging.CRITICAL)
texts = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))


def show(bits, mapping):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 4))
    torch.nn.init.normal_(model[0].weight, 0, 0.02)
    options = {} if mapping is None else {"mapping_type": mapping}
    kind = {1: torch.int1, 2: torch.int2}[bits]
    quantize_(model, IntxWeightOnlyConfig(weight_dtype=kind, granularity=PerGroup(32), **options))
    with torch.no_grad():
        answers = model(texts)
        weight = model[0].weight.dequantize()
    name = "default" if mapping is None else mapping.name.lower()
    if answers.isnan().all():
        return f"{bits} {name} all NaN"
    return f"{bits} {name} zeros {(weight == 0).float().mean():.2f}, answers {len(answers.unique(dim=0))}"


words = [
    show(bits, mapping)
    for bits in (1, 2)
    for mapping in (None, MappingType.SYMMETRIC_NO_CLIPPING_ERR, MappingType.ASYMMETRIC)
]
version = importlib.metadata.version("torchao")
print(f"torchao {version}, bits, weights of 0 and answers for 32 texts: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchao 0.18.0, bits, weights of 0 and answers for 32 texts: 1 default zeros 1.00, answers 1; 1\
 symmetric_no_clipping_err all NaN; 1 asymmetric zeros 0.96, answers 32; 2 default zeros 0.52, answers 32; 2\
 symmetric_no_clipping_err zeros 0.64, answers 32; 2 asymmetric zeros 0.49, answers 32"
