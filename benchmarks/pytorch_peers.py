"""Hugging Face's models on PyTorch, of the same shape as ours, in the form that is fastest on a
CPU.

The tanh form of GELU under the name that PyTorch has one kernel for ("gelu_new" is eight
operations), AdamW with `fused=True`. `torch.compile` is offered where shapes stay the same, and not
among the defaults: on the CPU it was no faster, and takes minutes. Attention is
`scaled_dot_product_attention`, transformers' default. Pre-training also runs on a GPU.
"""

import contextlib
import functools
import os
from collections.abc import Callable

import numpy as np

from bert_common.errors import UserError
from modeling.config import BertConfig

os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import torch
    import transformers
    from torch.nn.functional import cross_entropy
except ImportError as error:
    raise UserError(f"{error.name} is not installed: pip install --group peers") from None

# Task → class of transformers.
MODELS = {
    "classification": "BertForSequenceClassification",
    "multiple_choice": "BertForMultipleChoice",
    "question_answering": "BertForQuestionAnswering",
    "token_classification": "BertForTokenClassification",
}
# What PyTorch's loss leaves out.
_IGNORED = -100


def fine_tuning(task, kind: str, precision: str) -> Callable[[dict], None]:
    """A step of a model with random weights on a batch of `assemble`; `kind` is one of `MODELS`, or
    sentence_embedding, which is sentence-transformers'."""
    if kind == "sentence_embedding":
        model = _with_pooling(transformers.BertModel(_config(task.config), add_pooling_layer=False))
    else:
        model = getattr(transformers, MODELS[kind])(_config(task.config, **class_count(task, kind)))
    model, autocast = _placed(model.train(), precision)
    optimizer = adamw(model, 5e-5)
    loss_of_batch = (
        sentence_loss(model, "pairs")
        if kind == "sentence_embedding"
        else functools.partial(loss_of, model)
    )

    def train(batch: dict) -> None:
        with autocast():
            loss = loss_of_batch(batch)
        update(model, optimizer, loss).item()

    return train


def class_count(task, kind: str) -> dict[str, int]:
    """`num_labels` of transformers' models that have it."""
    return {"num_labels": max(len(task.data.labels), 1)} if kind.endswith("classification") else {}


def pretraining(
    config: BertConfig, batch: dict, precision: str, compiled: bool = False
) -> Callable[[], None]:
    """A training step of BertForPreTraining: encoder and heads one by one, the masked positions
    gathered in between."""
    model, autocast = _placed(transformers.BertForPreTraining(_config(config)).train(), precision)
    optimizer, inputs = adamw(model, 5e-5), features(batch, model.device)
    positions, masked, next_sentence = (
        torch.tensor(batch[name], dtype=torch.long, device=model.device)
        for name in ("masked_lm_positions", "masked_lm_ids", "next_sentence_labels")
    )

    def loss():
        outputs = model.bert(**inputs)
        scores, is_next = model.cls(
            torch.take_along_dim(outputs.last_hidden_state, positions[:, :, None], dim=1),
            outputs.pooler_output,
        )
        return cross_entropy(scores.flatten(0, 1).float(), masked.flatten()) + cross_entropy(
            is_next.float(), next_sentence.flatten()
        )

    loss = torch.compile(loss) if compiled else loss

    def step() -> None:
        with autocast():
            value = loss()
        update(model, optimizer, value).item()

    return step


def _placed(model, precision: str) -> tuple:
    """The model, on a GPU where there is one, and what makes the context that it computes in."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "float32":
        return model.to(device), contextlib.nullcontext
    return model.to(device), functools.partial(torch.autocast, device, torch.bfloat16)


def features(batch: dict, device: object = None) -> dict:
    """A batch of ours under the names of transformers' arguments."""
    names = {
        "input_ids": "input_ids",
        "attention_mask": "input_mask",
        "token_type_ids": "segment_ids",
    }
    return {name: torch.tensor(batch[ours], device=device) for name, ours in names.items()}


def outputs(model, batch: dict) -> dict[str, np.ndarray]:
    """The model's outputs for a batch of ours; of multiple choice one for each row, of vectors
    "vector"."""
    inputs = features(batch)
    # sentence-transformers' models take a dictionary.
    if hasattr(model, "encode"):
        return {"vector": model(inputs)["sentence_embedding"].numpy()}
    if type(model).__name__ == MODELS["multiple_choice"]:
        inputs = {name: value[:, None] for name, value in inputs.items()}
    return {name: value.numpy() for name, value in model(**inputs).items()}


def _with_pooling(encoder):
    """A model of vectors, as sentence-transformers' losses take it: the encoder's output, pooled to
    its mean."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    class Model(torch.nn.Module):
        device = property(lambda self: encoder.device)

        def __init__(self):
            super().__init__()
            self.encoder, self.pooling = encoder, Pooling(encoder.config.hidden_size, "mean")

        def forward(self, features: dict) -> dict:
            outputs = self.encoder(features["input_ids"], attention_mask=features["attention_mask"])
            return self.pooling({**features, "token_embeddings": outputs.last_hidden_state})

    return Model()


def sentence_loss(model, task_name: str) -> Callable:
    """sentence-transformers' loss for a batch of ours, [B, K, S], of its model: of scores, or with
    in-batch negatives."""
    from sentence_transformers.sentence_transformer import losses

    of_scores = task_name in ("scored", "sts-b")
    loss = (losses.CosineSimilarityLoss if of_scores else losses.MultipleNegativesRankingLoss)(
        model
    )

    def loss_of_batch(batch: dict):
        columns = []
        for column in range(batch["input_ids"].shape[1]):
            length = batch["input_mask"][:, column].sum(1).max()
            columns.append(
                features(
                    {
                        name: value[:, column, :length]
                        for name, value in batch.items()
                        if value.ndim == 3
                    },
                    model.device,
                )
            )
        return loss(
            columns, torch.tensor(batch["label_ids"], device=model.device) if of_scores else None
        )

    return loss_of_batch


def adamw(model, learning_rate: float):
    """PyTorch's AdamW as one kernel; biases and LayerNorm are not decayed."""
    decayed, others = [], []
    for name, one in model.named_parameters():
        (others if "LayerNorm" in name or "bias" in name else decayed).append(one)
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=learning_rate,
        eps=1e-6,
        fused=True,
    )


def loss_of(model, batch: dict):
    """The loss of a batch of ours, of any task."""
    if "label_ids" in batch:
        found = batch["label_ids"]
        # Tokens that are not scored have -1; padding, for which batches have 0, is not scored
        # either.
        known = (found >= 0) & (
            found.shape != batch["input_mask"].shape or batch["input_mask"] == 1
        )
        labels = {
            "labels": found
            if np.issubdtype(found.dtype, np.floating)
            else np.where(known, found, _IGNORED).astype(np.int64)
        }
    else:
        labels = {
            name: batch[name].astype(np.int64) for name in ("start_positions", "end_positions")
        }
    tensors = {name: torch.tensor(value, device=model.device) for name, value in labels.items()}
    return model(**features(batch, model.device), **tensors).loss


def update(model, optimizer, loss):
    """The rest of a step: the gradient of `loss`, clipped to norm 1, and the update; returns the
    loss."""
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def _config(config: BertConfig, **changes):
    """The same shape as transformers writes it, with the tanh form of GELU as one kernel."""
    return transformers.BertConfig(
        **config.to_dict() | {"hidden_act": "gelu_pytorch_tanh", **changes}
    )
