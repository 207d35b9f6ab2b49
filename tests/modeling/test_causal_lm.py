"""Left-to-right models: the loss against an independent calculation, nothing of the future
anywhere, bounded memory."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling import (
    BertConfig,
    BertEncoder,
    BertForCausalLm,
    BertForClassification,
    BertForPreTraining,
    pretraining,
)
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.weights import raw_variables
from modeling.losses import SumOfLosses
from modeling.pretraining import (
    NEXT_SENTENCE,
    NEXT_TOKEN,
    next_tokens,
    restore_tokens,
)
from tests.modeling.common import SMALL, dropout_stream, random_features

CAUSAL = dataclasses.replace(SMALL, causal=True)
LENGTH = 10


@pytest.fixture(scope="module")
def model() -> BertForCausalLm:
    return BertForCausalLm(CAUSAL, seed=3)


@pytest.fixture
def features() -> dict:
    """Rows with padding, and one that only fills the batch."""
    return {**random_features(CAUSAL, 5, LENGTH, 3), "is_real_example": np.array([1, 1, 1, 0, 1])}


def packed_features(seed: int = 0) -> dict:
    """A row of three sequences with padding behind them, and the same sequences in rows of their
    own."""
    lengths = (4, 3, 2)
    rng = np.random.default_rng(seed)
    row = {
        "input_ids": rng.integers(1, CAUSAL.vocab_size, (1, LENGTH)),
        "segment_ids": rng.integers(0, 2, (1, LENGTH)),
        "input_mask": (np.arange(LENGTH) < sum(lengths)).astype(int)[None],
        "position_ids": np.concatenate([*map(np.arange, lengths), [0]])[None],
        "sequence_ids": np.repeat([1, 2, 3, 0], [*lengths, LENGTH - sum(lengths)])[None],
        "next_sentence_labels": np.array([[1]]),
    }
    starts = np.cumsum([0, *lengths])
    apart = [
        {
            name: row[name][:, start : start + length]
            for name in ("input_ids", "segment_ids", "input_mask")
        }
        | {"next_sentence_labels": row["next_sentence_labels"]}
        for start, length in zip(starts, lengths, strict=False)
    ]
    return {"row": row, "apart": apart}


def restored_by_hand(features: dict) -> np.ndarray:
    ids = features["input_ids"].copy()
    for row, (positions, labels, weights) in enumerate(
        zip(
            features["masked_lm_positions"],
            features["masked_lm_ids"],
            features["masked_lm_weights"],
            strict=True,
        )
    ):
        for position, label, weight in zip(positions, labels, weights, strict=True):
            if weight > 0:
                ids[row, position] = label
    return ids


def test_the_loss_is_that_of_an_independent_calculation(model, features, monkeypatch):
    # A position that two predictions name is that of no record.
    features["masked_lm_positions"] = np.tile([1, 4, 2], (5, 1))
    ids = restored_by_hand(features)
    assert (ids != features["input_ids"]).any()
    np.testing.assert_array_equal(restore_tokens(features)["input_ids"], ids)
    outputs = model({**features, "input_ids": ids})
    logits = outputs["next_token_logits"].numpy().astype(np.float64)
    loss = count = correct = 0
    for row in range(5):
        for position in range(LENGTH - 1):
            if features["is_real_example"][row] and features["input_mask"][row, position + 1]:
                scores, label = logits[row, position], ids[row, position + 1]
                loss += np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[label]
                correct += scores.argmax() == label
                count += 1
    monkeypatch.setattr(pretraining, "_PORTION_SIZE", 7 * CAUSAL.vocab_size)
    sums = {name: float(value) for name, value in model.sums(features).items()}
    assert (sums["next_token_count"], sums["next_token_correct"]) == (count, correct)
    assert sums["next_token_loss_sum"] == pytest.approx(loss, rel=1e-5)
    expected = NEXT_SENTENCE.sums_of_rows(
        outputs["next_sentence_logits"],
        features["next_sentence_labels"][:, 0],
        tf.constant([1.0, 1, 1, 0, 1]),
    )
    assert sums["next_sentence_loss_sum"] == pytest.approx(
        float(expected["next_sentence_loss_sum"]), rel=1e-5
    )
    counts = {**NEXT_TOKEN.counts(features), **NEXT_SENTENCE.counts(features)}
    assert {name: float(value) for name, value in counts.items()} == {
        "next_token_count": count,
        "next_sentence_count": 4,
    }
    metrics = SumOfLosses(model.head_losses).metrics(sums)
    assert metrics["next_token_perplexity"] == pytest.approx(np.exp(loss / count), rel=1e-5)
    assert set(metrics) == {
        "loss",
        "next_token_loss",
        "next_token_accuracy",
        "next_token_perplexity",
        "next_sentence_loss",
        "next_sentence_accuracy",
    }


@pytest.mark.parametrize("jit_compile", [False, True])
def test_portions_change_neither_sums_nor_gradients(features, monkeypatch, jit_compile):
    """Against the whole logits in one piece, by TensorFlow's own gradients."""
    monkeypatch.setattr(pretraining, "_PORTION_SIZE", 7 * CAUSAL.vocab_size)
    quiet = dataclasses.replace(
        CAUSAL, num_hidden_layers=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model = BertForCausalLm(quiet, seed=3)
    variables = raw_variables(model)

    def in_portions():
        return model.sums(features, dropout_stream(0, tf.constant(1, tf.int64)))

    def whole():
        restored = restore_tokens(features)
        labels, weights = next_tokens(restored)
        logits = tf.reshape(model(restored)["next_token_logits"], [-1, CAUSAL.vocab_size])
        return NEXT_TOKEN.sums_of_rows(logits, tf.reshape(labels, [-1]), tf.reshape(weights, [-1]))

    def run(sums_of):
        with tf.GradientTape() as tape:
            sums = sums_of()
            loss = 3.0 * sums["next_token_loss_sum"]
        gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
        return sums, {name: tf.convert_to_tensor(value) for name, value in gradients.items()}

    found, expected = tf.function(lambda: run(in_portions), jit_compile=jit_compile)(), run(whole)
    for name, value in expected[0].items():
        np.testing.assert_allclose(found[0][name], value, rtol=1e-5, err_msg=name)
    for name, value in expected[1].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-4, atol=1e-4, err_msg=name)
    assert np.abs(found[1]["bert/embeddings/word_embeddings"]).max() > 0.1


