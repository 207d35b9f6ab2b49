#!/usr/bin/env bash
# conllu cuts a value in the last column of CoNLL-U at its second equals sign, and writes what is left to the file.
#
# Guess before the run: a value of MISC goes on to the next |, since CoNLL-U splits a pair at its first equals sign:
# `Gloss=say.PFV=3SG=PST`, where = is the sign for a clitic in Leipzig glosses, has the value say.PFV=3SG=PST.
# Seen: conllu 6.0.0. The value is say.PFV, and the clitics are lost, also in the file that `serialize` writes. A
# formula a=b+1 is a, and an address ends at ?q. Nothing is said. Labels for a BERT that are kept in MISC, as glosses,
# entities or links are, lose their ends when a corpus is read and written once.
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

rows = [
    ("1", "dixti", "Gloss=say.PFV=3SG=PST|SpaceAfter=No"),
    ("2", "x", "Formula=a=b+1"),
    ("3", "y", "Url=https://example.org/?q=bert"),
]
text = "\n".join("\t".join([place, form, "_", "X", "_", "_", "0", "root", "_", misc]) for place, form, misc in rows)
(sentence,) = conllu.parse(text + "\n\n")
values = [value for token in sentence for key, value in token["misc"].items() if key != "SpaceAfter"]
written = [line.split("\t")[-1] for line in sentence.serialize().strip().split("\n")]
print(f"conllu {importlib.metadata.version('conllu')}, read: {', '.join(values)}; written: {', '.join(written)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "conllu 6.0.0, read: say.PFV, a, https://example.org/?q; written: Gloss=say.PFV|SpaceAfter=No,\
 Formula=a, Url=https://example.org/?q"
