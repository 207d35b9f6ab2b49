#!/usr/bin/env bash
# On a CPU three counters of operations, PyTorch's own too, find no attention in a BERT with SDPA: a quarter is lost.
#
# Guess before the run: a BERT takes the same number of multiplications with "sdpa" as with "eager" attention; of 512
# tokens and 4 layers of 256 units, 2.147 billion.
# Seen: torch 2.13.0, transformers 5.23.0, calflops 0.3.2, ptflops 0.7.5. FlopCounterMode and calflops count
# 2,147,549,184 with "eager" and 1,610,678,272 with "sdpa", the default; ptflops (backend "aten") 2.152 and 1.615
# billion. PyTorch knows the operations of attention that GPUs use, and not _scaled_dot_product_flash_attention_for_cpu,
# and an operation that it doesn't know costs nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 calflops==0.3.2 ptflops==0.7.5 accelerate==1.15.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import io

import calflops
import ptflops
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
ids = torch.ones([1, 512], dtype=torch.long)
parts = []
for attention in ("eager", "sdpa"):
    config = transformers.BertConfig(vocab_size=1000, attn_implementation=attention, **sizes)
    model = transformers.BertModel(config).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(ids)
    with contextlib.redirect_stdout(io.StringIO()):
        quiet = {"print_results": False, "output_as_string": False}
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        other = calflops.calculate_flops(model=model, kwargs=inputs, **quiet)[1]
        quiet = {"print_per_layer_stat": False, "as_strings": False, "verbose": False}
        third = ptflops.get_model_complexity_info(
            model, (512,), input_constructor=lambda _: {"input_ids": ids}, backend="aten", **quiet
        )[0]
    counts = [
        f"{name} {count / 1e9:.3f}"
        for name, count in (("torch", counter.get_total_flops() / 2), ("calflops", other), ("ptflops", third))
    ]
    parts.append(f"{attention} {', '.join(counts)}")
print(f"torch {torch.__version__.partition('+')[0]}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch 2.13.0: eager torch 2.148, calflops 2.148, ptflops 2.152; sdpa torch 1.611, calflops 1.611,\
 ptflops 1.615"
