"""Questions that a tiny network learns in seconds: which of several words is an animal."""

import csv
import json
import pathlib

import numpy as np

from modeling.config import BertConfig

ANIMALS = ("cat", "dog", "horse", "owl")
OTHERS = ("red", "house", "tree", "stone", "water", "old", "small", "blue")
FILLERS = ("the", "a", "was", "is", "very", "and", "near", "by", "what", "it")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *ANIMALS, *OTHERS, *FILLERS)
MODEL = BertConfig(
    vocab_size=len(WORDS),
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=32,
    initializer_range=0.2,
)


def write_model(folder: pathlib.Path) -> str:
    """`bert_config.json` and, beside it, `vocab.txt`; returns the path of the first."""
    MODEL.to_file(str(folder / "bert_config.json"))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    return str(folder / "bert_config.json")


def questions(count: int, seed: int = 0, most: int = 4, fewest: int | None = None) -> list[dict]:
    """Objects with id, context, choices and label, of `fewest` (else `most`) to `most` choices."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        choices = [
            " ".join(random.choice(FILLERS, random.integers(0, 4))) + f" {word} ."
            for word in random.choice(OTHERS, random.integers(fewest or most, most + 1))
        ]
        label = int(random.integers(len(choices)))
        choices[label] = choices[label].replace(
            choices[label].split()[-2], str(random.choice(ANIMALS))
        )
        made.append(
            {
                "id": f"q{number}",
                "context": " ".join(random.choice(FILLERS, random.integers(1, 10))),
                "choices": choices,
                "label": label,
            }
        )
    return made


def write_jsonl(
    path: pathlib.Path, count: int, seed: int = 0, most: int = 4, fewest: int | None = None
) -> str:
    """Keys id, context, choices (a list) and label."""
    path.write_text("".join(json.dumps(one) + "\n" for one in questions(count, seed, most, fewest)))
    return str(path)


def write_swag(path: pathlib.Path, count: int, seed: int = 0, labels: bool = True) -> str:
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            [
                "",
                "video-id",
                "fold-ind",
                "startphrase",
                "sent1",
                "sent2",
                "gold-source",
                *(f"ending{number}" for number in range(4)),
                *(["label"] if labels else []),
            ]
        )
        for number, one in enumerate(questions(count, seed)):
            rows.writerow(
                [
                    number,
                    "v",
                    number,
                    "x",
                    one["context"],
                    "it",
                    "gold",
                    *one["choices"],
                    *([one["label"]] if labels else []),
                ]
            )
    return str(path)
