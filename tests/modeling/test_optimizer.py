import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling.optimizer import BertAdamW, BertLamb, WarmupDecay, WarmupLinearDecay
from tests.modeling.common import lamb_in_float64


def variable(name):
    with keras.name_scope("LayerNorm"):
        return keras.Variable([1.0], name=name)


def rates(init_lr, num_train_steps, num_warmup_steps, steps, decay="linear", *proportion):
    schedule = WarmupDecay(init_lr, num_train_steps, num_warmup_steps, decay, *proportion)
    return [float(schedule(tf.constant(step, tf.int64))) for step in steps]


@pytest.mark.golden
def test_the_schedules_of_the_original(golden):
    schedules = json.loads((golden / "optimizer/lr_schedule.json").read_text())["schedules"]
    assert len(schedules) == 4
    for expected in schedules:
        found = rates(
            expected["init_lr"],
            expected["num_train_steps"],
            expected["num_warmup_steps"],
            expected["steps"],
        )
        np.testing.assert_allclose(
            found, expected["learning_rate"], rtol=1e-6, atol=1e-7 * expected["init_lr"]
        )


def test_the_other_decays_begin_at_the_highest_rate_where_the_warm_up_ends():
    np.testing.assert_allclose(
        rates(2.0, 8, 4, range(10), "constant"), [0, 0.5, 1, 1.5, *[2] * 6], rtol=1e-6
    )
    expected = [0, 0.5, 1, 1.5, *1 + np.cos(np.pi * np.arange(5) / 4), 0]
    np.testing.assert_allclose(
        rates(2.0, 8, 4, range(10), "cosine"), expected, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        rates(2.0, 4, 0, [0, 2, 4], "cosine"), [2, 1, 0], rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(rates(2.0, 4, 4, [3, 4], "cosine"), [1.5, 2], rtol=1e-6, atol=1e-6)
    # A longer run has the same rates until the decay of the shorter one begins.
    np.testing.assert_allclose(
        rates(2.0, 8, 2, range(10), "wsd", 0.5), [0, 1, 2, 2, 2, 1.5, 1, 0.5, 0, 0], rtol=1e-6
    )
    np.testing.assert_allclose(
        rates(2.0, 20, 2, range(10), "wsd", 0.5), [0, 1, *[2] * 8], rtol=1e-6
    )
    with pytest.raises(UserError, match="decay='square'.* linear, cosine, constant, wsd"):
        WarmupDecay(1.0, 2, decay="square")


def test_schedules_are_saved_whole():
    for schedule in (WarmupDecay(2e-5, 40, 4, "wsd", 0.3), WarmupLinearDecay(2e-5, 40, 4)):
        serialized = keras.saving.serialize_keras_object(schedule)
        again = keras.saving.deserialize_keras_object(serialized)
        assert type(again) is type(schedule) and again.get_config() == schedule.get_config()


def test_twenty_steps_of_lamb_in_fit_against_numpy_in_float64():
    """Keras' own has a trust ratio for biases too, and a decay outside of it: it is not the same."""
    rng = np.random.default_rng(1)
    shapes = {"kernel": (64, 32), "bias": (32,), "gamma": (32,)}
    start = {name: rng.normal(0.5, 0.1, shape) for name, shape in shapes.items()}
    start = {name: value.astype(np.float32) for name, value in start.items()}
    gradients = []
    for _ in range(20):
        gradients.append({n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()})
    schedule = WarmupDecay(0.01, 20, 4)
    expected = lamb_in_float64(
        start, gradients, [float(schedule(step)) for step in range(20)], (0.9, 0.999)
    )
    differences = {}
    for optimizer in (
        BertLamb(schedule),
        keras.optimizers.Lamb(schedule, epsilon=1e-6, weight_decay=0.01, global_clipnorm=1.0),
    ):
        variables = [keras.Variable(value, name=name) for name, value in start.items()]
        for step_gradients in gradients:
            optimizer.apply([tf.constant(value) for value in step_gradients.values()], variables)
        for variable in variables:
            value = expected[variable.name]
            difference = np.abs(variable.numpy() - value).max() / np.abs(value).max()
            differences[type(optimizer).__name__, variable.name] = difference
    for name in shapes:
        assert differences["BertLamb", name] < 1e-6
        assert differences["Lamb", name] > 1e-4
    again = BertLamb.from_config(BertLamb(schedule, weight_decay=0.1).get_config())
    assert again.get_config() == BertLamb(schedule, weight_decay=0.1).get_config()
    assert again.decay_rate == 0.1


@pytest.mark.parametrize(
    "clip",
    [
        {},
        {"clipnorm": 0.5},
        {"clipvalue": 0.1},
        {"global_clipnorm": 0.5},
        {"loss_scale_factor": 8.0},
    ],
)
@pytest.mark.parametrize("optimizer", [BertAdamW, BertLamb])
def test_rows_of_a_gradient_are_summed_before_they_are_clipped(optimizer, clip):
    """Those of an embedding table, where a word is twice in a text."""
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 1]), (3, 2))
    tables = []
    for gradient in (rows, tf.convert_to_tensor(rows)):
        table = keras.Variable(np.ones((3, 2)))
        rule = optimizer(0.1, **{"global_clipnorm": None, **clip})
        rule.apply([gradient], [table])
        # The first update of Adam is the same for any size of a gradient.
        rule.apply([tf.fill((3, 2), 0.05)], [table])
        tables.append(table.numpy())
    np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize("optimizer_class", [BertAdamW, BertLamb])
