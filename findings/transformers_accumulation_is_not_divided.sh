#!/usr/bin/env bash
# With `gradient_accumulation_steps=4` the Trainer of transformers 5 takes steps four times as large for most BERTs.
#
# Guess before the run: a step of 4 times 2 rows is the step of 8 rows, with plain SGD and no clipping, and reports its
# loss; where rows have different numbers of labels, as in masked LM, nearly so.
# Seen: transformers 5.23.0, accelerate 1.15.0, no warning. The losses of the parts are added up instead of averaged
# for BertForSequenceClassification, ForMultipleChoice, ForTokenClassification and ForMaskedLM: gradient and reported
# loss are four times those of the batch. The Trainer leaves the division to a model whose `forward` has keyword
# arguments, which it takes to divide by `num_items_in_batch`; these compute the mean of their part all the same.
# BertLMHeadModel and BertForQuestionAnswering are right. AdamW hides it but for the clipping at `max_grad_norm=1.0`,
# the default, which sees gradients that are four times as long.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 accelerate==1.15.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import torch
import transformers
from transformers import BertConfig, Trainer, TrainingArguments

torch.manual_seed(0)
ids = torch.randint(5, 50, (8, 10))
classes, choices = torch.arange(8) % 3, torch.arange(8) % 2
words = torch.where(torch.arange(10) < 4, ids, -100)
kinds = {
    "SequenceClassification": [{"input_ids": one, "labels": label} for one, label in zip(ids, classes)],
    "MultipleChoice": [{"input_ids": one.reshape(2, 5), "labels": label} for one, label in zip(ids, choices)],
    "TokenClassification": [{"input_ids": one, "labels": one % 3} for one in ids],
    "MaskedLM": [{"input_ids": one, "labels": label} for one, label in zip(ids, words)],
    "QuestionAnswering": [
        {"input_ids": one, "start_positions": label, "end_positions": label + 1} for one, label in zip(ids, classes)
    ],
}


class InOrder(Trainer):
    def _get_train_sampler(self, *arguments):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def step(kind, rows, parts):
    """Returns the change of all weights in a step of SGD, and the reported loss."""
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        initializer_range=0.2,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        num_labels=2 if kind == "QuestionAnswering" else 3,
    )
    model = getattr(transformers, f"BertFor{kind}")(config)
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    arguments = TrainingArguments(
        output_dir=f"{sys.argv[1]}/out",
        per_device_train_batch_size=len(rows) // parts,
        gradient_accumulation_steps=parts,
        max_steps=1,
        learning_rate=0.1,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = InOrder(model=model, args=arguments, train_dataset=rows)
    trainer.train()
    after = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    return after - before, trainer.state.log_history[0]["loss"]


results = []
for kind, rows in kinds.items():
    whole, parts = step(kind, rows, 1), step(kind, rows, 4)
    strength = parts[0] @ whole[0] / (whole[0] @ whole[0])
    results.append(f"{kind} {strength:.1f}, loss {float(parts[1]) / float(whole[1]):.1f}")
print(f"transformers {transformers.__version__}, times the step of the whole batch: {'; '.join(results)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | grep ^transformers)
echo "$seen"
test "$seen" = "transformers 5.23.0, times the step of the whole batch: SequenceClassification 4.0, loss 4.0;\
 MultipleChoice 4.0, loss 4.0; TokenClassification 4.0, loss 4.0; MaskedLM 4.0, loss 4.0;\
 QuestionAnswering 1.0, loss 1.0"
