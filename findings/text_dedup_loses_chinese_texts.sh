#!/usr/bin/env bash
# text-dedup removes Chinese texts of three clauses as too short, whatever their length, and its report never saw them.
#
# Guess before the run: of five texts, two of them the same but for a word, MinHash keeps four and reports 5 before and
# 4 after. `--min_length`, by default 5 tokens, is of no account: the shortest text has 38 characters; or one
# of the short ones is left: "all but one short documents will be removed", as the help says.
# Seen: text-dedup 0.4.0 keeps 1. A token is what stands between two signs that are no letters, so that in Chinese,
# which has no blanks, it is a clause: the three texts that have no near-duplicate have three clauses, are not
# "considered", and are not in the output, none of them. "Before" is counted after that: it reports 2 before and 1
# after. The same in English: a line such as "He went home." is lost, which no other text repeats.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
# The commands of MinHash need no Spark and no UniSim.
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    datasets==5.2.0 numpy==2.4.6 scipy==1.17.1 xxhash==4.1.0 click==8.5.1 click-option-group==0.5.10 rich==13.9.4 \
    ftfy==6.3.1 regex==2026.11.19 psutil==7.2.2 bitarray==3.12.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    text-dedup==0.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import os
import re
import subprocess
import sys

import datasets

folder = sys.argv[1]
long = "春天来了，天气暖和，花都开了，鸟在唱歌，孩子们在公园里玩，老人坐在树下{}。"
texts = [
    long.format("休息"),
    long.format("聊天"),
    "北京是中华人民共和国的首都，位于华北平原的北部，是全国的政治和文化中心以及国际交往中心。",
    "长江是亚洲第一长河，发源于青藏高原的唐古拉山脉各拉丹冬峰西南侧，最后在上海流入东海。",
    "他在大学里学习了四年计算机科学与技术专业，毕业以后回到家乡当中学老师，教数学和物理。",
]
with open(f"{folder}/texts.jsonl", "w", encoding="utf-8") as file:
    for text in texts:
        file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", f"{folder}/texts.jsonl"]
command += ["--split", "train", "--column", "text", "--output", f"{folder}/out", "--cache_dir", f"{folder}/cache"]
# Clauses in common: all but one of six.
command += ["--num_proc", "1", "--ngram", "1", "--threshold", "0.5"]
environment = {**os.environ, "COLUMNS": "200", "HF_HUB_OFFLINE": "1"}
log = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
counts = re.findall(r"(Before|After) *: (\d+)", log.stdout + log.stderr)
kept = datasets.load_from_disk(f"{folder}/out")["text"]
shortest = min(len(text) for text in texts)
print(
    f"text-dedup {importlib.metadata.version('text-dedup')}: {len(texts)} texts of {shortest} characters or more; "
    f"{', '.join(f'{name} {count}' for name, count in counts)}; {len(kept)} is kept"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> "$folder/log" | tail -1)
echo "$seen"
test "$seen" = "text-dedup 0.4.0: 5 texts of 38 characters or more; Before 2, After 1; 1 is kept"
