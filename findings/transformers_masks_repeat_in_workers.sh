#!/usr/bin/env bash
# The seeded masks of transformers' collator are drawn once for all epochs if the DataLoader has workers.
#
# Guess before the run: `DataCollatorForLanguageModeling(seed=7)` makes dynamic masks, others in every epoch, which a
# second run repeats; the number of workers changes which, not that.
# Seen: transformers 5.23.0, torch 2.13.0, no warning. In the main process the generator goes on from epoch to epoch.
# Workers are started anew for every epoch, and each makes its generator from the seed and its own number again: a
# text that comes at the same place, as of a stream or a fixed order, has the same masks in all epochs, which is the
# static masking that dynamic masking was to replace. With `persistent_workers=True` the epochs differ, and without a
# seed too.
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

tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
tokenizer = transformers.BertTokenizer(vocab={token: id for id, token in enumerate(tokens)})
texts = [tokenizer(" ".join(tokens[5 + number :])) for number in range(16)]


def epochs(seed, **options):
    """Returns whether the masks of three epochs in a fixed order are the same."""
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=seed)
    loader = torch.utils.data.DataLoader(texts, batch_size=4, collate_fn=collator, **options)
    seen = []
    for _ in range(3):
        seen.append(torch.cat([batch["labels"].flatten() for batch in loader]))
    return "the same" if torch.equal(seen[0], seen[1]) and torch.equal(seen[0], seen[2]) else "others"


if __name__ == "__main__":
    words = [
        f"no workers {epochs(7)}",
        f"2 workers {epochs(7, num_workers=2)}",
        f"persistent {epochs(7, num_workers=2, persistent_workers=True)}",
        f"2 workers without a seed {epochs(None, num_workers=2)}",
    ]
    print(f"transformers {transformers.__version__}, masks of three epochs:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0, masks of three epochs: no workers others, 2 workers the same, persistent others,\
 2 workers without a seed others"