def test_the_logits_of_all_positions_never_exist(model, monkeypatch):
    """In the graph of a training step and of an evaluation."""
    monkeypatch.setattr(pretraining, "_PORTION_SIZE", 7 * CAUSAL.vocab_size)
    features = random_features(CAUSAL, 5, LENGTH, 3)
    largest = {}
    for training in (False, True):

        @tf.function
        def run(training=training):
            with tf.GradientTape() as tape:
                loss = model.sums(
                    features, dropout_stream(0, tf.constant(1, tf.int64)) if training else None
                )
            return (
                tape.gradient(loss["next_token_loss_sum"], model.trainable_variables)
                if training
                else loss
            )

        graph = run.get_concrete_function().graph.as_graph_def(add_shapes=True)
        nodes = [
            *graph.node,
            *(node for function in graph.library.function for node in function.node_def),
        ]
        shapes = [
            [dim.size for dim in shape.dim]
            for node in nodes
            for shape in node.attr["_output_shapes"].list.shape
        ]
        rows = [shape[-2] for shape in shapes if len(shape) > 1 and shape[-1] == CAUSAL.vocab_size]
        largest[training] = max(rows)
    assert largest == {False: 7, True: 7}


def test_no_position_sees_what_follows(model):
    """In no layer, in no attention, whether layers are kept or computed again, with dropout or
    without."""
    features = {
        name: value
        for name, value in random_features(CAUSAL, 3, LENGTH, 3).items()
        if "masked" not in name
    }
    features["input_mask"][:] = 1
    kept = 6
    changed = {**features, "input_ids": features["input_ids"].copy()}
    changed["input_ids"][:, kept:] = (changed["input_ids"][:, kept:] + 1) % CAUSAL.vocab_size
    stream = dropout_stream(0, tf.constant(1, tf.int64))
    names = [
        "embedding_output",
        *(f"encoder_layer_{layer}" for layer in range(CAUSAL.num_hidden_layers)),
        "sequence_output",
    ]
    encoder = BertEncoder(CAUSAL, seed=3)
    for recompute, dropout in ((False, None), (False, stream), (True, stream)):
        encoder.recompute = recompute
        before, after = (encoder(one, dropout=dropout) for one in (features, changed))
        for name in names:
            np.testing.assert_allclose(
                before[name][:, :kept], after[name][:, :kept], rtol=0, atol=1e-6, err_msg=name
            )
            assert np.abs(before[name][:, kept:] - after[name][:, kept:]).max() > 1e-3
    probabilities = encoder(features, return_attention_probabilities=True)[
        "attention_probabilities"
    ]
    for layer in probabilities:
        assert not np.triu(layer, 1).any()
    before, after = (model(one)["next_token_logits"][:, :kept] for one in (features, changed))
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-5)


