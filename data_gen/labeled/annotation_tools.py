"""Texts with entities as annotation tools write them.

    doccano       {"text": …, "label": [[0, 3, "PER"]]}, or "entities", objects with "start_offset"
    Prodigy       {"text": …, "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"}
    spaCy         {"text": …, "ents": [{"start": 0, "end": 3, "label": "PER"}]}, of Doc.to_json
    Label Studio  {"data": {"text": …}, "annotations": [{"result": [{"value": {"start": 0, "end": 3,
                  "labels": ["PER"]}}]}]}, or {"text": …, "label": [{"start": 0, …}]} (JSON-MIN)
    CLUENER       {"text": …, "label": {"name": {"Ada": [[0, 2]]}}}, where the last character counts
    GLiNER        {"tokenized_text": ["Ada", …], "ner": [[0, 0, "PER"]]}, where the last word counts

Input: an object of a JSON file. Output: the object that `tagged_files.py` reads. The lines of
INCEpTION and brat are refused by name: both write CoNLL, too.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bert_common import json_files
from bert_common.errors import UserError
from data_gen.labeled.rows import quoted

# Keys of the entities in the tools' files.
_KEYS = ("spans", "label", "labels", "ents")
# The entities of a text in CLUENER: label → words → [first, last] character of every place.
_PLACES = dict[str, dict[str, list[list[int]]]]
# A key that JSON-MIN has where an annotator has finished a text. It has none for the entities of a
# text without any.
IS_FINISHED = "annotation_id"
_INCEPTION = "#FORMAT=WebAnno TSV"
# An entity of brat: number, label and position, the text.
_BRAT = re.compile(r"T\d+\t\S+ \d+ \d+(;\d+ \d+)*\t.*")


def with_entities(value: dict) -> dict:
    """Returns an object whose entities are called "entities", or "ner_tags" if they are of words;
    other objects unchanged.

    Raises:
      UserError: its annotator has not accepted the text, or several have worked on it.
    """
    if isinstance(value.get("annotations"), list) and isinstance(value.get("data"), dict):
        return {**value["data"], **_label_studio_entities(value["annotations"])}
    text = value.get("text")
    if not isinstance(text, str):
        return _with_tags(value)
    check_accepted(value)
    lists = [key for key in _KEYS if isinstance(value.get(key), list)]
    if "entities" in value:
        return value
    if not lists:
        # A file of words may have an object of another kind under that name.
        if "tokens" in value or not isinstance(value.get("label"), dict):
            return value
        try:
            json_files.check_object(value, {"label": _PLACES}, "label")
        except UserError:
            raise UserError(
                "'label' must be a list of entities, or an object as CLUENER's, e.g. "
                '{"name": {"Ada": [[0, 2]]}}'
            ) from None
        return {**value, "entities": _cluener_entities(value["label"], text)}
    changed = {**value, "entities": value[lists[0]]}
    tokens = value.get("tokens")
    # Tokens of Prodigy and spaCy are positions in the text.
    if isinstance(tokens, list) and all(isinstance(token, dict) for token in tokens):
        del changed["tokens"]
    return changed


def _with_tags(value: dict) -> dict:
    """Returns an object of GLiNER with "tokens" and, if it has entities, tags of the words under
    "ner" and "ner_tags"; other objects unchanged."""
    words = value.get("tokenized_text")
    entities = value.get("ner")
    # Other files may have a column of that name.
    if not isinstance(words, list) or "tokens" in value:
        return value
    changed = {**value, "tokens": words}
    if not isinstance(entities, list) or any(isinstance(entity, str) for entity in entities):
        return changed
    tags = ["O"] * len(words)
    for entity in entities:
        is_entity = isinstance(entity, list) and [type(one) for one in entity] == [int, int, str]
        if not is_entity or not (0 <= entity[0] <= entity[1] < len(words) and entity[2]):
            raise UserError(
                f"{quoted(entity)} is no entity of {len(words)} words: [first word, last word, "
                "label] is expected"
            )
        first, last, label = entity
        if set(tags[first : last + 1]) != {"O"}:
            raise UserError(f"entities overlap at {quoted(entity)}")
        tags[first : last + 1] = [f"B-{label}"] + [f"I-{label}"] * (last - first)
    return {**changed, "ner": tags, "ner_tags": tags}


def check_accepted(value: dict) -> None:
    """Raises `UserError` for an object of Prodigy that its annotator has rejected or ignored."""
    # Other files may have a column of that name.
    if "_input_hash" in value and value.get("answer", "accept") != "accept":
        raise UserError(
            f'the example was not accepted ("answer" is {quoted(value["answer"])}): '
            "--skip_bad_rows leaves such examples out"
        )


def _cluener_entities(labels: Mapping[str, Mapping[str, list[list[int]]]], text: str) -> list[list]:
    """Returns [start, end, label] of the entities of a text, from label → words → places.

    Raises `UserError` where the words of an entity are not at its place.
    """
    entities = []
    for label, entities_of_label in labels.items():
        for words, places in entities_of_label.items():
            for place in places:
                start = place[0] if place else 0
                end = start + len(words)
                if place != [start, end - 1] or text[start:end] != words:
                    raise UserError(f"{quoted(words)} is not at {place} of the text")
                entities.append([start, end, label])
    return entities


def _label_studio_entities(annotations: list) -> dict[str, list]:
    """Returns "entities" → those of the annotator who has finished a text; nothing without one."""
    finished = [
        one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")
    ]
    if not finished:
        return {}
    if len(finished) > 1:
        raise UserError(f"{len(finished)} annotators have finished the text: export one of them")
    results = finished[0].get("result")
    if not isinstance(results, list):
        raise UserError(f'"result" of an annotation must be a list, not {quoted(results)}')
    entities = []
    for result in results:
        entity = result.get("value") if isinstance(result, dict) else None
        # Relations have no value; choices have no labels, and may have the position of an entity.
        if isinstance(entity, dict) and "labels" in entity:
            entities.append(entity)
    return {"entities": entities}


def entity_parts(entity: dict) -> list[Any]:
    """Returns start, end and label of an entity by the tools' names for them."""
    start = entity.get("start", entity.get("start_offset"))
    end = entity.get("end", entity.get("end_offset"))
    labels = entity.get("labels")
    if isinstance(labels, list) and len(labels) == 1:
        return [start, end, labels[0]]
    return [start, end, entity.get("label")]


def refuse_other_tools(path: str, lines: Sequence[str]) -> None:
    """Raises `UserError` for lines of INCEpTION or brat, which would be taken for words and tags.

    Args:
      lines: the first of the file, without their ends.
    """
    if lines and lines[0].startswith(_INCEPTION):
        raise UserError(
            f"{path} is INCEpTION's own format, WebAnno TSV: export the document as CoNLL 2003"
        )
    if any(_BRAT.fullmatch(line) for line in lines):
        raise UserError(
            f"{path} holds brat's annotations, the text is in another file: anntoconll.py of brat "
            "writes both as CoNLL"
        )
