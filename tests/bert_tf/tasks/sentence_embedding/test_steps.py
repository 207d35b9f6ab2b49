"""Training steps of sentence vectors: a large batch in micro-batches, and against
sentence-transformers."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.sentence_embedding.data import SentenceExamples
from bert_tf.training.examples import assemble, padded_lengths, training_dataset
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import all_weights, raw_variables
from modeling.config import BertConfig
from modeling.optimizer import WarmupDecay
from modeling.sentence_embedding import NO_TEXT, BertForSentenceEmbedding, InBatchNegatives
from tests.bert_tf.training.common import forward_of

CONFIG = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=16,
    initializer_range=0.2,
)
EXACT = BertConfig(
    **{**CONFIG.to_dict(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
)
LENGTHS, BATCH, STEPS = padded_lengths(12, 1), 8, 3


def make_examples(count: int, columns: int) -> SentenceExamples:
    """Some texts are missing, some occur twice."""
    rng = np.random.default_rng(0)
    row_lengths = rng.integers(3, 13, count * columns - 4)
    texts = rng.permutation(count * columns)
    texts = np.where(texts < len(row_lengths), texts, rng.integers(0, 5, len(texts))).reshape(
        count, columns
    )
    if columns > 2:
        texts[::5, 2] = NO_TEXT
    tokens = row_lengths.sum()
    return SentenceExamples(
        {
            "input_ids": rng.integers(1, 40, tokens, np.int32),
            "segment_ids": np.zeros(tokens, np.int32),
        },
        row_lengths,
        {"label_ids": rng.integers(0, 2, count).astype(np.float32)},
        texts=texts,
    )


def train(parts: int, jit_compile: bool = False) -> dict[str, np.ndarray]:
    """Metrics of each step and the final weights; the last batch of an epoch is filled up."""
    model, examples = BertForSentenceEmbedding(CONFIG, seed=3), make_examples(21, 3)
    state, optimizer = TrainingState(), AdamWeightDecay(raw_variables(model))
    step = TrainingStep(
        forward_of(model),
        InBatchNegatives("x"),
        optimizer,
        WarmupDecay(1e-3, 50),
        state,
        tf.distribute.get_strategy(),
        BATCH,
        jit_compile=jit_compile,
        gradient_accumulation_steps=parts,
        seed=5,
    )
    iterator = iter(training_dataset(examples, BATCH, 1, 0, LENGTHS, tf.distribute.InputContext()))
    reports = [step.run(iterator, 1) for _ in range(STEPS)]
    return {
        **{
            name: np.array([report[name] for report in reports])
            for name in ("loss", "accuracy", "gradient_norm")
        },
        **{name: value.numpy() for name, value in raw_variables(model).items()},
    }


def test_a_batch_in_micro_batches_has_the_gradient_of_the_whole():
    whole = train(1)
    assert whole["loss"].min() > 0
    found = train(4)
    for name, value in whole.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_a_batch_without_any_hard_negative_is_one_of_pairs(pooling):
    model = BertForSentenceEmbedding(EXACT, seed=3, pooling=pooling)
    pairs = make_examples(BATCH, 2)
    texts = np.pad(pairs.texts, ((0, 0), (0, 1)), constant_values=NO_TEXT)
    found = []
    for examples in (pairs, dataclasses.replace(pairs, texts=texts)):
        batch = assemble(examples, np.arange(BATCH), BATCH, LENGTHS)
        with tf.GradientTape() as tape:
            losses, _ = InBatchNegatives("x").measure(model(batch), batch["text_ids"])
        variables = raw_variables(model)
        found.append(tape.gradient(losses, variables, unconnected_gradients="zero"))
    for name, gradient in found[0].items():
        expected, own = tf.convert_to_tensor(gradient), tf.convert_to_tensor(found[1][name])
        np.testing.assert_allclose(own, expected, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_loss_and_gradients_are_those_of_sentence_transformers(tmp_path, pooling):
    """Encoder, pooling and loss, with a hard negative for each example, dropout off."""
    torch = pytest.importorskip("torch")
    peer = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import losses, modules

    model = BertForSentenceEmbedding(EXACT, seed=3, pooling=pooling)
    directory = str(tmp_path / "model")
    model.save_checkpoint(directory, "huggingface")
    (tmp_path / "model/vocab.txt").write_text(
        "".join(
            f"{word}\n"
            for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(35)))
        )
    )
    other = peer.SentenceTransformer(
        modules=[
            modules.Transformer(directory, max_seq_length=12),
            modules.Pooling(EXACT.hidden_size, pooling),
        ],
        device="cpu",
    )
    examples = make_examples(BATCH, 3)
    examples.texts[:] = np.arange(BATCH * 3).reshape(BATCH, 3) % len(examples.row_lengths)
    batch = assemble(examples, np.arange(BATCH - 2), BATCH - 2, LENGTHS)
    names = dict(other.named_parameters())
    theirs = losses.MultipleNegativesRankingLoss(other)(
        [
            {
                "input_ids": torch.tensor(batch["input_ids"][:, column], dtype=torch.long),
                "attention_mask": torch.tensor(batch["input_mask"][:, column], dtype=torch.long),
            }
            for column in range(3)
        ],
        None,
    )
    theirs.backward()
    variables = raw_variables(model)
    with tf.GradientTape() as tape:
        sums = InBatchNegatives("x").sums(model(batch), batch)
        loss = sums["x_loss_sum"] / sums["x_count"]
    assert float(loss) == pytest.approx(theirs.item(), rel=1e-5)
    assert float(loss) > 0.1
    found = 0
    for name, gradient in zip(
        variables, tape.gradient(loss, list(variables.values())), strict=True
    ):
        row = all_weights(1)[name]
        key = next(
            (key for key in names if key.endswith(row.huggingface.removeprefix("bert."))), None
        )
        if "pooler" in name:
            continue
        expected = names[key].grad.numpy()
        np.testing.assert_allclose(
            tf.convert_to_tensor(gradient),
            expected.T if row.huggingface_transposed else expected,
            atol=1e-5,
            err_msg=name,
        )
        found += 1
    assert found == 5 + 16