def test_a_pattern_that_excludes_nothing_is_named(optimizer_class):
    # The original's list: its names hold the layer, Keras' do not.
    optimizer = optimizer_class(exclude_from_weight_decay=["LayerNorm", "bias"])
    with pytest.warns(UserWarning, match="'LayerNorm' is in no variable's name.*gamma, kernel"):
        optimizer.build([variable("gamma"), variable("kernel")])


@pytest.mark.parametrize("optimizer_class", [BertAdamW, BertLamb])
def test_exclusions_that_are_called_for_are_saved_and_keep_the_others(optimizer_class):
    weights = kernel, table, bias = [variable(name) for name in ("kernel", "table", "bias")]
    optimizer = optimizer_class()
    optimizer.exclude_from_weight_decay(var_list=[table])
    optimizer.build(weights)
    assert [optimizer._use_weight_decay(weight) for weight in weights] == [True, False, False]

    optimizer = optimizer_class()
    optimizer.exclude_from_weight_decay(var_names="kernel")
    for rule in (optimizer, optimizer_class.from_config(optimizer.get_config())):
        rule.build(weights)
        assert [rule._use_weight_decay(weight) for weight in weights] == [False, True, True]
    with pytest.raises(UserError, match="before the first step"):
        optimizer.exclude_from_weight_decay(var_names="bias")


@pytest.mark.parametrize("optimizer_class", [BertAdamW, BertLamb])
def test_names_of_layers_exclude_nothing(optimizer_class):
    kernels = []
    for name in ("beta", "other"):
        layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", name=name)
        model = keras.Sequential([keras.Input((1,)), layer])
        model.compile(optimizer_class(1.0, weight_decay=0.5), "mse")
        model.train_on_batch(np.ones((1, 1)), np.zeros((1, 1)))
        kernels.append(model.get_weights())
    np.testing.assert_array_equal(*kernels)


@pytest.mark.filterwarnings("error")
def test_patterns_that_exclude_something_are_not_named():
    for patterns in (("bias", "gamma", "beta"), ("kern",)):
        optimizer = BertAdamW(exclude_from_weight_decay=patterns)
        optimizer.build([variable("kernel")])


def test_schedules_count_batches_where_keras_accumulates_gradients():
    """The page tells it; the day that Keras counts updates the page is to be changed."""
    weight = keras.Variable([0.0])
    schedule = WarmupDecay(1.0, 8, 4, "constant")
    optimizer = keras.optimizers.SGD(schedule, gradient_accumulation_steps=4)
    moves = []
    for _ in range(8):
        before = weight.numpy()
        optimizer.apply([tf.constant([-1.0])], [weight])
        moves.append(float((weight.numpy() - before)[0]))
    # Updates 0 and 1 of a warm-up over four steps: 0 and 0.25 if they were what is counted.
    np.testing.assert_allclose(moves, [0, 0, 0, 0.75, 0, 0, 0, 1.0])
