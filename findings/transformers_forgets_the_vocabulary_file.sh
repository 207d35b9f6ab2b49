#!/usr/bin/env bash
# `BertTokenizer(vocab_file="vocab.txt")` of transformers 5 does not read the file: it knows 5 words, and says nothing.
#
# Guess before the run: the keyword by which BERT's tokenizer was made in all versions before, and which its own
# description still names, reads the vocabulary; if not, it is refused, or a path of no file is.
# Seen: transformers 5.23.0. The first parameter is now called `vocab`, and reads a path. `vocab_file` falls into
# the `**kwargs` that the base class keeps for `tokenizer_config.json`, so that the vocabulary is the default one of
# five special tokens, in another order than BERT's: each word is id 1, [CLS] is 2. A file that isn't there is
# taken as well. transformers 4.57.6 reads the file, and raises where there is none. `save_pretrained` then writes
# the five words, so that the mistake outlives the program.
# The checkpoints that this project writes for transformers have a tokenizer.json beside vocab.txt, for
# `from_pretrained` of their folder (modeling/checkpoints/tokenizer_file.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/program.py" <<'PYTHON'
import pathlib
import sys

import transformers

folder = pathlib.Path(sys.argv[1])
path = folder / "vocab.txt"
path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the cat sat ##s".split()]))
arguments = {
    "vocab_file": {"vocab_file": str(path)},
    "no such file": {"vocab_file": str(folder / "none.txt")},
    "vocab": {"vocab": str(path)},
}
if transformers.__version__.startswith("4"):
    del arguments["vocab"]
words = []
for name, keywords in arguments.items():
    try:
        tokenizer = transformers.BertTokenizer(**keywords)
        words.append(f"{name} {len(tokenizer)} {tokenizer('The cats sat')['input_ids']}")
    except (TypeError, ValueError) as error:
        words.append(f"{name} {type(error).__name__}")
print(f"transformers {transformers.__version__}:", ", ".join(words))
PYTHON
lines=()
for pair in "4.57.6 0.22.2" "5.23.0 0.23.3"; do
    read -r transformers tokenizers <<< "$pair"
    python3 -m venv --without-pip "$folder/$transformers"
    python3 -m pip --python "$folder/$transformers/bin/python" install --quiet --disable-pip-version-check \
        --no-compile "transformers==$transformers" "tokenizers==$tokenizers" numpy==2.4.6
    lines+=("$("$folder/$transformers/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)")
done
seen="${lines[0]}; ${lines[1]}"
echo "$seen"
test "$seen" = "transformers 4.57.6: vocab_file 9 [2, 5, 6, 8, 7, 3], no such file ValueError; transformers 5.23.0:\
 vocab_file 5 [2, 1, 1, 1, 3], no such file 5 [2, 1, 1, 1, 3], vocab 9 [2, 5, 6, 8, 7, 3]"
