#!/usr/bin/env bash
# The BLEU of ragas reads the first sentence of an answer only: nonsense after it scores 1.00, another first one 0.00.
#
# Guess before the run: BleuScore compares an answer of several sentences with a reference, as SacreBLEU, which it
# calls, does with both texts: 1.00 for a copy, less for an answer that leaves sentences out or invents them.
# Seen: ragas 0.4.3, sacrebleu 2.6.0. It gives SacreBLEU one list for each sentence of the reference, which are as many
# references for the first sentence of the answer; all others are dropped. The first of three sentences alone has 1.00
# (SacreBLEU .10), with two wrong ones after it 1.00 (.30), a wrong one before two right ones 0.00 (.68); and it may
# match any sentence of the reference. (The class is taken out of its file: the package's import wants many others,
# which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sacrebleu==2.6.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    ragas==0.4.3
cat > "$folder/program.py" <<'PYTHON'
import ast
import asyncio
import importlib.metadata
from types import SimpleNamespace

from sacrebleu import corpus_bleu

path = importlib.metadata.distribution("ragas").locate_file("ragas/metrics/collections/_bleu_score.py")
names = {"BaseMetric": object, "MetricResult": SimpleNamespace, "t": __import__("typing")}
tree = ast.parse(path.read_text())
tree.body = [part for part in tree.body if isinstance(part, ast.ClassDef)]
exec(compile(tree, "_bleu_score.py", "exec"), names)
metric = names["BleuScore"].__new__(names["BleuScore"])
metric.kwargs = {}

reference = "Paris is the capital of France. It lies on the river Seine. Two million people live in it"
answers = {
    "the same": reference,
    "its first sentence": "Paris is the capital of France",
    "other sentences after it": "Paris is the capital of France. Bananas are yellow and sweet. Nobody knows who wrote",
    "another first sentence": "Bananas are yellow and sweet. It lies on the river Seine. Two million people live in it",
}
parts = []
for name, answer in answers.items():
    score = asyncio.run(metric.ascore(reference, answer)).value
    parts.append(f"{name} {score:.2f} {corpus_bleu([answer], [[reference]]).score / 100:.2f}")
print(f"ragas {importlib.metadata.version('ragas')}, BLEU and SacreBLEU's: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ragas 0.4.3, BLEU and SacreBLEU's: the same 1.00 1.00; its first sentence 1.00 0.10; other sentences\
 after it 1.00 0.30; another first sentence 0.00 0.68"
