#!/usr/bin/env bash
# Two searches by Euclidean distance that qdrant-client's local mode fuses by their scores begin with the furthest.
#
# Guess before the run: title and body of a text have the same vector here, so two searches that are fused have the
# order of one of them, by ranks (RRF) and by scores (DBSF), whatever the distance is.
# Seen: qdrant-client 1.20.0 with ":memory:". With the cosine and the dot product it is so. With Euclidean and
# Manhattan distance DBSF gives places 10, 9 and 8 of the ten nearest: it adds distances as if larger ones were better.
# RRF is right. Tests of a search that run in local mode, and prototypes, see the worst of what was found first.
# Normalized sentence vectors have the same order by cosine, which is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    qdrant-client==1.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
from importlib.metadata import version
from qdrant_client import QdrantClient, models

rng = np.random.default_rng(0)
vectors, query = rng.normal(size=(50, 4)), rng.normal(size=4).tolist()
for distance in models.Distance:
    client = QdrantClient(":memory:")
    field = models.VectorParams(size=4, distance=distance)
    client.create_collection("texts", vectors_config={"title": field, "body": field})
    client.upsert(
        "texts",
        [models.PointStruct(id=i, vector={"title": list(v), "body": list(v)}) for i, v in enumerate(vectors)],
    )
    plain = client.query_points("texts", query=query, using="title", limit=10).points
    ten = [models.Prefetch(query=query, using=name, limit=10) for name in ("title", "body")]
    words = []
    for fusion in (models.Fusion.RRF, models.Fusion.DBSF):
        fused = client.query_points("texts", prefetch=ten, query=models.FusionQuery(fusion=fusion), limit=3)
        words.append(f"{fusion.value} {[[point.id for point in plain].index(point.id) + 1 for point in fused.points]}")
    print(f"qdrant-client {version('qdrant-client')} {distance.value}: {' '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "qdrant-client 1.20.0 Cosine: rrf [1, 2, 3] dbsf [1, 2, 3]
qdrant-client 1.20.0 Euclid: rrf [1, 2, 3] dbsf [10, 9, 8]
qdrant-client 1.20.0 Dot: rrf [1, 2, 3] dbsf [1, 2, 3]
qdrant-client 1.20.0 Manhattan: rrf [1, 2, 3] dbsf [10, 9, 8]"
