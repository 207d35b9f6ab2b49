"""Training steps on questions of 2 to 4 choices against PyTorch, question by question and with
AdamW written out."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.multiple_choice.data import ChoiceExamples
from bert_tf.training.examples import assemble, epoch_batches, padded_lengths, training_dataset
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.fine_tuning import MULTIPLE_CHOICE_LOSS, BertForMultipleChoice
from modeling.optimizer import WarmupDecay
from tests.bert_tf.training.common import forward_of

CONFIG = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=16,
    initializer_range=0.2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
QUESTIONS, BATCH, STEPS, RATE, WARM_UP = 14, 4, 10, 2e-3, 3
LENGTHS = padded_lengths(12, 3)


def make_examples() -> ChoiceExamples:
    """Without the id 0, whose embedding PyTorch does not train."""
    rng = np.random.default_rng(0)
    counts = rng.integers(2, 5, QUESTIONS)
    row_lengths = rng.integers(3, 13, counts.sum())
    tokens = row_lengths.sum()
    return ChoiceExamples(
        {
            "input_ids": rng.integers(1, 40, tokens, np.int32),
            "segment_ids": rng.integers(0, 2, tokens, np.int32),
        },
        row_lengths,
        {"label_ids": rng.integers(0, counts).astype(np.int32)},
        num_choices=counts,
    )


def torch_loss(model, examples: ChoiceExamples, chosen: np.ndarray):
    """Mean over the questions, each of them a batch of its own without padding choices."""
    import torch

    losses = []
    for number in chosen:
        batch = assemble(examples, np.array([number]), 1, LENGTHS)
        count = examples.num_choices[number]
        inputs = [
            torch.tensor(batch[name][:, :count])
            for name in ("input_ids", "input_mask", "segment_ids")
        ]
        logits = model(inputs[0], attention_mask=inputs[1], token_type_ids=inputs[2]).logits
        losses.append(
            torch.nn.functional.cross_entropy(
                logits, torch.tensor(batch["label_ids"], dtype=torch.long)
            )
        )
    return torch.stack(losses).mean()


@pytest.mark.parametrize("parts", [1, 2])
def test_ten_steps(tmp_path, parts):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    examples = make_examples()
    model = BertForMultipleChoice(CONFIG, seed=3, head_dropout=0.0)
    model.save_checkpoint(str(tmp_path / "before"), "huggingface")
    other = transformers.BertForMultipleChoice.from_pretrained(tmp_path / "before").train()
    weights = dict(other.named_parameters())

    order = [
        chosen for epoch in range(3) for chosen in epoch_batches(examples.lengths, BATCH, 1, epoch)
    ][:STEPS]
    moments = {
        name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in weights.items()
    }
    losses, norms = [], []
    for step, chosen in enumerate(order):
        other.zero_grad()
        loss = torch_loss(other, examples, chosen)
        loss.backward()
        losses.append(loss.item())
        gradients = {name: value.grad for name, value in weights.items()}
        norms.append(torch.sqrt(sum((gradient**2).sum() for gradient in gradients.values())).item())
        rate = RATE * (step / WARM_UP if step < WARM_UP else 1 - step / (2 * STEPS))
        with torch.no_grad():
            for name, value in weights.items():
                first, second = moments[name]
                gradient = gradients[name] / max(norms[-1], 1.0)
                first.mul_(0.9).add_(gradient, alpha=0.1)
                second.mul_(0.999).add_(gradient**2, alpha=0.001)
                decay = 0.0 if "LayerNorm" in name or "bias" in name else 0.01
                value -= rate * (first / (second.sqrt() + 1e-6) + decay * value)

    state, optimizer = TrainingState(), AdamWeightDecay(raw_variables(model))
    training_step = TrainingStep(
        forward_of(model),
        MULTIPLE_CHOICE_LOSS,
        optimizer,
        WarmupDecay(RATE, 2 * STEPS, WARM_UP),
        state,
        tf.distribute.get_strategy(),
        BATCH,
        jit_compile=False,
        gradient_accumulation_steps=parts,
    )
    iterator = iter(
        training_dataset(examples, BATCH, 1, 0, LENGTHS, tf.distribute.InputContext(1, 0, 1))
    )
    reports = [training_step.run(iterator, 1) for _ in range(STEPS)]
    np.testing.assert_allclose([report["loss"] for report in reports], losses, rtol=0, atol=2e-5)
    np.testing.assert_allclose([report["gradient_norm"] for report in reports], norms, rtol=1e-4)
    model.save_checkpoint(str(tmp_path / "after"), "huggingface")
    trained = transformers.BertForMultipleChoice.from_pretrained(tmp_path / "after")
    for name, value in trained.named_parameters():
        # The bias adds the same to all choices: its gradient is rounding, which Adam scales up.
        tolerance = STEPS * RATE if name == "classifier.bias" else 5e-5
        np.testing.assert_allclose(
            value.detach(), weights[name].detach(), rtol=0, atol=tolerance, err_msg=name
        )
