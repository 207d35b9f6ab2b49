#!/usr/bin/env bash
# A Trainer of transformers that groups by length resumes with another order: examples are left out, others repeated.
#
# Guess before the run: a run that resumes from a checkpoint in the middle of an epoch skips the batches it has had,
# and goes on with the others, to the same weights as without the interruption, as it does without grouping.
# Seen: transformers 5.23.0, accelerate 1.15.0, torch 2.13.0; 26 examples, batches of 4, a checkpoint at every fifth
# step. In the first epoch this is so. In the second the resumed run draws another order, and skips as many batches
# of it as it has had of the first one: 8 of the 26 examples are left out in this epoch, and others trained twice.
# In the source the order by length is drawn from the global random numbers, which at the start of the resumed run
# are those of the seed; the state in the checkpoint is loaded after the skipping. The random order has its own
# generator, told of the epoch, and resumes rightly.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 accelerate==1.15.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

EXAMPLES, BATCH, EPOCHS, SAVED = 26, 4, 3, 5
STEPS = -(-EXAMPLES // BATCH)
config = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    max_position_embeddings=16,
)
data = [
    {"number": number, "input_ids": [number + 1] * (2 + number * 7 % 10), "labels": number % 2}
    for number in range(EXAMPLES)
]


def train(strategy, folder, resumed=None):
    """Returns the examples of each batch."""
    batches = []

    def collate(rows):
        batches.append([row["number"] for row in rows])
        length = max(len(row["input_ids"]) for row in rows)
        ids = torch.tensor([row["input_ids"] + [0] * (length - len(row["input_ids"])) for row in rows])
        labels = torch.tensor([row["labels"] for row in rows])
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}

    torch.manual_seed(0)
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=BATCH,
        num_train_epochs=EPOCHS,
        save_strategy="steps",
        save_steps=SAVED,
        train_sampling_strategy=strategy,
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        seed=1,
    )
    model = BertForSequenceClassification(config)
    trainer = Trainer(model, arguments, train_dataset=data, data_collator=collate)
    trainer.train(resume_from_checkpoint=resumed)
    return batches


words = []
for strategy in ("random", "group_by_length"):
    folder = f"{sys.argv[1]}/{strategy}"
    whole = train(strategy, folder)
    for step in (5, 10, 20):
        rest = train(strategy, f"{folder}-{step}", f"{folder}/checkpoint-{step}")
        epoch = (whole[:step] + rest)[step // STEPS * STEPS :][:STEPS]
        seen = [number for batch in epoch for number in batch]
        missing = EXAMPLES - len(set(seen))
        words.append(f"{strategy} from step {step} {missing} left out")
print(f"transformers {transformers.__version__}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder/runs" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: random from step 5 0 left out, random from step 10 0 left out,\
 random from step 20 0 left out, group_by_length from step 5 0 left out,\
 group_by_length from step 10 8 left out, group_by_length from step 20 2 left out"
