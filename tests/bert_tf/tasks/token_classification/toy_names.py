"""A toy set of names: what a name is stands in the first sentence of its document, or in the name
itself."""

import pathlib
import random

from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.config import BertConfig

PEOPLE, PLACES = ["ann", "bob", "eve"], ["rome", "oslo", "bath"]
EITHER = ["jordan", "paris"]
OTHERS = ["we", "saw", "in", "(", "then", "left"]
TOPICS = {"PER": "people", "LOC": "places"}
TOKENS = [
    *SPECIAL_TOKENS,
    *PEOPLE,
    *PLACES,
    *EITHER,
    *OTHERS,
    *TOPICS.values(),
    ".",
    "##s",
    "smith",
    ")",
]
CONFIG = BertConfig(
    vocab_size=len(TOKENS),
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=48,
    max_position_embeddings=64,
    type_vocab_size=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.2,
)


def make_documents(count: int, seed: int) -> list[list[list[tuple[str, str]]]]:
    """Documents of sentences of (word, tag of IOB2); the first sentence alone decides half of the
    names."""
    drawn = random.Random(seed)
    documents = []
    for _ in range(count):
        topic = drawn.choice(sorted(TOPICS))
        document = [[(TOPICS[topic], "O"), (".", "O")]]
        for _ in range(drawn.randrange(1, 4)):
            sentence = [(drawn.choice(OTHERS), "O") for _ in range(drawn.randrange(4))]
            if drawn.random() < 0.5:
                sentence.append((drawn.choice(EITHER), f"B-{topic}"))
            elif drawn.random() < 0.5:
                sentence += [(drawn.choice(PEOPLE), "B-PER"), ("smith", "I-PER")][
                    : drawn.randrange(1, 3)
                ]
            else:
                sentence.append((drawn.choice(PLACES), "B-LOC"))
            document.append([*sentence, (drawn.choice(OTHERS), "O"), (".", "O")])
        documents.append(document)
    return documents


def write_conll(
    path: pathlib.Path, documents: list, borders: bool = True, iob1: bool = False
) -> None:
    """Four columns, as CoNLL-2003."""
    lines = []
    for document in documents:
        lines += ["-DOCSTART- -X- -X- O", ""] if borders else []
        for sentence in document:
            lines += [
                f"{word} NN B-NP {tag.replace('B-', 'I-') if iob1 else tag}"
                for word, tag in sentence
            ] + [""]
    path.write_text("\n".join(lines) + "\n")


def write_model(folder: pathlib.Path) -> None:
    CONFIG.to_file(str(folder / "bert_config.json"))
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
