#!/usr/bin/env bash
# The similarity that Haystack has of an answer and the right one is -.58 among four answers and .36 among five.
#
# Guess before the run: `SASEvaluator` with a cross-encoder has a score from 0 to 1 for each pair, and a pair's score is
# its own, whichever pairs are beside it.
# Seen: haystack-ai 3.4.1, sentence-transformers 6.2.0, transformers 5.23.0, PyTorch 2.13.0. A re-ranker whose files say
# that its scores are logits, as those for MS MARCO do, has four answers from -1.03 to -.43, and the evaluator leaves
# them so. With a fifth of 1.49 all go through a sigmoid, as "scores if they are larger than 1", and the four are .26 to
# .39: a mean of -.68 becomes .43 by one good answer, and runs are not comparable.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    haystack-ai==3.4.1 sentence-transformers==6.2.0 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from haystack.components.evaluators import SASEvaluator
from haystack.utils import ComponentDevice
from sentence_transformers import CrossEncoder
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

words = ["in", "Berlin", "Paris", "the", "capital", "of", "France", "Rome", "nobody", "knows"]
with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
BertWordPieceTokenizer(f"{sys.argv[1]}/vocab.txt", lowercase=False).save(f"{sys.argv[1]}/tokenizer.json")
BertTokenizerFast(tokenizer_file=f"{sys.argv[1]}/tokenizer.json").save_pretrained(f"{sys.argv[1]}/bert")
torch.manual_seed(0)
settings = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "initializer_range": 1.0}
config = BertConfig(vocab_size=len(words) + 5, hidden_size=16, num_labels=1, **settings)
bert = BertForSequenceClassification(config)
bert.classifier.weight.data.mul_(3)  # logits of about -1 to 1.5, as a re-ranker has them
bert.classifier.bias.data.fill_(10.2)
bert.save_pretrained(f"{sys.argv[1]}/bert")
# As the re-rankers for MS MARCO are saved.
encoder = CrossEncoder(f"{sys.argv[1]}/bert", device="cpu", activation_fn=torch.nn.Identity())
encoder.save_pretrained(f"{sys.argv[1]}/re")
evaluator = SASEvaluator(f"{sys.argv[1]}/re", device=ComponentDevice.from_str("cpu"))
right = ["Paris", "in Rome", "the capital of France", "Berlin", "in Berlin"]
given = ["in Paris", "Rome", "Paris", "Paris", "in Rome"]
parts = []
for number in (4, 5):
    scores = evaluator.run(right[:number], given[:number])
    values = " ".join(f"{value:.2f}" for value in scores["individual_scores"])
    parts.append(f"{number} answers {values}, mean {scores['score']:.2f}")
print(f"haystack-ai {importlib.metadata.version('haystack-ai')}: {'; '.join(parts)}")
PYTHON
mkdir "$folder/data"
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder/data" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "haystack-ai 3.4.1: 4 answers -0.58 -0.43 -1.03 -0.69, mean -0.68; 5 answers 0.36 0.39 0.26 0.33 0.82,\
 mean 0.43"
