"""Fused attention: the calls are those that JAX makes; around them loss, gradients and weights are
as without it.

The kernels run on GPUs only. What they compute is written down here by their contract, with the
backward pass from what the forward pass hands over.
"""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling import BertConfig, BertEncoder, attention, fused_attention
from tests.bert_tf.training.common import TINY
from tests.modeling.common import dropout_stream

WITHOUT_DROPOUT = dataclasses.replace(TINY, attention_probs_dropout_prob=0.0)
# Fields that XLA's pass does not read, and enumerations' zero.
_SILENT = ("seed", "sliding_window_length", "is_paged_attention")


def kernel(target, operands, causal, results):
    """What cuDNN computes, by the contract of the calls, of [B, S, N, D]; [B, N, S, D], 0 at
    padding."""
    if operands[-1].shape.rank == 2:
        return packed_kernel(target, operands, causal, results)
    query, key, value = (tf.transpose(one, (0, 2, 1, 3)) for one in operands[:3])
    lengths, length, scale = operands[-1], query.shape[2], 1 / math.sqrt(query.shape[3])
    is_there = tf.sequence_mask(lengths, length)
    allowed = is_there[:, None, None, :]
    if causal:
        allowed &= tf.linalg.band_part(tf.ones([length, length], tf.bool), -1, 0)
    at_tokens = tf.cast(is_there, query.dtype)[:, None, :, None]
    scores = tf.where(allowed, tf.matmul(query, key, transpose_b=True) * scale, -math.inf)
    if target == "__cudnn$fmhaSoftmax":
        return tf.matmul(tf.nn.softmax(scores), value) * at_tokens, tf.reduce_logsumexp(
            scores, axis=-1
        )
    log_sums, (upstream, context) = (
        operands[3],
        (tf.transpose(one, (0, 2, 1, 3)) for one in operands[4:6]),
    )
    probabilities = tf.exp(scores - log_sums[..., None]) * at_tokens
    change = (
        probabilities
        * (
            tf.matmul(upstream, value, transpose_b=True)
            - tf.reduce_sum(upstream * context, axis=-1, keepdims=True)
        )
        * scale
    )
    return [
        tf.matmul(change, key),
        tf.matmul(change, query, transpose_a=True),
        tf.matmul(probabilities, upstream, transpose_a=True),
    ]


def packed_kernel(target, operands, causal, results):
    """The same of packed rows: every sequence is a row of its own, read from where it starts in the
    rows joined to one, and written there. What no sequence writes is NaN."""
    *floats, lengths, _, starts, _ = operands
    batch, length, heads, size = floats[0].shape
    lengths = tf.reshape(lengths, [-1])
    rows = lengths.shape[0]
    starts = tf.reshape(starts, [-1])[:rows] // (heads * size)
    places = starts[:, None] + tf.range(length)  # [B * M, S]
    is_there = tf.sequence_mask(lengths, length)

    def unpack(tensor):
        if tensor.shape[0] == rows and tensor.shape.rank == 3:
            return tensor
        joined = tf.reshape(tensor, [batch * length, heads, size])
        return tf.gather(joined, tf.minimum(places, batch * length - 1))

    def pack(tensor):
        values = tf.boolean_mask(tf.transpose(tensor, (0, 2, 1, 3)), is_there)
        empty = tf.fill([batch * length, heads, size], tf.cast(math.nan, tensor.dtype))
        joined = tf.tensor_scatter_nd_update(
            empty, tf.boolean_mask(places, is_there)[:, None], values
        )
        return tf.transpose(tf.reshape(joined, [batch, length, heads, size]), (0, 2, 1, 3))

    # A sequence of length 0 has no sum of exponentials.
    spans = tf.maximum(lengths, 1)
    unpacked = kernel(target, (*map(unpack, floats), spans, spans), causal, results)
    if target == "__cudnn$fmhaSoftmax":
        context, log_sums = unpacked
        assert log_sums.shape == results[1].shape
        return pack(context), log_sums
    return [pack(tensor) for tensor in unpacked]


