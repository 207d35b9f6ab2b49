#!/usr/bin/env bash
# UpQuartile of docs-ranking-metrics compares labels with scores: of logits the last one is in the top quarter.
#
# Guess before the run: `UpQuartile` is the share of queries in which the fake document, labelled -1, is in the upper
# quarter of the scores: 1 if it is first, 0 if it is last.
# Seen: docs-ranking-metrics 0.0.4. With BM25 scores, which are 0 or more, it is 0 though the fake has the highest score
# of all, and with logits of a re-ranker from -9 to -2 it is 1 though the fake has the lowest: what is compared with the
# quartile is the label, -1, not the score. `Top@3` of one query with three fakes is 3.00, as a share: it counts
# documents and divides by queries, and `AverageLoc` adds their places up, to 6, which is no place that one of them has.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    docs-ranking-metrics==0.0.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import types

# The module is loaded from its file: the package's import wants TensorFlow Text and sentence-transformers.
package = importlib.metadata.distribution("docs-ranking-metrics")
path = package.locate_file("docs_ranking_metrics/evaluation_metrics.py")
spec = importlib.util.spec_from_file_location("evaluation_metrics", path)
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)


def evaluate(metric_class, ranking):
    metric = metric_class([types.SimpleNamespace(name=lambda: "ranker")])
    metric.update("ranker", ranking, fake_doc_label=-1)
    return metric.get()


first = [(12.5, -1), (9.1, 1), (4.2, 0), (3.3, 0)]
last = [(-2.0, 1), (-4.1, 0), (-6.5, 0), (-9.0, -1)]
quarter = [evaluate(metrics.UpQuartile, ranking)["ranker_UpQuartile"] for ranking in (first, last)]
three = [(4.0, -1), (3.0, -1), (2.0, -1), (1.0, 1)]
top = evaluate(metrics.TopK, three)["ranker_Top@3"]
place = evaluate(metrics.AverageLoc, three)["ranker_AverageLoc"]
print(
    f"docs-ranking-metrics {package.version}: UpQuartile {quarter[0]:.2f} if the fake is first of scores over 0,",
    f"{quarter[1]:.2f} if last of logits; three fakes of one query, Top@3 {top:.2f}, AverageLoc {place:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "docs-ranking-metrics 0.0.4: UpQuartile 0.00 if the fake is first of scores over 0, 1.00 if last of log\
its; three fakes of one query, Top@3 3.00, AverageLoc 6.00"
