#!/usr/bin/env bash
# The sentence splitter pysbd loses sentences about a horn in B♭ or an integral ∮: they are in none that it returns.
#
# Guess before the run: with clean=False the sentences of a text, put together, are the text.
# Seen: pysbd 0.3.4, no error, with char_span=True too. Its rules mark places in the text with characters of their own,
# as ∯ for a period that ends nothing, and put the periods back later; a text that has one is taken for marked.
# With ♭, ♬, ∮ or ∯ the whole sentence is lost, with ȸ or ☉ what stands before it or the sign. nupunkt 0.8.0
# returns all of the text.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pysbd==0.3.4 nupunkt==0.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import nupunkt
import pysbd


def lost(split):
    """Returns the number of characters that are lost from a text, by the sign in its second sentence."""
    words = []
    for sign in "♮♭♬∮∯☉ȸ":
        text = f"It was new. A horn with {sign} in it was heard. Then all was still."
        sentences = split(text)
        words.append(f"{sign} {len(text.replace(' ', '')) - len(''.join(sentences).replace(' ', ''))}")
    return ", ".join(words)


print(
    f"pysbd {importlib.metadata.version('pysbd')}: {lost(pysbd.Segmenter(language='en', clean=False).segment)};",
    f"nupunkt {importlib.metadata.version('nupunkt')}: {lost(nupunkt.sent_tokenize)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pysbd 0.3.4: ♮ 0, ♭ 23, ♬ 23, ∮ 23, ∯ 23, ☉ 10, ȸ 1; nupunkt 0.8.0: ♮ 0, ♭ 0, ♬ 0, ∮ 0, ∯ 0, ☉ 0, ȸ 0"
