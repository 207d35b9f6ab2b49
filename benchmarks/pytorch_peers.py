"""Hugging Face's models on PyTorch, of the same shape as ours, in the form fastest on a CPU.

The tanh form of GELU under the name that PyTorch has one kernel for ("gelu_new" is eight
operations), AdamW with `fused=True`, and transformers' default attention,
`scaled_dot_product_attention`. `torch.compile` is offered for pre-training, whose shapes stay the
same, but not by default: on a CPU it was no faster and takes minutes. Pre-training also runs on a
GPU.
"""

import contextlib
import functools
import os
from collections.abc import Callable

import numpy as np

from bert_common.errors import UserError
from bert_tf.training.examples import Examples, assemble
from modeling.config import BertConfig

# transformers must not look for newer files.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import torch
    import transformers
    from torch.nn.functional import cross_entropy
except ImportError as error:
    raise UserError(f"{error.name} is not installed: pip install --group peers") from None

_LEARNING_RATE = 5e-5
_MODELS = {
    "classification": "BertForSequenceClassification",
    "multiple_choice": "BertForMultipleChoice",
    "token_classification": "BertForTokenClassification",
}
# Labels that PyTorch's loss leaves out.
_IGNORED = -100


def fine_tuning(task, kind: str, precision: str) -> Callable[[dict], None]:
    """Returns a training step with random weights on a batch of `assemble`.

    Args:
      task: our task, for its config and labels.
      kind: a task of `_MODELS`.
      precision: "float32" or "bfloat16".
    """
    # Multiple choice has one score per choice, whatever the number of labels.
    changes = {}
    if kind != "multiple_choice":
        changes["num_labels"] = len(task.data.labels)
    model = getattr(transformers, _MODELS[kind])(_config(task.config, **changes))
    model.train()
    autocast = _place(model, precision)
    optimizer = _adamw(model)

    def train(batch: dict) -> None:
        with autocast():
            loss = _label_loss(model, batch)
        _update(model, optimizer, loss)

    return train


def pretraining(
    config: BertConfig, batch: dict, precision: str, compiled: bool = False
) -> Callable[[], None]:
    """Returns a training step of BertForPreTraining, with the masked positions gathered.

    Its own forward pass computes the vocabulary's logits at every position.
    """
    model = transformers.BertForPreTraining(_config(config))
    model.train()
    autocast = _place(model, precision)
    optimizer = _adamw(model)
    inputs = _features(batch, model.device)
    positions = _long_tensor(batch["masked_lm_positions"], model.device)
    masked_ids = _long_tensor(batch["masked_lm_ids"], model.device)
    next_sentence = _long_tensor(batch["next_sentence_labels"], model.device)

    def loss():
        outputs = model.bert(**inputs)
        # [B, S, H] -> [B, P, H], as in the original.
        states = outputs.last_hidden_state
        gathered = torch.take_along_dim(states, positions[:, :, None], dim=1)
        logits, next_logits = model.cls(gathered, outputs.pooler_output)
        masked_lm_loss = cross_entropy(logits.flatten(0, 1).float(), masked_ids.flatten())
        return masked_lm_loss + cross_entropy(next_logits.float(), next_sentence.flatten())

    # The loss with its forward pass is one graph; the update is a kernel already.
    if compiled:
        loss = torch.compile(loss)

    def step() -> None:
        with autocast():
            value = loss()
        _update(model, optimizer, value)

    return step


def question_answering(
    config: BertConfig, windows: Examples, batch_size: int
) -> Callable[[], object]:
    """Returns a prediction of all windows, sorted by length."""
    model = transformers.BertForQuestionAnswering(_config(config)).eval()
    # The longest first, as ours: the memory of a batch is then enough for the next one.
    order = np.argsort(-windows.row_lengths, kind="stable")
    lengths = np.arange(1, windows.row_lengths.max() + 1)

    def predict() -> None:
        for start in range(0, len(order), batch_size):
            indices = order[start : start + batch_size]
            batch = assemble(windows, indices, len(indices), lengths)
            with torch.inference_mode():
                model(**_features(batch, model.device))

    return predict


def _config(config: BertConfig, **changes):
    """Returns our config as transformers', with the tanh form of GELU as one kernel."""
    values = {**config.to_dict(), "hidden_act": "gelu_pytorch_tanh", **changes}
    return transformers.BertConfig(**values)


def _place(model, precision: str) -> Callable:
    """Moves a model to the GPU if there is one; returns what makes the context of its forward."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    if precision == "float32":
        return contextlib.nullcontext
    return functools.partial(torch.autocast, device, torch.bfloat16)


def _long_tensor(values: np.ndarray, device: object):
    return torch.tensor(values, dtype=torch.long, device=device)


def _features(batch: dict, device: object) -> dict:
    """Returns our inputs under the names of transformers' arguments."""
    return {
        "input_ids": torch.tensor(batch["input_ids"], device=device),
        "attention_mask": torch.tensor(batch["input_mask"], device=device),
        "token_type_ids": torch.tensor(batch["segment_ids"], device=device),
    }


def _label_loss(model, batch: dict):
    """Returns the loss of a batch of ours with one label per example or per token."""
    labels = batch["label_ids"]
    # -1 marks tokens that are not scored. Batches are padded with 0, which is a label, too.
    is_scored = labels >= 0
    if labels.shape == batch["input_mask"].shape:
        is_scored &= batch["input_mask"] == 1
    labels = np.where(is_scored, labels, _IGNORED)
    inputs = _features(batch, model.device)
    return model(**inputs, labels=_long_tensor(labels, model.device)).loss


def _adamw(model):
    """Returns PyTorch's AdamW as one kernel, without decay of biases and LayerNorm."""
    decayed = []
    not_decayed = []
    for name, parameter in model.named_parameters():
        if "LayerNorm" in name or "bias" in name:
            not_decayed.append(parameter)
        else:
            decayed.append(parameter)
    # The original's settings, see section A.2 of the paper.
    groups = [
        {"params": decayed, "weight_decay": 0.01},
        {"params": not_decayed, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=_LEARNING_RATE, eps=1e-6, fused=True)


def _update(model, optimizer, loss) -> None:
    """Does the rest of a step: backward pass, clipping to norm 1, update."""
    # Weights are float32 under autocast, so that no loss scale is needed.
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    # Waits until the device has done it.
    loss.item()
