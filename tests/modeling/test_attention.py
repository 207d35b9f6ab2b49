import numpy as np
import pytest
from scipy import special

from modeling.attention import FORBIDDEN, SelfAttention, attention_bias
from tests.modeling.common import SMALL


@pytest.mark.parametrize("heads", [1, 3, 12])
def test_attention_is_the_textbook_formula(heads):
    rng = np.random.default_rng(heads)
    config = SMALL.__class__(**{**SMALL.to_dict(), "num_attention_heads": heads})
    layer = SelfAttention(config, seed=1)
    layer.build()
    for projection in (layer.query, layer.key, layer.value):
        projection.bias.assign(rng.normal(size=config.hidden_size))
    x = rng.normal(size=(2, 5, config.hidden_size)).astype(np.float32)
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 1, 1]])

    def project(projection):
        return x.astype(np.float64) @ projection.kernel.numpy() + projection.bias.numpy()

    query, key, value = project(layer.query), project(layer.key), project(layer.value)
    expected = np.zeros_like(query)
    for row in range(2):
        for head in range(heads):
            units = slice(head * config.head_size, (head + 1) * config.head_size)
            scores = query[row, :, units] @ key[row, :, units].T / np.sqrt(config.head_size)
            scores[:, mask[row] == 0] = -np.inf
            expected[row, :, units] = special.softmax(scores, axis=-1) @ value[row, :, units]
    np.testing.assert_allclose(layer(x, attention_bias(mask)), expected, rtol=0, atol=1e-5)


def allowed(bias, rows, length):
    values = np.asarray(bias)
    assert set(np.unique(values)) <= {0.0, FORBIDDEN}
    assert values.dtype == np.float32
    return np.broadcast_to(values == 0, (rows, 1, length, length))[:, 0]


def test_masks_are_combined():
    mask = np.array([[1, 1, 1, 1, 0]])
    sequences = np.array([[1, 1, 2, 2, 0]])
    bias = attention_bias(mask, sequence_length=5, causal=True, sequence_ids=sequences)
    expected = np.tri(5, dtype=bool) & (mask[0] == 1) & (sequences[0][:, None] == sequences[0])
    np.testing.assert_array_equal(allowed(bias, 1, 5)[0], expected)
