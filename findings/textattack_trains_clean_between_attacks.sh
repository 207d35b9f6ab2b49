#!/usr/bin/env bash
# With `attack_epoch_interval=3` TextAttack trains two of three adversarial epochs without any adversarial text.
#
# Guess before the run: "Generate a new adversarial training set every N epochs" means that a set serves for N epochs:
# of seven epochs, the first of them clean, six train on adversarial texts, which are made twice.
# Seen: textattack 0.3.11. Two epochs of the six do, those in which the texts are made; in the four others the set is
# None, and the training is a clean one. The number of steps by which the learning rate falls is that of six adversarial
# epochs, 26 with 8 clean and 8 adversarial texts in batches of 4, where 18 are taken: the rate is not at 0 when the
# training ends. With an interval of 1, the default, it is as expected.
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
sys.modules["transformers"].PreTrainedModel = type("PreTrainedModel", (), {})

import importlib.metadata

import textattack.shared
import torch
from textattack.trainer import Trainer
from textattack.training_args import TrainingArgs

del sys.modules["pandas"]  # PyTorch looks for it.
model = torch.nn.Linear(2, 2)


class Recorder(Trainer):
    """A trainer that notes the sets of adversarial texts and its steps; attack, data and scores are stand-ins."""

    def __init__(self, interval):
        self.training_args = TrainingArgs(
            num_epochs=7, num_clean_epochs=1, attack_epoch_interval=interval, per_device_train_batch_size=4,
            output_dir=f"{sys.argv[1]}/{interval}", load_best_model_at_end=False, save_last=False,
            checkpoint_interval_epochs=None,
        )
        self.model_wrapper = types.SimpleNamespace(model=model, tokenizer=None)
        self.attack, self.train_dataset = "attack", list(range(8))
        self._metric_name, self._global_step = "accuracy", 0
        self.made, self.epochs, self.steps, self.planned = [], [], 0, 0

    def _generate_adversarial_examples(self, epoch):
        self.made.append(epoch)
        return list(range(8))

    def get_train_dataloader(self, dataset, adversarial, batch_size):
        self.epochs.append("clean" if adversarial is None else "adversarial")
        texts = len(dataset) + len(adversarial or [])
        return [(torch.ones(batch_size, 2), torch.zeros(batch_size).long())] * (texts // batch_size)

    def training_step(self, model, tokenizer, batch):
        self.steps += 1
        logits = model(batch[0])
        return torch.nn.functional.cross_entropy(logits, batch[1]), logits.argmax(1), batch[1]

    def get_optimizer_and_scheduler(self, model, steps):
        self.planned = steps
        return torch.optim.SGD(model.parameters(), 0.1), None

    def evaluate(self):
        return 0.0

    def _write_readme(self, *arguments):
        pass


parts = []
for interval in (1, 3):
    trainer = Recorder(interval)
    trainer.train()
    parts.append(
        f"interval {interval} made in {trainer.made}, {trainer.epochs.count('adversarial')} of 7 epochs adversarial,"
        f" {trainer.steps} steps of {trainer.planned} planned"
    )
print(f"textattack {importlib.metadata.version('textattack')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: interval 1 made in [2, 3, 4, 5, 6, 7], 6 of 7 epochs adversarial, 26 steps of 26\
 planned; interval 3 made in [2, 5], 2 of 7 epochs adversarial, 18 steps of 26 planned"
