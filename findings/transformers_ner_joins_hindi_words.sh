#!/usr/bin/env bash
# The NER pipeline of transformers takes words whose accents an uncased BERT strips for parts of the word before.
#
# Guess before the run: with `aggregation_strategy="first"` every word has the label of its first token. The second
# text below, three words of one token each, therefore gives a person and a place, as the first one does.
# Seen: transformers 5.23.0, tokenizers 0.23.3. A token counts as the inside of a word if its length is not that of
# the text at its offsets. A stripped mark makes the text longer than the token: of "दिल्ली" (Delhi) the virama goes,
# of a decomposed "Köln" the two dots. So the place belongs to the word before it: it is lost, "first" and "max" call
# all of it a person, "average" halves the score, and after an "O" nothing is found at all. "simple" is right. Words
# of Hindi, Bengali, Tamil, pointed Hebrew and Arabic have such marks, which bert-base-multilingual-uncased strips.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers

tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "राम", "पटना", "दिलली", "गया", "in", "koln"]
labels = ["O", "B-PER", "B-LOC"]
right = {"राम": "B-PER", "पटना": "B-LOC", "दिलली": "B-LOC", "koln": "B-LOC"}
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
config = transformers.BertConfig(
    vocab_size=len(tokens),
    hidden_size=len(tokens),
    num_hidden_layers=0,
    num_attention_heads=1,
    intermediate_size=4,
    id2label=dict(enumerate(labels)),
    label2id={label: id for id, label in enumerate(labels)},
)
model = transformers.BertForTokenClassification(config).eval()
with torch.no_grad():  # a token's label depends on nothing but the token
    for parameter in model.bert.embeddings.parameters():
        parameter.zero_()
    model.bert.embeddings.LayerNorm.weight.fill_(1)
    model.bert.embeddings.word_embeddings.weight.copy_(torch.eye(len(tokens)))
    model.classifier.weight.zero_()
    for id, token in enumerate(tokens):
        model.classifier.weight[labels.index(right.get(token, "O")), id] = 9


def entities(text, strategy):
    pipeline = transformers.pipeline(
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy=strategy
    )
    found = [
        f"{one['entity_group']} {text[one['start'] : one['end']]} {one['score']:.1f}" for one in pipeline(text)
    ]
    return " + ".join(found) or "nothing"


words = [
    entities("राम पटना गया", "first"),
    *(entities("राम दिल्ली गया", strategy) for strategy in ("simple", "first", "average")),
    entities("in Ko\u0308ln", "simple").replace("o\u0308", "ö"),
    entities("in Ko\u0308ln", "first"),
]
print(f"transformers {transformers.__version__}:", "; ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: PER राम 1.0 + LOC पटना 1.0; PER राम 1.0 + LOC दिल्ली 1.0; PER राम दिल्ली 1.0;\
 PER राम दिल्ली 0.5; LOC Köln 1.0; nothing"
