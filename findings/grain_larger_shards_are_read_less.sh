#!/usr/bin/env bash
# Texts of a larger shard are read less often in Grain: of ten texts on three hosts four are read 10 times in 12 epochs.
#
# Guess before the run: `IndexSampler` with num_epochs=12 reads each text twelve times, on whatever host it is.
# Seen: Grain 0.2.18. Ten texts in three shards, the last ones not dropped: the four of the first shard are read 10
# times each, and the other six 13 or 14 times. The 120 places go to the hosts in turn, 40 each, and the shards have 4,
# 3 and 3 texts: a host whose shard is smaller goes round more often. With 100 texts on 8 hosts texts are read 11.5 or
# 12.5 times in 12 epochs, and with one host 12.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    grain==0.2.18 numpy==2.1.3
cat > "$folder/program.py" <<'PYTHON'
import collections
import importlib.metadata

import grain.python as grain


def count(texts, hosts):
    """Returns how often the texts are read in 12 epochs, the fewest and the most."""
    counts = collections.Counter()
    for host in range(hosts):
        options = grain.ShardOptions(host, hosts, drop_remainder=False)
        sampler = grain.IndexSampler(texts, shard_options=options, shuffle=False, num_epochs=12, seed=0)
        counts.update(grain.DataLoader(data_source=range(texts), sampler=sampler, worker_count=0))
    return counts


small = count(10, 3)
parts = [f"{small[number]}" for number in range(10)]
large = count(100, 8)
shards = [sum(large[number] for number in numbers) / len(numbers) for numbers in (range(13), range(87, 100))]
single = set(count(10, 1).values())
print(
    f"grain {importlib.metadata.version('grain')}, times that ten texts on three hosts are read in 12 epochs:",
    f"{' '.join(parts)}; one host {' '.join(map(str, single))}; 100 on 8, first and last 13: {shards[0]:.1f}",
    f"{shards[1]:.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "grain 0.2.18, times that ten texts on three hosts are read in 12 epochs: 10 10 10 10 14 13 13 14 13 13\
; one host 12; 100 on 8, first and last 13: 11.5 12.5"
