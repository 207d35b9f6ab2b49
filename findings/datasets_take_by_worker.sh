#!/usr/bin/env bash
# What `take(10)` of a Dataset holds out is trained where a DataLoader has workers: `skip(10)` skips other examples.
#
# Guess before the run: train = texts.skip(10) and held out = texts.take(10) have nothing in common, and are all texts
# together, however many workers of PyTorch's DataLoader read them.
# Seen: datasets 5.2.0 with torch 2.13.0, 40 texts in 4 shards. Without workers nothing is in both. With two workers 5
# of the 10 texts held out are trained, with four 7, and as many others are in neither part: with workers each of these
# skips its share of the 10 at the beginning of its own shards. The docstrings speak of the first n elements.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    datasets==5.2.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import datasets
import torch

if __name__ == "__main__":
    texts = datasets.Dataset.from_dict({"text": list(range(40))}).to_iterable_dataset(num_shards=4)
    held_out = {row["text"] for row in texts.take(10)}
    parts = []
    for workers in (0, 2, 4):
        loader = torch.utils.data.DataLoader(texts.skip(10), num_workers=workers, batch_size=None)
        trained = {int(row["text"]) for row in loader}
        both, lost = len(trained & held_out), 40 - len(trained | held_out)
        parts.append(f"{workers} workers: {len(trained)} trained, {both} of them held out, {lost} lost")
    print(f"datasets {datasets.__version__}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "datasets 5.2.0; 0 workers: 30 trained, 0 of them held out, 0 lost; 2 workers: 30 trained, 5 of them\
 held out, 5 lost; 4 workers: 30 trained, 7 of them held out, 7 lost"