def meaning(value):
    """Without what JSON of protocol buffers need not say: zeros, empty lists and the like."""
    if isinstance(value, dict):
        return {
            name: found
            for name, part in value.items()
            if name not in _SILENT and (found := meaning(part))
        }
    if isinstance(value, list):
        # A list of flags has a length.
        return [meaning(part) if isinstance(part, dict) else part for part in value]
    return None if value in ("0", 0, False, "PRIMITIVE_TYPE_INVALID") else value


@pytest.mark.golden
@pytest.mark.parametrize("number", range(5))
def test_the_calls_are_those_of_jax(golden, number):
    with open(golden / "fused_attention" / "jax_custom_calls.json", encoding="utf-8") as file:
        case = json.load(file)["cases"][number]
    dtype = tf.as_dtype(case["dtype"])
    lengths = tf.fill([case["shape"][0]], 7)

    @tf.function(jit_compile=True, autograph=False)
    def gradients(query, key, value, upstream):
        with tf.GradientTape() as tape:
            tape.watch([query, key, value])
            span = attention.AttentionSpan(lengths, case["causal"])
            if "max_sequences" in case:
                # Padding is the last of them.
                ids = tf.ones(case["shape"][:2], tf.int32)
                span = attention.packed_span(ids, case["max_sequences"] - 1, case["causal"])
            context = fused_attention.fused_attention(query, key, value, span)
        return tape.gradient(context, [query, key, value], output_gradients=upstream)

    program = gradients.experimental_get_compiler_ir(*[tf.zeros(case["shape"], dtype)] * 4)(
        stage="hlo", platform_name="GPU"
    )
    found = re.findall(
        r'= \(([^=]*?)\) custom-call\((.*?)\), custom_call_target="(.*?)".*backend_config=(.*)',
        program,
    )
    assert len(found) == len(case["calls"]) == 2
    for (results, operands, target, config), expected in zip(found, case["calls"], strict=True):
        assert target == expected["target"]
        for shapes, names in ((results, "result"), (operands, "operand")):
            assert re.findall(r"\w+\[[\d,]*\]", shapes) == expected[f"{names}s"]
            orders = [
                list(map(int, order.split(","))) for order in re.findall(r"\]\{([\d,]*)", shapes)
            ]
            assert names == "operand" or orders == expected["result_layouts"]
        ours, theirs = (
            meaning(one)["cudnn_fmha_backend_config"]
            for one in (json.loads(config), expected["backend_config"])
        )
        assert ours.pop("fmha_scale") == pytest.approx(theirs.pop("fmha_scale"))
        assert ours == theirs


