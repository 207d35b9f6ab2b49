"""Questions that a tiny network learns to answer in seconds: which colour, or which animal, a text
names."""

import json
import pathlib

import numpy as np

from modeling.config import BertConfig

COLOURS, ANIMALS = ("red", "blue", "green", "white"), ("cat", "dog", "horse", "owl")
OTHERS = ("the", "a", "was", "is", "very", "and", "old", "small", "house", "tree", "near", "by")
KINDS = {"colour": COLOURS, "animal": ANIMALS}
WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "?",
    ".",
    "which",
    *KINDS,
    *COLOURS,
    *ANIMALS,
    *OTHERS,
)
MODEL = BertConfig(
    vocab_size=len(WORDS),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=48,
    max_position_embeddings=64,
    initializer_range=0.2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
# Contexts have up to 30 tokens, so that some are read in several windows.
LENGTHS = {"max_seq_length": 24, "doc_stride": 8, "max_query_length": 6}


def write_model(folder: pathlib.Path, words: tuple[str, ...] = WORDS) -> str:
    """`bert_config.json` and, beside it, `vocab.txt`; returns the path of the first."""
    MODEL.to_file(str(folder / "bert_config.json"))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    return str(folder / "bert_config.json")


def squad(contexts: dict[str, list[dict]]) -> dict:
    """Contexts, each with its questions, as the contents of a SQuAD file."""
    return {
        "version": "toy",
        "data": [
            {
                "title": "toy",
                "paragraphs": [
                    {"context": context, "qas": questions}
                    for context, questions in contexts.items()
                ],
            }
        ],
    }


def toy_questions(count: int, seed: int, impossible: bool = False) -> dict:
    """Contexts with a colour and an animal and a question about each; with `impossible`, some
    contexts have only one."""
    random = np.random.default_rng(seed)
    contexts = {}
    for number in range(count):
        words = list(random.choice(OTHERS, random.integers(3, 28)))
        places = sorted(random.choice(len(words) + 1, 2))
        for place, kind in zip(reversed(places), random.permutation(list(KINDS)), strict=True):
            if not (impossible and random.random() < 0.3):
                words.insert(place, random.choice(KINDS[kind]))
        context = " ".join(words)
        contexts[context] = [
            _question(f"{number}-{kind}", kind, context, impossible) for kind in KINDS
        ]
    return squad(contexts)


def _question(id: str, kind: str, context: str, version_2: bool) -> dict:
    answers, start = [], 0
    for word in context.split(" "):
        if word in KINDS[kind]:
            answers.append({"text": word, "answer_start": start})
        start += len(word) + 1
    fields = {"id": id, "question": f"Which {kind}?", "answers": answers}
    return {**fields, "is_impossible": not answers} if version_2 else fields


def write_json(path: pathlib.Path, contents: object) -> str:
    path.write_text(json.dumps(contents))
    return str(path)


def write_files(folder: pathlib.Path) -> None:
    write_model(folder)
    write_json(folder / "train1.json", toy_questions(150, 1))
    write_json(folder / "dev1.json", toy_questions(20, 2))
    write_json(folder / "train2.json", toy_questions(150, 3, impossible=True))
    write_json(folder / "dev2.json", toy_questions(30, 4, impossible=True))
