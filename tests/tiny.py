"""Tiny checkpoints of random weights, with what is needed to use them."""

import numpy as np

from bert_common import json_files
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.weights import model_shapes
from modeling.config import BertConfig

WORDS = [
    "the",
    "array",
    "is",
    "returned",
    "list",
    "##s",
    ".",
    "a",
    "who",
    "?",
    "b",
    "sort",
    "##ed",
    "[",
    "]",
    "mask",
]
TOKENS = [*SPECIAL_TOKENS, *WORDS]
# Small, and no two sizes alike.
CONFIG = BertConfig(
    vocab_size=len(TOKENS),
    hidden_size=12,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=20,
    max_position_embeddings=24,
    type_vocab_size=2,
)

_HIDDEN = CONFIG.hidden_size
# Head → one of its tensors; the others follow from it.
HEADS = {
    "classification": {"output_weights": (3, _HIDDEN)},
    "regression": {"output_weights": (1, _HIDDEN)},
    "question_answering": {"cls/squad/output_weights": (2, _HIDDEN)},
    "masked_lm": {"cls/predictions/output_bias": (CONFIG.vocab_size,)},
    "next_sentence": {"cls/seq_relationship/output_weights": (2, _HIDDEN)},
    "token_classification": {"cls/tagging/output_weights": (5, _HIDDEN)},
    "multiple_choice": {"cls/multiple_choice/output_weights": (1, _HIDDEN)},
}


def write_tiny(
    directory,
    *heads: str,
    task: dict | None = None,
    vocabulary: bool = True,
    output_format: str = "native",
    config: BertConfig = CONFIG,
    do_lower_case: bool = True,
    seed: int = 7,
) -> str:
    """Writes a checkpoint into a directory, which need not exist, and returns its path.

    Args:
      heads: keys of `HEADS`.
      task: written as task.json.
      vocabulary: write vocab.txt.
    """
    rng = np.random.default_rng(seed)
    there = {name: shape for head in heads for name, shape in HEADS[head].items()}
    shapes = model_shapes(config, there)
    weights = {name: rng.normal(0, 0.8, shape).astype(np.float32) for name, shape in shapes.items()}
    vocab_file = directory.parent / f"{directory.name}_words.txt"
    vocab_file.write_text("\n".join(TOKENS) + "\n")
    write_checkpoint(
        output_format,
        str(directory),
        weights,
        config,
        str(vocab_file) if vocabulary else None,
        do_lower_case,
    )
    if task is not None:
        json_files.write(str(directory / "task.json"), task)
    return str(directory)
