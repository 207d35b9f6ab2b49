"""Arithmetic and memory of a model, for plans, reports and the utilisation of devices.

Of arithmetic the matrix products of encoder and head are counted as they are computed, padding
included where the length is that with padding; a multiply-add counts as two operations. Left out
are what is element by element, the last matrix of fine-tuning's heads (one row a class), and what
`--recompute` computes twice.

Of memory the least is counted, and refused where this machine has less, before anything is built: a
lower bound, so nothing that fits is refused. It is for sizes that can't be meant, such as a batch
of 10^10 examples, where the process would otherwise be killed without a word.
"""

import os

import numpy as np

from bert_common.errors import UserError
from modeling.config import BertConfig

BYTES_PER_FLOAT = 4
# Of a batch itself: ids, mask and segments, int32.
BYTES_PER_TOKEN = 12
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Where the kernel shows how much of the machine's memory this process may use, in a container.
_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Bytes that a process may use: the machine's memory, or the container's limit where that is
    less."""
    # Windows does not say: there nothing is refused.
    amounts = [
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if hasattr(os, "sysconf")
        else 1 << 62
    ]
    for path in _LIMIT_FILES:
        try:
            with open(path, encoding="ascii") as file:
                amounts.append(int(file.read()))
        except (OSError, ValueError):
            # No container, or one without a limit ("max").
            continue
    return min(amounts)


def encoder_parameters(config: BertConfig) -> int:
    """Parameters of the encoder and the BiLSTM, if any."""
    hidden, inner, units = config.hidden_size, config.intermediate_size, config.bilstm_units
    embeddings = (
        config.vocab_size + config.type_vocab_size + config.max_position_embeddings + 2
    ) * hidden
    layer = 4 * (hidden + 1) * hidden + (hidden + 1) * inner + (inner + 1) * hidden + 4 * hidden
    bilstm = 2 * 4 * units * (hidden + units + 1)
    return embeddings + config.num_hidden_layers * layer + (hidden + 1) * hidden + bilstm


def training_bytes(
    config: BertConfig,
    tokens: float,
    frozen_layers: int = 0,
    frozen_embeddings: bool = False,
    half_precision: bool = False,
) -> float:
    """The least memory of a training step: weights, gradients and Adam's moments, and what it keeps
    of a micro-batch (the output of every layer that gradients go through, and the inside of one).

    Args:
      config: of the model.
      tokens: of the micro-batch, with padding.
      frozen_layers: of the lowest layers, how many are not trained.
      frozen_embeddings: nor are the embeddings.
      half_precision: of the matrix products.
    """
    trained = max(config.num_hidden_layers - frozen_layers, 0)
    kept = (
        tokens
        * (trained * config.hidden_size + config.intermediate_size)
        * (2 if half_precision else 4)
    )
    copies = 1 if frozen_layers or frozen_embeddings else 4
    return encoder_parameters(config) * BYTES_PER_FLOAT * copies + kept


def check_memory(needed: float, what: str, fix: str) -> None:
    """Raises `UserError` where this machine's memory has not as many bytes as something needs, with
    a fix."""
    there = machine_memory()
    if needed > there:
        raise UserError(
            f"{what} needs at least {shown(needed)} of memory, this machine has {shown(there)}: {fix}"
        )


def check_model(config: BertConfig) -> None:
    """Raises `UserError` for a model whose weights alone do not fit into this machine's memory."""
    sizes = ", ".join(
        f"{name} {getattr(config, name)}"
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        )
    )
    check_memory(
        encoder_parameters(config) * BYTES_PER_FLOAT, f"a model with {sizes}", "take a smaller one"
    )


def shown(amount: float) -> str:
    """Bytes with three digits, e.g. "1.23 TB"."""
    unit = 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.3g} {_UNITS[unit]}" if amount < 1e6 else f"{amount:.1e} {_UNITS[unit]}"


def training_flops(
    config: BertConfig,
    sequence_length: int | np.ndarray,
    predictions: int,
    *,
    frozen_layers: int = 0,
    frozen_embeddings: bool = False,
    has_lora: bool = False,
) -> float | np.ndarray:
    """Floating-point operations of a training step for one row.

    The backward pass costs twice the forward pass, as each product has two gradients.

    Args:
      sequence_length: S, tokens with padding; or the lengths of several rows.
      predictions: P, positions that are projected to the vocabulary; 0 without the masked-LM head.
      frozen_layers: of the lowest layers, how many are not trained: their kernels have no
        gradients.
      frozen_embeddings: then no gradient goes through these layers at all.
      has_lora: no kernel of the encoder and no embedding has a gradient; the small matrices are
        left out.
    """
    hidden, length, units = config.hidden_size, sequence_length, config.bilstm_units
    # Forwards, of a layer: its kernels, and scores and context of its attention; and what comes
    # after the last layer.
    kernels = 2.0 * length * (4 * hidden * hidden + 2 * hidden * config.intermediate_size)
    attention = 2.0 * length * (2 * length * hidden)
    head = 2.0 * (
        hidden * hidden
        + predictions * hidden * (hidden + config.vocab_size)
        + length * (2 * 4 * units * (hidden + units))
    )
    frozen = min(frozen_layers, config.num_hidden_layers)
    passes_below = (1, 1) if frozen_embeddings or has_lora else (2, 3)
    passes_above = (2, 3) if has_lora else (3, 3)
    return (
        sum(
            layers * (of_kernels * kernels + of_attention * attention)
            for layers, (of_kernels, of_attention) in (
                (frozen, passes_below),
                (config.num_hidden_layers - frozen, passes_above),
            )
        )
        + 3 * head
    )
