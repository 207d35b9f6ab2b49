"""Arithmetic and memory of a model, for plans, reports and the utilization of devices.

FLOPs are counted of the matrix products of encoder and head, as they are computed: on padding, too,
if the length includes it; a multiply-add counts as two operations. Not counted are element-wise
operations, the last matrix of fine-tuning heads (one row per class), and the second computation of
`--recompute`.

Memory is a lower bound. A model that needs more than this machine has is refused before anything is
built. This is for absurd sizes, such as a batch of 10^10 examples, for which the kernel would kill
the process without a message.
"""

import os

import numpy as np

from bert_common.errors import UserError
from modeling.config import BertConfig

BYTES_PER_FLOAT = 4
# Ids, mask and segments of a batch, int32.
BYTES_PER_TOKEN = 12
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Files of Linux with the memory limit of a container.
_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Returns the bytes of this machine's memory, or the container's limit if that is less."""
    # Windows has no sysconf: nothing is refused there.
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        memory = 1 << 62
    for path in _LIMIT_FILES:
        try:
            with open(path, encoding="ascii") as file:
                memory = min(memory, int(file.read()))
        except (OSError, ValueError):
            # No container, or one without a limit ("max").
            continue
    return memory


def encoder_parameters(config: BertConfig) -> int:
    """Returns the number of parameters of the encoder and the BiLSTM, if any."""
    hidden = config.hidden_size
    inner = config.intermediate_size
    units = config.bilstm_units
    # The LayerNorm of the embeddings has two vectors.
    rows = config.vocab_size + config.type_vocab_size + config.max_position_embeddings + 2
    attention = 4 * (hidden + 1) * hidden
    feed_forward = (hidden + 1) * inner + (inner + 1) * hidden
    layer = attention + feed_forward + 4 * hidden
    pooler = (hidden + 1) * hidden
    bilstm = 2 * 4 * units * (hidden + units + 1)
    return rows * hidden + config.num_hidden_layers * layer + pooler + bilstm


def training_bytes(
    config: BertConfig,
    tokens: float,
    freeze_layers: int = 0,
    freeze_embeddings: bool = False,
    half_precision: bool = False,
) -> float:
    """Returns a lower bound of the memory of a training step, in bytes.

    It has weights, gradients and Adam's moments, and of a micro-batch the output of every layer
    that gradients go through, and the inside of one.

    Args:
      config: of the model.
      tokens: of the micro-batch, with padding.
      freeze_layers: number of the lowest layers that are not trained.
      freeze_embeddings: whether the embeddings are not trained.
      half_precision: whether activations have 16 bits.
    """
    trained_layers = max(config.num_hidden_layers - freeze_layers, 0)
    units = trained_layers * config.hidden_size + config.intermediate_size
    activations = tokens * units * (2 if half_precision else 4)
    copies = 1 if freeze_layers or freeze_embeddings else 4
    return encoder_parameters(config) * BYTES_PER_FLOAT * copies + activations


def check_memory(needed: float, purpose: str, fix: str) -> None:
    """Raises `UserError` if something needs more bytes than this machine's memory has.

    Args:
      needed: bytes.
      purpose: of the memory, for the message.
      fix: for the message.
    """
    memory = machine_memory()
    if needed > memory:
        raise UserError(
            f"{purpose} needs at least {shown(needed)} of memory, this machine has "
            f"{shown(memory)}: {fix}"
        )


def check_model(config: BertConfig) -> None:
    """Raises `UserError` for a model whose weights alone exceed this machine's memory."""
    sizes = []
    for name in (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "intermediate_size",
        "max_position_embeddings",
        "type_vocab_size",
    ):
        sizes.append(f"{name} {getattr(config, name)}")
    needed = encoder_parameters(config) * BYTES_PER_FLOAT
    check_memory(needed, f"a model with {', '.join(sizes)}", "take a smaller one")


def shown(amount: float) -> str:
    """Returns bytes as text with three digits, e.g. "1.23 TB"."""
    unit = 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount /= 1000
        unit += 1
    return f"{amount:.3g} {_UNITS[unit]}"


def training_flops(
    config: BertConfig,
    sequence_length: int | np.ndarray,
    predictions: int,
    *,
    freeze_layers: int = 0,
    freeze_embeddings: bool = False,
    has_lora: bool = False,
) -> float | np.ndarray:
    """Returns the floating-point operations of a training step for one row.

    The backward pass costs twice the forward pass, as each product has two gradients.

    Args:
      config: of the model.
      sequence_length: S, tokens with padding; or the lengths of several rows.
      predictions: P, positions that are projected to the vocabulary; 0 without the masked-LM head.
      freeze_layers: number of the lowest layers that are not trained: their kernels have no
        gradients.
      freeze_embeddings: whether no gradient goes through these layers at all.
      has_lora: whether kernels of the encoder and embeddings have no gradient; the LoRA matrices
        are not counted.
    """
    hidden = config.hidden_size
    length = sequence_length
    units = config.bilstm_units
    # FLOPs of the forward pass: kernels of a layer, its attention (scores and context), and
    # pooler, masked-LM head and BiLSTM.
    kernels = 2.0 * length * (4 * hidden * hidden + 2 * hidden * config.intermediate_size)
    attention = 2.0 * length * (2 * length * hidden)
    masked_lm = predictions * hidden * (hidden + config.vocab_size)
    bilstm = length * (2 * 4 * units * (hidden + units))
    head = 2.0 * (hidden * hidden + masked_lm + bilstm)
    # Multiples of the forward pass: 1 for it, 1 for the gradient of the input and 1 for the
    # gradient of the kernel. Attention has no kernel: its gradients are 2 in every layer that
    # gradients go through.
    if has_lora:
        trained_layer = 2 * kernels + 3 * attention
    else:
        trained_layer = 3 * kernels + 3 * attention
    if freeze_embeddings or has_lora:
        frozen_layer = kernels + attention
    else:
        frozen_layer = 2 * kernels + 3 * attention
    frozen = min(freeze_layers, config.num_hidden_layers)
    trained = config.num_hidden_layers - frozen
    return frozen * frozen_layer + trained * trained_layer + 3 * head
