#!/usr/bin/env bash
# A summary that says the first of two sentences twice has a ROUGE-L of 1.00 in lawrouge, and in English any order has.
#
# Guess before the run: a summary with one of two sentences of the reference, said twice, has half of its words: a
# ROUGE-L recall of .57 or so; and the mean over one text (`avg=1`) is the score of that text.
# Seen: lawrouge 2.0.0. With `avg=1` it is 1.00: each of the two copies has all of the reference's first sentence as a
# common subsequence, and the union of them is a list to which both are added. Without `avg` it is .57, as sentences are
# not split there. With isChinese=False it is the other way round: each text is split at spaces, each word is a
# sentence, and "gunman the killed police" has 1.00, as has "the the the the"; with `avg=1` both have .25.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    six==1.17.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lawrouge==2.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import lawrouge


def score(rouge, summary, reference):
    one = rouge.get_scores([summary], [reference])[0]["rouge-l"]["f"]
    mean = rouge.get_scores([summary], [reference], avg=1)["rouge-l"]["f"]
    return f"{one:.2f} and {mean:.2f}"


chinese = score(lawrouge.Rouge(), "一二三。一二三", "一二三。四五六")
english = lawrouge.Rouge(isChinese=False)
words = [score(english, text, "police killed the gunman") for text in ("gunman the killed police", "the the the the")]
version = importlib.metadata.version("lawrouge")
print(
    f"lawrouge {version}, ROUGE-L of one text and mean of it alone: a sentence twice {chinese}, words in another order",
    f"{words[0]}, one word four times {words[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lawrouge 2.0.0, ROUGE-L of one text and mean of it alone: a sentence twice 0.57 and 1.00, words in ano\
ther order 1.00 and 0.25, one word four times 1.00 and 0.25"
