#!/usr/bin/env bash
# conllu reads tweets without their hashtags: in a file of words and tags a line that begins with # is a comment.
#
# Guess before the run: `conllu.parse(text, fields=["form", "ner"])` reads a file of words and tags, as those of
# CoNLL-2003 and WNUT, word by word: what is a comment is known by the lines before a sentence, or by a # without a tab.
# Seen: conllu 6.0.0. Of seven words of a tweet, each with its tag, four are left: #NLProc, #Paris and a lone # are
# gone, and #Paris is an entity. With the numbers of words before them, or with the tag before the word, all seven are
# read. Nothing is said. A BERT for tweets is trained and scored on texts without hashtags, and predictions for the
# file's own lines no longer fit it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    conllu==6.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import conllu

tweet = [("#NLProc", "O"), ("at", "O"), ("#Paris", "B-LOC"), (",", "O"), ("#", "O"), ("1", "O"), ("Paris", "B-LOC")]
words = "\n".join(f"{word}\t{tag}" for word, tag in tweet)
numbered = "\n".join(f"{place}\t{word}\t{tag}" for place, (word, tag) in enumerate(tweet, 1))
parts = []
for name, text, fields in (
    ("word and tag", words, ["form", "ner"]),
    ("with numbers before them", numbered, ["id", "form", "ner"]),
    ("tag and word", "\n".join(f"{tag}\t{word}" for word, tag in tweet), ["ner", "form"]),
):
    (sentence,) = conllu.parse(text + "\n\n", fields=fields)
    entities = [token["form"] for token in sentence if token["ner"] != "O"]
    parts.append(f"{name}: {len(sentence)} words, entities {' '.join(entities)}")
print(f"conllu {importlib.metadata.version('conllu')}, seven words: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "conllu 6.0.0, seven words: word and tag: 4 words, entities Paris; with numbers before them: 7 words,\
 entities #Paris Paris; tag and word: 7 words, entities #Paris Paris"
