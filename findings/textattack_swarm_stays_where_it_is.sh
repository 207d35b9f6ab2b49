#!/usr/bin/env bash
# TextAttack's particle swarm turns its moves round: a text that is to take 95 of 100 words of the best text takes 5.
#
# Guess before the run: where a particle differs from the best text the velocity of `ParticleSwarmOptimization` rises to
# 3, and the particle takes each of its words with the probability sigmoid(3) = .95, as its page says: the changing
# probability "ranges from 0.047 (sigmoid(-3)) to 0.953 (sigmoid(3))".
# Seen: textattack 0.3.11. At velocity 3 a text of 100 words takes 5 of the best text's, at 0 it takes 49 and at -3 95.
# The move begins with a copy of the best text and puts the particle's own words back with that probability, while the
# velocity is that of going to the best one. So the more a particle differs the less it moves, and one that is nearly
# there loses what it has.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 nltk==3.10.4 lru-dict==1.4.1 Levenshtein==0.27.5 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textattack==0.3.11
cat > "$folder/program.py" <<'PYTHON'
import importlib.util
import sys
import types
from unittest.mock import MagicMock

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba requests filelock pandas pinyin word2number num2words lemminflect datasets"
names += " OpenHowNet language_tool_python bert_score langdetect terminaltables editdistance more_itertools tokenizers"
sys.modules.update({name: MagicMock() for name in [*names.split(), "transformers"]})
package = types.ModuleType("textattack")
package.__path__ = list(importlib.util.find_spec("textattack").submodule_search_locations)
sys.modules["textattack"] = package

import importlib.metadata

import numpy as np
import textattack.shared
from textattack.search_methods import ParticleSwarmOptimization
from textattack.search_methods.population_based_search import PopulationMember
from textattack.shared import AttackedText

best = PopulationMember(AttackedText(" ".join(["good"] * 100)))
particle = PopulationMember(AttackedText(" ".join(["bad"] * 100)))
swarm = ParticleSwarmOptimization(post_turn_check=False)
np.random.seed(0)
parts = []
for velocity in (swarm._equal("bad", "good"), 0.0, -3.0):
    probability = swarm._compute_turn_prob(np.full(100, velocity))
    # The call under the package's comment "Move towards local elite".
    moved = [swarm._turn(best, particle, probability, None).words.count("good") for _ in range(100)]
    parts.append(f"velocity {velocity:g} probability {probability[0]:.2f} taken {np.mean(moved):.0f}")
print(f"textattack {importlib.metadata.version('textattack')}, of 100 words: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, of 100 words: velocity 3 probability 0.95 taken 5; velocity 0 probability 0.50\
 taken 49; velocity -3 probability 0.05 taken 95"
