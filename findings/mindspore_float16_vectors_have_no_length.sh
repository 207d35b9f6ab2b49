#!/usr/bin/env bash
# In float16 MindSpore finds a sentence vector's cosine with itself NaN: 768 units of 10 have an infinite length.
#
# Guess before the run: the cosine of a vector with itself is 1, its normalized units are .036, and a clip of its norm
# to 1 leaves a vector of length 1, in float16 as in float32.
# Seen: MindSpore 2.10.0 on a CPU. Squares are added in float16, whose largest number is 65,504: from a length of 256 on
# a norm is infinite, the cosine is NaN, and `L2Normalize`, `clip_by_norm` and `clip_by_global_norm` make zeros of it,
# so that gradients of that length train nothing, without a word. In float32 all are right. A variance of units that
# vary by 300 is infinite, too, whereas LayerNorm is right. Vectors of a BERT before its pooler, or gradients with a
# loss scale, are often longer.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
from mindspore import Tensor, nn, ops

rng = np.random.default_rng(0)
parts = []
for type in ("float16", "float32"):
    vector = Tensor(np.full((1, 768), 10, type))
    wide = Tensor((rng.normal(size=(1, 768)) * 300).astype(type))
    norm = nn.LayerNorm([768])
    values = {
        "length": ops.norm(vector, dim=1),
        "cosine": ops.cosine_similarity(vector, vector, dim=1),
        "unit": ops.L2Normalize(1)(vector)[:, 0],
        "clipped": ops.clip_by_norm(vector, 1.0)[:, 0],
        "clipped together": ops.clip_by_global_norm([vector], 1.0)[0][:, 0],
        "variance": ops.var(wide, 1),
        "LayerNorm": ops.std(norm.to_float(wide.dtype)(wide).astype(mindspore.float32), 1),
    }
    words = [f"{name} {float(value.asnumpy()[0]):.3g}" for name, value in values.items() if name != "variance"]
    finite = "finite" if np.isfinite(values["variance"].asnumpy()[0]) else "infinite"
    parts.append(f"{type}: {', '.join(words)}, variance {finite}")
print(f"mindspore {mindspore.__version__}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, float16: length inf, cosine nan, unit 0, clipped 0, clipped together 0, LayerNorm 1,\
 variance infinite; float32: length 277, cosine 1, unit 0.0361, clipped 0.0361, clipped together 0.0361, LayerNorm 1,\
 variance finite"