def test_packed_sequences_neither_see_nor_predict_each_other(model):
    data = packed_features()
    row, lengths = data["row"], [part["input_ids"].shape[1] for part in data["apart"]]
    probabilities = model.encoder(row, return_attention_probabilities=True)[
        "attention_probabilities"
    ]
    same = row["sequence_ids"][0][:, None] == row["sequence_ids"][0]
    for layer in probabilities:
        tokens = slice(0, sum(lengths))
        assert not (
            np.array(layer)[0, :, tokens] * (np.triu(np.ones_like(same), 1) | ~same)[tokens]
        ).any()
    packed = model.sums(row)
    apart = [model.sums(part) for part in data["apart"]]
    assert float(packed["next_token_count"]) == sum(length - 1 for length in lengths)
    for name in ("next_token_loss_sum", "next_token_count", "next_token_correct"):
        np.testing.assert_allclose(
            packed[name], sum(part[name] for part in apart), rtol=1e-5, err_msg=name
        )


def test_the_pooler_reads_the_last_token(model):
    features = random_features(CAUSAL, 4, LENGTH, 1)
    outputs = model(features)
    last = features["input_mask"].sum(axis=1) - 1
    at_last = outputs["sequence_output"].numpy()[np.arange(4), last]
    np.testing.assert_allclose(
        outputs["pooled_output"], np.tanh(model.encoder.pooler(at_last)), rtol=0, atol=1e-6
    )
    data = packed_features()
    np.testing.assert_allclose(
        model(data["row"])["pooled_output"], model(data["apart"][0])["pooled_output"], atol=1e-5
    )
    # And so does everything that stands on it.
    classifier = BertForClassification(CAUSAL, 3, encoder=model.encoder)
    np.testing.assert_allclose(
        classifier(features), classifier.classifier(outputs["pooled_output"]), atol=1e-6
    )


def test_what_is_causal_stays_so(model, tmp_path):
    model.save_checkpoint(str(tmp_path / "native"))
    assert json.loads((tmp_path / "native/bert_config.json").read_text())["is_decoder"] is True
    assert read_checkpoint(str(tmp_path / "native")).config == CAUSAL
    classifier = BertForClassification.from_checkpoint(str(tmp_path / "native"), classes=2)
    assert classifier.causal and classifier.encoder.causal
    classifier.save(tmp_path / "classifier.keras")
    assert keras.models.load_model(tmp_path / "classifier.keras").encoder.causal
    # To make a bidirectional one left-to-right is a decision: the file says so.
    CAUSAL.to_file(str(tmp_path / "bert_config.json"))
    BertEncoder(SMALL).save_checkpoint(str(tmp_path / "bidirectional"))
    assert BertEncoder.from_checkpoint(
        str(tmp_path / "bidirectional"), bert_config_file=str(tmp_path / "bert_config.json")
    ).causal
    # An encoder decides it for the model, and its checkpoint, too.
    assert BertForClassification(SMALL, 2, encoder=model.encoder).config == CAUSAL


def test_models_of_the_other_kind_are_refused():
    with pytest.raises(
        UserError,
        match="see BertForCausalLm",
    ):
        BertForPreTraining(CAUSAL)
    with pytest.raises(UserError, match="BertForCausalLm needs a left-to-right model"):
        BertForCausalLm(SMALL)
    with pytest.raises(UserError, match="the encoder attends to both sides"):
        BertForClassification(CAUSAL, 2, encoder=BertEncoder(SMALL))
    with pytest.raises(UserError, match="is_decoder is 1, true or false is expected"):
        BertConfig.from_dict({"vocab_size": 9, "is_decoder": 1})


def test_records_of_unknown_length_are_mapped():
    records = random_features(SMALL, 3, 8, predictions=2)
    whole = tf.data.Dataset.from_tensor_slices(records)
    padded = whole.padded_batch(3, {name: [None] * (v.ndim - 1) for name, v in records.items()})
    found = next(iter(padded.map(BertForCausalLm.fit_batch)))
    expected = BertForCausalLm.fit_batch(records)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_array_equal(one, other)
