"""Pairs of texts that a tiny model learns in seconds: a text belongs to those of the same
animal."""

import csv
import json
import pathlib

import numpy as np

from tests.bert_tf.tasks.multiple_choice.toy_questions import (
    ANIMALS,
    FILLERS,
    MODEL,
    OTHERS,
    write_model,
)

KEYS = (*ANIMALS, *OTHERS)
__all__ = ["FILLERS", "KEYS", "MODEL", "write_columns", "write_model", "write_retrieval"]


def text(random: np.random.Generator, key: str) -> str:
    words = [*random.choice(FILLERS, random.integers(1, 4)), key]
    random.shuffle(words)
    return " ".join(words)


def rows(count: int, seed: int) -> list[dict]:
    """sentence1, sentence2 of the same key, a negative, and, of another pair, score 0 to 1 and
    label."""
    random, made = np.random.default_rng(seed), []
    for _ in range(count):
        key, other = random.choice(KEYS, 2, replace=False)
        same = bool(random.integers(2))
        made.append(
            {
                "sentence1": text(random, key),
                "sentence2": text(random, key),
                "negative": text(random, other),
                "either": text(random, key if same else other),
                "score": float(same),
                "label": int(same),
            }
        )
    return made


def write_columns(path: pathlib.Path, count: int, seed: int) -> str:
    """CSV or JSON lines, by the name."""
    made = rows(count, seed)
    with open(path, "w", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(one) + "\n" for one in made)
        else:
            table = csv.DictWriter(file, list(made[0]))
            table.writeheader()
            table.writerows(made)
    return str(path)


def write_retrieval(folder: pathlib.Path) -> dict[str, str]:
    """Two documents and a query for each key; the flags of the files."""
    random = np.random.default_rng(9)
    documents = [
        {"_id": f"{key}{number}", "text": text(random, key)} for key in KEYS for number in range(2)
    ]
    queries = [{"_id": key, "text": text(random, key)} for key in KEYS]
    for name, lines in (("documents", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (folder / "relevant.tsv").write_text(
        "query-id\tcorpus-id\tscore\n"
        + "".join(f"{one['_id'][:-1]}\t{one['_id']}\t1\n" for one in documents)
    )
    return {
        "queries_file": str(folder / "queries.jsonl"),
        "documents_file": str(folder / "documents.jsonl"),
        "relevance_file": str(folder / "relevant.tsv"),
    }
