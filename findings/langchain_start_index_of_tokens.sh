#!/usr/bin/env bash
# Chunks of LangChain that are measured in tokens begin at -1 every second time: an overlap of tokens counts as letters.
#
# Guess before the run: with `add_start_index=True` each chunk says at which letter of the text it begins, so that the
# text at that place is the chunk, whatever its length is measured in.
# Seen: langchain-text-splitters 1.1.3. The search for a chunk begins at the end of the one before less `chunk_overlap`
# letters. Measured in words (or by `from_huggingface_tokenizer` in tokens), an overlap of 4 is four words, some 22
# letters: the chunk begins before the search does. Of 33 chunks 16 have a start_index of -1, and the search then begins
# at the head of the text again; in a text that repeats itself 31 of 33 are placed wrong, most of them at a later
# repetition. Measured in letters all are right. Highlighted sources and neighbours that are looked up by it are other
# texts.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    langchain-text-splitters==1.1.3 langchain-core==1.8.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

from langchain_text_splitters import RecursiveCharacterTextSplitter

random.seed(0)
words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
texts = {
    "words": " ".join(random.choice(words) for _ in range(200)),
    "repeated": " ".join(["the model reads it,", "the model learns it,"] * 25),
}


def count(text):
    return len(text.split())


results = []
for name, text in texts.items():
    for unit, size, overlap in ((len, 60, 22), (count, 10, 4)):
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=overlap, length_function=unit, add_start_index=True
        )
        starts, true, position = [], [], 0
        for document in splitter.create_documents([text]):
            starts.append(document.metadata["start_index"])
            # A chunk begins after the begin of the one before, and no text is left out between them.
            position = text.find(document.page_content, position + 1 if true else 0)
            true.append(position)
        wrong = sum(one != other for one, other in zip(starts, true))
        how = "letters" if unit is len else "words"
        results.append(f"{name} in {how} {len(starts)} chunks, {starts.count(-1)} at -1, {wrong} wrong")
print(f"langchain-text-splitters {importlib.metadata.version('langchain-text-splitters')}: {'; '.join(results)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "langchain-text-splitters 1.1.3: words in letters 30 chunks, 0 at -1, 0 wrong; words in words 33 chunks\
, 16 at -1, 16 wrong; repeated in letters 28 chunks, 0 at -1, 0 wrong; repeated in words 33 chunks, 2 at -1, 31 wrong"
