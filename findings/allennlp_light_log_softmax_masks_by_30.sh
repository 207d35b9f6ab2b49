#!/usr/bin/env bash
# A mask of AllenNLP's log softmax takes 29.9 off a score, and 9.2 in float16: padding with a high score stays likely.
#
# Guess before the run: `masked_log_softmax` gives what is masked a probability of 0, or of next to nothing whatever its
# score is.
# Seen: allennlp-light 1.0.0, PyTorch 2.13.0. The log of 1e-13 is added, in float16 that of .0001. A masked word whose
# score leads by 36 has .995 in float32, and one that leads by 12 has .891 in float16. With equal scores 10 words beside
# 500 places of padding have .995 of the probability in float16. `masked_softmax(memory_efficient=True)` of the same
# scores gives padding exactly 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    allennlp-light==1.0.0 ai2-tango==1.3.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from allennlp_light.nn.util import masked_log_softmax, masked_softmax

mask = torch.tensor([[True, True, False]])


def padding(lead, dtype):
    scores = torch.tensor([[0.0, 0.0, lead]], dtype=dtype)
    values = masked_log_softmax(scores, mask).exp()[0, 2], masked_softmax(scores, mask, memory_efficient=True)[0, 2]
    return " ".join(f"{float(value):.3f}" for value in values)


long = torch.zeros(1, 510).half()
text = masked_log_softmax(long, torch.arange(510)[None] < 10).exp()[0, :10].sum()
parts = [f"lead of {lead:g} {padding(lead, dtype)}" for lead, dtype in ((36.0, torch.float32), (12.0, torch.float16))]
print(
    f"allennlp-light {importlib.metadata.version('allennlp_light')}, padding in log softmax and softmax:",
    f"{'; in float16 '.join(parts)}; ten words of 510 have {float(text):.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "allennlp-light 1.0.0, padding in log softmax and softmax: lead of 36 0.995 0.000; in float16 lead of\
 12 0.891 0.000; ten words of 510 have 0.995"
