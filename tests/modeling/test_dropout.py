import numpy as np
import pytest
import tensorflow as tf

from modeling.dropout import Dropout, drop
from tests.modeling.common import dropout_stream

RATE = 0.25


def dropped(x, site=3, seed=5, step=7, first_example=0, rate=RATE):
    return drop(x, rate, site, dropout_stream(seed, tf.constant(step, tf.int64), first_example))


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("shape", [(4, None, 6), (4, 3, None, None), (4, None)])
def test_a_graph_for_any_length_drops_the_units_of_one_for_this_length(shape, jit_compile):
    any_length = tf.function(
        dropped, input_signature=[tf.TensorSpec(shape)], jit_compile=jit_compile
    )
    for length in (1, 5, 8, 13):
        x = tf.ones([length if size is None else size for size in shape])
        result = any_length(x)
        np.testing.assert_array_equal(result, tf.function(dropped)(x))
        np.testing.assert_array_equal(result, dropped(x))
        assert any_length.get_concrete_function().structured_outputs.shape.as_list() == list(shape)


@pytest.mark.parametrize("length", [5, 8])
def test_a_part_of_the_batch_drops_what_the_whole_batch_does(length):
    any_length = tf.function(
        lambda x, first: dropped(x, first_example=first),
        input_signature=[tf.TensorSpec([2, None, 6]), tf.TensorSpec([], tf.int64)],
    )
    whole = dropped(tf.ones([6, length, 6]))
    parts = [
        any_length(tf.ones([2, length, 6]), tf.constant(first, tf.int64)) for first in (0, 2, 4)
    ]
    np.testing.assert_array_equal(tf.concat(parts, axis=0), whole)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_scale_is_not_rounded_to_bfloat16(jit_compile):
    # 1 / 0.9 would be 1.1094.
    x = tf.cast(tf.random.stateless_normal([64, 1000], seed=[0, 0]), tf.bfloat16)

    @tf.function(jit_compile=jit_compile)
    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = dropped(x, rate=0.1)
        return result, tape.gradient(result, x, output_gradients=x)

    exact = tf.cast(x, tf.float32).numpy()
    for result in value_and_gradient(x):
        kept = tf.cast(result, tf.float32).numpy()
        is_kept = kept != 0
        scale = np.sum(kept * exact) / np.sum(np.square(exact[is_kept]))
        assert scale == pytest.approx(1 / 0.9, rel=1e-4)


def test_the_fraction_and_the_scale():
    x = tf.random.stateless_normal([64, 100, 10], seed=[0, 0])
    result = dropped(x).numpy()
    kept = result != 0
    assert 1 - kept.mean() == pytest.approx(RATE, abs=0.01)
    np.testing.assert_allclose(result[kept], x.numpy()[kept] / (1 - RATE), rtol=1e-6)
    # Units, rows and examples are independent: their shares are spread as chance has it.
    for axes in ((1, 2), (0, 2)):
        shares = 1 - kept.mean(axis=axes)
        expected = np.sqrt(RATE * (1 - RATE) * shares.size / kept.size)
        assert shares.std() == pytest.approx(expected, rel=0.4)
    # Exact to what chance leaves.
    kept, expected = (
        dropped(tf.ones([64, 64, 1024]), rate=0.1).numpy() != 0,
        round(0.1 * 2**32) / 2**32,
    )
    assert 1 - kept.mean() == pytest.approx(
        expected, abs=5 * np.sqrt(expected * (1 - expected) / kept.size)
    )


def test_site_step_and_seed_each_change_what_is_dropped():
    x = tf.ones([4, 50])
    results = [dropped(x), dropped(x, site=4), dropped(x, step=8), dropped(x, seed=6)]
    assert len({result.numpy().tobytes() for result in results}) == 4


def test_nothing_is_dropped_without_a_rate_or_outside_training():
    x = tf.ones([4, 5])
    assert dropped(x, rate=0.0) is x
    for layer, options in (
        (Dropout(RATE, 3), {}),
        (Dropout(RATE, 3), {"training": False}),
        (Dropout(0.0, 3), {"training": True}),
    ):
        np.testing.assert_array_equal(layer(x, **options), x)


def test_training_drops_by_a_counter_and_a_stream_decides_whatever_training_says():
    x = tf.ones([64, 100])
    layer, same_seed = Dropout(RATE, 3, seed=1), Dropout(RATE, 3, seed=1)
    first, second = layer(x, training=True).numpy(), layer(x, training=True).numpy()
    assert 1 - (first != 0).mean() == pytest.approx(RATE, abs=0.03)
    np.testing.assert_allclose(first[first != 0], 1 / (1 - RATE), rtol=1e-6)
    assert (first != second).any()
    np.testing.assert_array_equal(same_seed(x, training=True), first)
    stream = dropout_stream(5, tf.constant(7, tf.int64))
    for training in (None, False, True):
        np.testing.assert_array_equal(layer(x, dropout=stream, training=training), dropped(x))
