import dataclasses
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from modeling import BertEncoder, BertForQuestionAnswering, dropout
from tests.modeling.common import SMALL, arrays, golden_model, random_features

LENGTH = SMALL.max_position_embeddings

# Sequences of one token are drawn on purpose; Keras warns that their softmax is 1.
pytestmark = pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1")


@pytest.fixture(scope="module")
def golden_encoder(golden):
    return golden_model(golden).encoder


@pytest.fixture(scope="module")
def small():
    return BertEncoder(SMALL, seed=5)


def ids(draw_seed, *shape):
    return np.random.default_rng(draw_seed).integers(0, SMALL.vocab_size, shape).astype(np.int32)


@pytest.mark.golden
def test_mask_and_segments_may_be_left_out(golden, golden_encoder):
    expected = arrays(golden / "tf1_checkpoint/forward_defaults.npz")
    outputs = golden_encoder(expected["input_ids"])
    for name in ("embedding_output", "sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[name], expected[name], rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.golden
def test_rows_of_padding_only_stay_finite_and_near_the_original(golden, golden_encoder):
    expected = arrays(golden / "tf1_checkpoint/forward_all_masked.npz")
    segments = next(
        (value for name, value in expected.items() if name in ("segment_ids", "token_type_ids")),
        None,
    )
    outputs = golden_encoder(expected["input_ids"], expected["input_mask"], segments)
    np.testing.assert_allclose(
        outputs["sequence_output"][0], expected["sequence_output"][0], rtol=0, atol=2e-5
    )
    np.testing.assert_allclose(
        outputs["sequence_output"], expected["sequence_output"], rtol=0, atol=3e-3
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, LENGTH - 1))
def test_padding_never_changes_the_tokens(small, seed, length):
    tokens, filler = ids(seed, 2, length), ids(seed + 1, 2, LENGTH - length)
    mask = np.repeat((np.arange(LENGTH) < length)[None], 2, axis=0).astype(np.int32)
    exact = small(tokens)
    padded = small(np.concatenate([tokens, filler], axis=1), mask)
    np.testing.assert_allclose(
        padded["sequence_output"][:, :length], exact["sequence_output"], rtol=0, atol=2e-5
    )
    np.testing.assert_allclose(padded["pooled_output"], exact["pooled_output"], rtol=0, atol=2e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, LENGTH - 2), st.integers(1, LENGTH - 1))
def test_packed_sequences_are_as_if_apart(small, seed, first, second):
    second = min(second, LENGTH - 1 - first)
    lengths = [first, second, LENGTH - first - second]  # What is left is padding.
    tokens, segments = ids(seed, 1, LENGTH), ids(seed + 1, 1, LENGTH) % 2
    packed = small(
        tokens,
        np.repeat([[1, 1, 0]], lengths, axis=1),
        segments,
        position_ids=np.concatenate([np.arange(length) for length in lengths])[None],
        sequence_ids=np.repeat([[1, 2, 0]], lengths, axis=1),
    )["sequence_output"]
    for part in (slice(0, first), slice(first, first + second)):
        apart = small(tokens[:, part], None, segments[:, part])["sequence_output"]
        np.testing.assert_allclose(packed[:, part], apart, rtol=0, atol=2e-5)


def test_a_sequence_longer_than_the_position_table_is_refused(small):
    with pytest.raises(
        UserError, match=f"sequence length {LENGTH + 1} .* max_position_embeddings is {LENGTH}"
    ):
        small(ids(0, 2, LENGTH + 1))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("input_ids", [[1, -1, 2]], "contains -1: values from 0 to"),
        ("input_ids", [[1, SMALL.vocab_size, 2]], f"contains {SMALL.vocab_size}"),
        ("segment_ids", [[0, 1, SMALL.type_vocab_size]], "segment_ids.* contains"),
        ("segment_ids", [[0, -1, 1]], "segment_ids.* contains -1"),
        ("position_ids", [[0, -1, 1]], "position_ids.* contains -1"),
        ("position_ids", [[0, 1, SMALL.max_position_embeddings]], "position_ids.* contains"),
        ("input_mask", [[1, 1]], r"input_mask. has the shape \(1, 2\)"),
        ("input_ids", [1, 2, 3], r"has the shape \(3,\): \[B, S\] is expected"),
    ],
)
def test_inputs_without_an_entry_or_of_another_shape(small, name, values, message):
    inputs = {"input_ids": np.array([[1, 2, 3]]), name: np.array(values)}
    with pytest.raises(UserError, match=message):
        small(inputs)


