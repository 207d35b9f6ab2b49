#!/usr/bin/env bash
# transformers-interpret explains another input than a BERT was given: the last [SEP] of a text is in segment 1.
#
# Guess before the run: its explainers give a BERT what its tokenizer makes of a text, a pair, or a question and its
# text, so that the class, the probability and the answer which they explain are those of the model.
# Seen: transformers-interpret 0.10.0 with transformers 4.57.6. Of a single text [SEP] gets segment 1, where the
# tokenizer has 0 for all. Of a question and a text the [SEP] between them gets 1 instead of 0. Pairs have the right
# segments while they are explained, but the class to explain is chosen by a pass with segment 0 for all. So it tells
# another probability and another answer, or explains a class that the model does not predict. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers-interpret==0.10.0 captum==0.7.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random
import sys

import torch
import transformers_interpret as interpret
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertTokenizerFast

words = list("abcdefghij")
with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
tokenizer = BertTokenizerFast(f"{sys.argv[1]}/vocab.txt")
sizes = {"vocab_size": 15, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
draw = random.Random(0)
pairs = [[" ".join(draw.choices(words, k=5)) for _ in range(2)] for _ in range(40)]


def make(kind, classes):
    torch.manual_seed(0)
    config = BertConfig(**sizes, intermediate_size=32, initializer_range=0.5, num_labels=classes)
    return kind(config).eval()


def outputs(model, *texts):
    with torch.no_grad():
        return model(**tokenizer(*texts, return_tensors="pt"))


classifier = make(BertForSequenceClassification, 3)
single = interpret.SequenceClassificationExplainer(classifier, tokenizer)
pairwise = interpret.PairwiseSequenceClassificationExplainer(classifier, tokenizer)
reader = make(BertForQuestionAnswering, 2)
answering = interpret.QuestionAnsweringExplainer(reader, tokenizer)
probabilities, classes, answers = 0, 0, 0
for first, second in pairs:
    single(first, index=0)
    right = outputs(classifier, first).logits.softmax(-1)[0, 0]
    probabilities += abs(float(single.pred_probs) - float(right)) > 0.01
    pairwise(first, second)
    classes += pairwise.selected_index != int(outputs(classifier, first, second).logits.argmax())
    answering(first, second)
    spans = outputs(reader, first, second)
    answers += [answering.start_pos, answering.end_pos] != [
        int(logits.argmax()) for logits in (spans.start_logits, spans.end_logits)
    ]
print(
    f"transformers-interpret {importlib.metadata.version('transformers-interpret')}, of {len(pairs)}:",
    f"{probabilities} other probabilities of a text, {classes} other classes of a pair, {answers} other answers",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers-interpret 0.10.0, of 40: 17 other probabilities of a text,\
 12 other classes of a pair, 35 other answers"
