#!/usr/bin/env bash
# SpanMarker joins neighbouring entities of IOB1, CoNLL-2003's own scheme: a person before a place is one long person.
#
# Guess before the run: SpanMarker, which says that it has "detected the IOB or IOB2 labeling scheme", reads I-PER I-PER
# I-LOC as a person and a place: in IOB1, the scheme of the files of CoNLL-2003, an I- of another class begins an
# entity.
# Seen: span_marker 1.8.1. It is one person of three words, and I-LOC B-LOC I-PER is two places, no person; seqeval
# finds the person and the place. An entity ends at a B- and at an O only, not at another class. In IOB2, where each
# entity begins with B-, all is right. A BERT is trained on, and scored by, entities that are not in the corpus, and
# names of the second class are lost. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    span_marker==1.8.1 transformers==4.57.6 torch==2.13.0 seqeval==1.2.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import span_marker
from seqeval.metrics.sequence_labeling import get_entities
from span_marker.configuration import SpanMarkerConfig
from span_marker.label_normalizer import AutoLabelNormalizer
from transformers import BertConfig

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
numbers = {label: number for number, label in enumerate(LABELS)}
encoder = BertConfig(id2label=dict(enumerate(LABELS)), label2id=numbers).to_dict()
config = SpanMarkerConfig(encoder_config=encoder)
normalizer = AutoLabelNormalizer.from_config(config)


def words(entities):
    return " and ".join(f"{label} {start}-{end}" for label, start, end in entities) or "nothing"


parts = []
for tags in ("I-PER I-PER I-LOC O", "I-LOC B-LOC I-PER O", "B-PER I-PER B-LOC O"):
    seen = normalizer.ner_tags_to_entities([numbers[tag] for tag in tags.split()])
    seen = [(config.id2label[label], start, end - 1) for label, start, end in seen]
    parts.append(f"{tags}: {words(seen)} (seqeval {words(get_entities(tags.split()))})")
print(f"span_marker {span_marker.__version__}, {type(normalizer).__name__}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "span_marker 1.8.1, LabelNormalizerIOB: I-PER I-PER I-LOC O: PER 0-2 (seqeval PER 0-1 and LOC 2-2);\
 I-LOC B-LOC I-PER O: LOC 0-0 and LOC 1-2 (seqeval LOC 0-0 and LOC 1-1 and PER 2-2); B-PER I-PER B-LOC O: PER 0-1 and\
 LOC 2-2 (seqeval PER 0-1 and LOC 2-2)"