def test_dropout_is_where_the_original_has_it(monkeypatch):
    sites = []

    def record(x, rate, site, stream):
        sites.append((site, rate, tuple(x.shape), stream))
        return x

    monkeypatch.setattr(dropout, "drop", record)
    stream = types.SimpleNamespace(is_compiled=False)
    hidden, probabilities = (2, 6, 12), (2, 3, 6, 6)
    model = BertEncoder(
        SMALL.__class__(
            **{**SMALL.to_dict(), "hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}
        )
    )
    model(ids(0, 2, 6), dropout=stream)
    layer = [(0.3, probabilities), (0.2, hidden), (0.2, hidden)]
    assert sites == [
        (site, rate, shape, stream)
        for site, (rate, shape) in enumerate([(0.2, hidden), *layer, *layer])
    ]


def test_inputs_may_be_positional_named_a_list_or_a_dict(small):
    features = random_features(SMALL, 3, 9, predictions=1)
    names = ("input_ids", "input_mask", "segment_ids")
    columns = [features[name] for name in names]
    transformers, garden = (
        dict(zip(others, columns, strict=True))
        for others in (
            ("input_ids", "attention_mask", "token_type_ids"),
            ("input_word_ids", "input_mask", "input_type_ids"),
        )
    )
    expected = small(*columns)["sequence_output"]
    for call in (
        lambda: small(**{name: features[name] for name in names}),
        lambda: small(columns),
        lambda: small(tuple(columns)),
        lambda: small(features),
        lambda: small([*columns[:2]], segment_ids=columns[2]),
        lambda: small({**features, "input_mask": None}, input_mask=columns[1]),
        lambda: small({**transformers, "labels": columns[0]}),
        lambda: small(**transformers),
        lambda: small({**garden, "labels": columns[0]}),
        lambda: small(**garden),
        lambda: BertForQuestionAnswering(SMALL, encoder=small).encode(garden),
        # As from a `keras.Input` whose dtype was forgotten, and as files hold ids.
        lambda: small([array.astype(np.float32) for array in columns]),
        lambda: small([array.astype(np.uint16) for array in columns]),
        lambda: small([array.astype(np.int8) for array in columns]),
        lambda: small([array.astype(np.uint64) for array in columns]),
    ):
        np.testing.assert_array_equal(call()["sequence_output"], expected)
    np.testing.assert_array_equal(
        small([columns[0]])["sequence_output"], small(columns[0])["sequence_output"]
    )
    with pytest.raises(UserError, match='the encoder needs "input_ids"'):
        small({"input_mask": columns[1]})


def test_packed_and_causal_inputs_reach_the_encoder_of_every_model(small):
    tokens = ids(3, 2, 8)
    packed = {
        "input_ids": tokens,
        "position_ids": np.tile([0, 1, 2, 3], (2, 2)),
        "sequence_ids": np.tile([1, 1, 1, 1, 2, 2, 2, 2], (2, 1)),
    }
    expected = small(
        tokens, position_ids=packed["position_ids"], sequence_ids=packed["sequence_ids"]
    )
    np.testing.assert_array_equal(small(packed)["sequence_output"], expected["sequence_output"])
    model = BertForQuestionAnswering(SMALL, seed=5)
    np.testing.assert_array_equal(model(packed)[0], model.span(expected["sequence_output"])[..., 0])
    config = dataclasses.replace(SMALL, causal=True)
    causal = BertForQuestionAnswering(config, seed=5)
    encoder = BertEncoder(config, seed=5)
    np.testing.assert_array_equal(
        causal(tokens)[0], causal.span(encoder(tokens)["sequence_output"])[..., 0]
    )
    assert BertEncoder.from_config(causal.encoder.get_config()).causal


def test_attention_probabilities_are_those_of_transformers(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    encoder = BertEncoder(SMALL, seed=5)
    encoder.save_checkpoint(str(tmp_path / "huggingface"), "huggingface")
    model = transformers.BertModel.from_pretrained(
        tmp_path / "huggingface", attn_implementation="eager"
    ).eval()
    features = random_features(SMALL, 3, 9, predictions=1)
    with torch.no_grad():
        expected = model(
            torch.tensor(features["input_ids"]),
            torch.tensor(features["input_mask"]),
            torch.tensor(features["segment_ids"]),
            output_attentions=True,
        )
    outputs = encoder(features, return_attention_probabilities=True)
    plain = encoder(features)
    assert set(outputs) - set(plain) == {"attention_probabilities"}
    for name, value in plain.items():
        np.testing.assert_array_equal(outputs[name], value)
    assert len(outputs["attention_probabilities"]) == SMALL.num_hidden_layers
    for found, attentions in zip(
        outputs["attention_probabilities"], expected.attentions, strict=True
    ):
        assert found.shape == (3, SMALL.num_attention_heads, 9, 9)
        np.testing.assert_allclose(found, attentions.numpy(), rtol=0, atol=2e-5)
        np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
