#!/usr/bin/env bash
# The "avg_word_perturbed" of TextAttack is the length of the texts: 10 words where attacks have changed 1.5 on average.
#
# Guess before the run: `WordsPerturbed` "calculates all metrics related to perturbed words": its `avg_word_perturbed`
# is the mean number of words that successful attacks have changed.
# Seen: textattack 0.3.11. Of four texts of ten words two are attacked with one and with two changes, one attack fails
# and one is skipped: `avg_word_perturbed` is 10.0, the mean length of all four texts, while the percentage beside it is
# 15.0, which is right. `AttackSuccessRate` adds up what it has counted before: asked three times about these texts it
# has an accuracy of 75, 50 and 25 before the attacks, and of 25, 50 and 75 under them.
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

import textattack.shared
import torch
from textattack.attack_results import FailedAttackResult, SkippedAttackResult, SuccessfulAttackResult
from textattack.goal_function_results import ClassificationGoalFunctionResult, GoalFunctionResultStatus
from textattack.metrics.attack_metrics.attack_success_rate import AttackSuccessRate
from textattack.metrics.attack_metrics.words_perturbed import WordsPerturbed
from textattack.shared import AttackedText

text = "the film was long and its end was rather sad"


def result(words):
    raw = torch.tensor([0.5, 0.5])
    return ClassificationGoalFunctionResult(
        AttackedText(words), raw, 0, GoalFunctionResultStatus.SEARCHING, 0.5, 1, 0
    )


original = result(text)
results = [
    SuccessfulAttackResult(original, result(text.replace("film", "movie"))),
    SuccessfulAttackResult(original, result(text.replace("film", "movie").replace("sad", "dull"))),
    FailedAttackResult(original, original),
    SkippedAttackResult(original),
]
words = WordsPerturbed().calculate(results)
rate = AttackSuccessRate()
rounds = [dict(rate.calculate(results)) for _ in range(3)]
print(
    f"textattack {importlib.metadata.version('textattack')}: avg_word_perturbed {words['avg_word_perturbed']:g},",
    f"in per cent {words['avg_word_perturbed_perc']:g};",
    f"accuracy before the attack {' '.join(str(numbers['original_accuracy']) for numbers in rounds)},",
    f"under it {' '.join(str(numbers['attack_accuracy_perc']) for numbers in rounds)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: avg_word_perturbed 10, in per cent 15; accuracy before the attack 75.0 50.0 25.0,\
 under it 25.0 50.0 75.0"