@pytest.mark.parametrize("causal, recompute", [(False, False), (True, True)])
def test_outputs_and_gradients_are_the_same(monkeypatch, causal, recompute):
    """At the tokens of rows with padding."""
    monkeypatch.setattr(fused_attention, "_call", kernel)
    encoder = BertEncoder(dataclasses.replace(WITHOUT_DROPOUT, num_hidden_layers=1, causal=causal))
    encoder.recompute = recompute
    found = []
    for encoder.fused_attention in (False, True):
        outputs, gradients = outputs_and_gradients(encoder, tf.constant([16, 9, 1]))
        found.append([outputs, *gradients])
    for plain, fused in zip(*found, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal, recompute", [(False, False), (True, True)])
def test_packed_rows_are_the_same(monkeypatch, causal, recompute):
    """At their tokens, where rows are full, have padding, fewer sequences or none."""
    monkeypatch.setattr(fused_attention, "_call", kernel)
    encoder = BertEncoder(dataclasses.replace(WITHOUT_DROPOUT, num_hidden_layers=1, causal=causal))
    encoder.recompute = recompute
    ids = tf.constant(
        [[1] * 5 + [2] * 7 + [3] * 4, [1] * 9 + [2] + [0] * 6, [1] * 16, [0] * 16], tf.int32
    )
    found = []
    for encoder.fused_attention in (False, True):
        outputs, gradients = outputs_and_gradients(encoder, tf.constant([16, 10, 16, 0]), ids)
        found.append([outputs, *gradients])
    for plain, fused in zip(*found, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-5)


def test_the_sequences_of_packed_rows():
    ids = tf.constant([[1, 1, 2, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    span = attention.packed_span(ids, 2, causal=False)
    assert span.lengths.numpy().tolist() == [[2, 1, 1], [4, 4, 0], [0, 0, 0]]
    assert span.starts.numpy().tolist() == [[0, 2, 3, 4], [8, 12, 12, 12], [12, 12, 12, 12]]
    assert span.lengths.dtype == span.starts.dtype == tf.int32


def test_packed_rows_that_the_kernel_can_not_number():
    query = tf.TensorSpec([2048, 512, 32, 64], tf.bfloat16)
    spans = tf.zeros([2048, 2], tf.int32), tf.zeros([2048, 3], tf.int32)
    span = attention.AttentionSpan(spans[0], False, spans[1])
    with pytest.raises(UserError, match="2048 x 512 x 2048"):
        fused_attention.fused_attention(query, query, query, span)


def outputs_and_gradients(encoder, lengths, sequence_ids=None):
    """Of the tokens; of all weights."""
    rows, length = len(lengths), int(max(lengths))
    features = {
        "input_ids": tf.random.stateless_uniform([rows, length], [1, 2], 0, 50, tf.int32),
        "input_mask": tf.sequence_mask(lengths, length, tf.int32),
    }
    max_sequences = None
    if sequence_ids is not None:
        features["sequence_ids"] = sequence_ids
        max_sequences = int(tf.reduce_max(sequence_ids))
    size = [rows, length, encoder.config.hidden_size]
    at_tokens = tf.sequence_mask(lengths, length, tf.float32)[..., None]
    upstream = tf.random.stateless_normal(size, [3, 4]) * at_tokens

    @tf.function(jit_compile=encoder.compute_dtype != "float32", autograph=False)
    def run():
        variables = [variable.value for variable in encoder.layers[0].trainable_variables]
        with tf.GradientTape() as tape:
            outputs = encoder(
                features,
                dropout=dropout_stream(1, tf.constant(5, tf.int64)),
                max_sequences=max_sequences,
            )
            outputs = tf.cast(outputs["sequence_output"], tf.float32)
            loss = tf.reduce_sum(outputs * upstream)
        return outputs * at_tokens, tape.gradient(loss, variables)

    return run()


def test_it_is_for_training(monkeypatch):
    calls = []
    monkeypatch.setattr(
        fused_attention,
        "fused_attention",
        lambda *arguments: calls.append(arguments) or arguments[0],
    )
    encoder = BertEncoder(WITHOUT_DROPOUT)
    encoder.fused_attention = True
    ids = tf.zeros([2, 8], tf.int32)
    stream = dropout_stream(1, tf.constant(5, tf.int64))
    encoder(ids)
    encoder(ids, training=True)
    encoder(ids, sequence_ids=ids, dropout=stream)
    encoder(ids, dropout=stream, return_attention_probabilities=True)
    assert not calls
    encoder(ids, dropout=stream)
    assert len(calls) == WITHOUT_DROPOUT.num_hidden_layers
    # No mask means no padding.
    assert calls[0][3].lengths.numpy().tolist() == [8, 8]
    calls.clear()
    encoder(ids, sequence_ids=ids, dropout=stream, max_sequences=3)
    assert calls[0][3].lengths.shape == [2, 4]


def test_a_row_of_padding_has_one_token():
    """So that its probabilities are numbers."""
    span = attention.attention_span(
        tf.constant([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), 2, 3, causal=False
    )
    assert span.lengths.numpy().tolist() == [2, 1] and span.lengths.dtype == tf.int32


@pytest.mark.skipif(not tf.config.list_physical_devices("GPU"), reason="needs a GPU")
@pytest.mark.parametrize("causal", [False, True])
def test_on_a_gpu_the_encoder_is_the_same(causal):
    """Within what 16 bits allow: outputs at tokens, and gradients."""
    config = BertConfig(
        vocab_size=50,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=256,
        max_position_embeddings=128,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
        causal=causal,
    )
    encoder = BertEncoder(config, dtype="mixed_bfloat16")
    found = []
    for encoder.fused_attention in (False, True):
        outputs, gradients = outputs_and_gradients(encoder, tf.constant([128, 70, 3, 1]))
        found.append([np.asarray(value, np.float32) for value in (outputs, *gradients)])
    for plain, fused in zip(*found, strict=True):
        assert np.abs(fused - plain).max() < 0.03 * np.abs(plain).max()
