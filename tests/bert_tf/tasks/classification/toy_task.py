"""A task that a tiny network learns in seconds: a sentence is good or bad by the words it is made
of."""

import csv
import pathlib

import numpy as np

from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import run
from modeling.config import BertConfig
from tests.refusals import assert_refused

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
OTHERS = ("the", "film", "book", "is", "was", "very", "and", "a", "story", "of", "so", "it")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *GOOD, *BAD, *OTHERS)
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


def sentences(count: int, seed: int = 0) -> list[tuple[str, bool]]:
    """(sentence of 3 to 17 words, whether it is good)."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        is_good = bool(random.integers(2))
        words = [
            *random.choice(OTHERS, random.integers(1, 14)),
            *random.choice(GOOD if is_good else BAD, 2),
        ]
        made.append((" ".join(random.permutation(words)), is_good))
    return made


def write_csv(
    path: pathlib.Path, count: int, seed: int = 0, names: tuple[str, str] = ("no", "yes")
) -> str:
    """Columns review and verdict."""
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["review", "verdict"])
        rows.writerows((text, names[is_good]) for text, is_good in sentences(count, seed))
    return str(path)


def write_glue(folder: pathlib.Path) -> str:
    """MRPC, STS-B, MNLI without its mismatched sets, and AX in GLUE's layout; returns the
    directory."""
    pairs = [
        (text, other, good == other_good)
        for (text, good), (other, other_good) in zip(
            sentences(40, 1), sentences(40, 2), strict=True
        )
    ]
    tables = {
        "MRPC/train": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{label}\t1\t2\t{a}\t{b}"),
        "MRPC/dev": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{label}\t1\t2\t{a}\t{b}"),
        "MRPC/test": ("index\t#1 ID\t#2 ID\t#1 String\t#2 String", "{index}\t1\t2\t{a}\t{b}"),
        "STS-B/train": (_STS_B + "\tscore", "{index}\tx\tx\tx\tx\tx\tx\t{a}\t{b}\t{score}"),
        "STS-B/dev": (_STS_B + "\tscore", "{index}\tx\tx\tx\tx\tx\tx\t{a}\t{b}\t{score}"),
        "STS-B/test": (_STS_B, "{index}\tx\tx\tx\tx\tx\tx\t{a}\t{b}"),
        "MNLI/train": (
            _MNLI + "\tlabel1\tgold_label",
            "{index}\tx\tx\tx\tx\tx\tx\tx\t{a}\t{b}\tx\t{nli}",
        ),
        "MNLI/dev_matched": (
            _MNLI + "\tlabel1\tgold_label",
            "{index}\tx\tx\tx\tx\tx\tx\tx\t{a}\t{b}\tx\t{nli}",
        ),
        "AX/diagnostic": ("index\tsentence1\tsentence2", "{index}\t{a}\t{b}"),
    }
    for name, (header, row) in tables.items():
        path = folder / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        lines = [
            row.format(
                index=index,
                a=a,
                b=b,
                label=int(same),
                score=5.0 * same,
                nli=("contradiction", "entailment", "neutral")[index % 3],
            )
            for index, (a, b, same) in enumerate(pairs)
        ]
        path.write_text("\n".join([header, *lines]) + "\n")
    return str(folder)


_STS_B = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
_MNLI = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2"
)


def own_task(folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> ClassificationOptions:
    return ClassificationOptions(
        **{
            **dict(
                task_name="custom",
                train_file=f"{folder}/train.csv",
                dev_file=f"{folder}/dev.csv",
                test_file=f"{folder}/test.csv",
                text_a_column="review",
                label_column="verdict",
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
                max_seq_length=16,
                train_batch_size=8,
                learning_rate=0.003,
                num_train_epochs=3,
                seed=1,
            ),
            **changes,
        }
    )


def glue_task(
    name: str, folder: pathlib.Path, output_dir: pathlib.Path, **changes
) -> ClassificationOptions:
    return ClassificationOptions(
        **{
            **dict(
                task_name=name,
                data_dir=str(folder),
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
                max_seq_length=24,
                train_batch_size=8,
                learning_rate=1e-3,
                num_train_epochs=1,
            ),
            **changes,
        }
    )


def refused(options: ClassificationOptions, *parts: str) -> None:
    assert_refused(lambda: run(options), *parts)
