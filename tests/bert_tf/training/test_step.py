import functools
import json
import time

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.pretraining.task import pretraining_forward, pretraining_loss
from bert_tf.training.optimizer import AdamWeightDecay, Lamb, layerwise_factors
from bert_tf.training.prediction import EvaluationPass
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import raw_variables
from modeling.losses import HeadLoss
from modeling.optimizer import WarmupDecay
from modeling.pretraining import BertForPreTraining
from tests.bert_tf.training.common import ONE_LAYER, Trainer, batches, make_trainer, train, weights
from tests.modeling.common import arrays, golden_model, lamb_in_float64, random_features
from tests.refusals import assert_refused


@pytest.mark.golden
def test_the_metrics_of_the_original(golden):
    expected = json.loads((golden / "tf1_checkpoint/eval_metrics.json").read_text())["metrics"]
    model = golden_model(golden)
    data = batches(arrays(golden / "tf1_checkpoint/eval_batches.npz"))
    evaluate = EvaluationPass(
        functools.partial(pretraining_forward, model),
        pretraining_loss(model),
        lambda: data,
        data.cardinality(),
        tf.distribute.get_strategy(),
        jit_compile=False,
    )
    found = evaluate()
    assert set(found) == {*expected, "loss", "masked_lm_perplexity"}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-5), name
    assert found["loss"] == pytest.approx(
        expected["masked_lm_loss"] + expected["next_sentence_loss"], abs=2e-5
    )
    assert evaluate() == found


def trained_weights(**options) -> tuple[dict, list[dict]]:
    rows = [random_features(ONE_LAYER, 8, 16, 3, seed) for seed in range(4)]
    model = BertForPreTraining(ONE_LAYER)
    data = batches({name: np.stack([row[name] for row in rows]) for name in rows[0]})
    trainer = make_trainer(model, data, 8, WarmupDecay(0.01, 10), jit_compile=False, **options)
    reports = train(trainer, 4, 2)
    return weights(model), reports


def test_micro_batches_with_dropout_give_the_steps_of_the_whole_batch():
    expected, expected_reports = trained_weights(seed=3)
    found, reports = trained_weights(seed=3, gradient_accumulation_steps=2)
    for name in ("loss", "gradient_norm", "masked_lm_accuracy", "next_sentence_loss"):
        for report, expected_report in zip(reports, expected_reports, strict=True):
            assert report[name] == pytest.approx(expected_report[name], rel=1e-4)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=0, atol=2e-5, err_msg=name)


def linear_trainer(
    inputs, learning_rate: float = 0.1, delay: float = 0.0, weight=(1.0, 1.0), **options
) -> Trainer:
    """Trains two numbers on the mean of inputs @ weight, inputs: [step, batch, 2]; no model to
    trace and compile."""
    variable = tf.Variable(weight)
    state = TrainingState()

    class MeanOutput(HeadLoss):
        def measure(self, outputs, labels):
            return outputs, {}

        def means(self, sums, examples):
            return {}

    def forward(features, dropout):
        # As a model does it reads what is dropped; here that changes nothing.
        nothing = 0.0 * tf.cast(dropout.key[0], tf.float32)
        return nothing + tf.linalg.matvec(features["x"], variable)

    def wait(features):
        with tf.control_dependencies([tf.py_function(lambda: time.sleep(delay), [], [])]):
            return tf.nest.map_structure(tf.identity, features)

    data = tf.data.Dataset.from_tensor_slices({"x": np.asarray(inputs, np.float32)}).repeat()
    loss = MeanOutput(
        "output",
        labels=lambda features: None,
        weights=lambda features: tf.ones(tf.shape(features["x"])[:1]),
    )
    optimizer = AdamWeightDecay({"kernel": variable})
    training_step = TrainingStep(
        forward,
        loss,
        optimizer,
        WarmupDecay(learning_rate, 10_000),
        state,
        tf.distribute.get_strategy(),
        np.shape(inputs)[1],
        **{"jit_compile": False, **options},
    )
    return Trainer(training_step, lambda: data.map(wait) if delay else data, state, optimizer)


def values(trainer) -> np.ndarray:
    optimizer = trainer.optimizer
    return np.stack(
        [variable.numpy() for variable in (*optimizer.variables, *optimizer.m, *optimizer.v)]
    )


def test_an_inner_loop_reports_the_means_of_its_steps():
    inputs = np.arange(12.0).reshape(3, 2, 2)
    trainer = linear_trainer(inputs, learning_rate=0.0)
    report = train(trainer, 3, 3)[0]
    assert report["loss"] == pytest.approx(inputs.sum(axis=-1).mean())
    assert report["gradient_norm"] == pytest.approx(
        np.linalg.norm(inputs.mean(axis=1), axis=1).mean()
    )
    assert (int(trainer.state.step), int(trainer.state.examples)) == (3, 6)
    assert report["examples_per_second"] == pytest.approx(6 / trainer.seconds)
    assert train(trainer, 1, 1)[0]["loss"] == pytest.approx(inputs[0].sum(axis=-1).mean())


@pytest.mark.parametrize("jit_compile", [False, True])
def test_loss_scaling_skips_the_steps_that_overflow(jit_compile):
    # Scaled by 2**100, the gradient of 1e10 is beyond float32.
    trainer = linear_trainer(np.full([1, 2, 2], 1e10), loss_scaling=True, jit_compile=jit_compile)
    state = trainer.state
    assert float(state.loss_scale) == 2.0**15
    norm = train(trainer, 1)[0]["gradient_norm"]
    assert norm == pytest.approx(1e10 * 2**0.5, rel=1e-6)
    before = values(trainer)
    state.loss_scale.assign(2.0**100)
    report = train(trainer, 1)[0]
    assert np.isfinite(list(report.values())).all() and report["gradient_norm"] == 0
    assert (float(state.loss_scale), int(state.steps_since_overflow), int(state.step)) == (
        2.0**99,
        0,
        2,
    )
    np.testing.assert_array_equal(values(trainer), before)
    # It is halved until it fits: 1e10 * 2**95 is less than 3.4e38. The mean is that of the steps
    # that did something.
    assert train(trainer, 6, 6)[0]["gradient_norm"] == pytest.approx(norm, rel=1e-6)
    assert (float(state.loss_scale), int(state.steps_since_overflow)) == (2.0**94, 1)
    assert (values(trainer) != before).all()
    # After 2000 steps without an overflow it grows again.
    state.steps_since_overflow.assign(1999)
    train(trainer, 1)
    assert (float(state.loss_scale), int(state.steps_since_overflow)) == (2.0**95, 0)


@pytest.mark.parametrize("loss_scaling", [False, True])
@pytest.mark.parametrize(
    ("inputs", "step"), [([1.0, np.nan], 2), ([np.inf, 1.0], 1), ([1.0, 1.0, 1e30], 3)]
)
def test_what_is_not_finite_stops_the_run_and_names_the_step(inputs, step, loss_scaling):
    # The last one has a loss within float32, but a norm beyond.
    trainer = linear_trainer(
        np.tile(np.reshape(inputs, [-1, 1, 1]), [1, 2, 2]), loss_scaling=loss_scaling
    )
    trainer.state.loss_scale.assign(1.0)
    assert_refused(lambda: train(trainer, 6, 6), f"not finite at step {step}:", "--learning_rate")


def test_the_share_of_time_waiting_for_input_is_measured():
    seconds = 0.03
    trainer = linear_trainer(np.ones([1, 2, 2]), delay=seconds)
    train(trainer, 1)
    waited = train(trainer, 10, 10)[0]["input_wait_share"] * trainer.seconds
    # Every step waits the whole time, but for a batch or two that may be fetched between the loops.
    assert 8 * seconds <= waited <= trainer.seconds


def compiled_constants(seed: int, learning_rate: float) -> list[list[bytes]]:
    """Of the two functions that XLA compiles: the constants in their graphs."""
    trainer = linear_trainer(np.ones([1, 1, 2]), learning_rate, seed=seed)
    trainer.run(1)
    step = trainer._training_step
    graphs = [
        function.graph.as_graph_def()
        for traced in (step._compute_gradients, step._apply_gradients)
        for function in traced._list_all_concrete_functions()
    ]
    return [
        sorted(
            node.attr["value"].tensor.SerializeToString()
            for nodes in (graph.node, *(function.node_def for function in graph.library.function))
            for node in nodes
            if node.op == "Const"
        )
        for graph in graphs
    ]


def test_runs_with_another_seed_or_learning_rate_compile_the_same_program():
    first, second = compiled_constants(1, 1e-3), compiled_constants(2, 5e-4)
    assert first == second and len(first) == 2 and all(first)


@pytest.mark.golden
def test_the_decayed_variables_of_the_original(golden):
    expected = json.loads((golden / "optimizer/weight_decay_lists.json").read_text())["pretraining"]
    optimizer = AdamWeightDecay(raw_variables(golden_model(golden)))
    decayed, undecayed = (
        [
            name
            for name, is_decayed in zip(
                optimizer.names, map(bool, optimizer.decay_rates), strict=True
            )
            if is_decayed is wanted
        ]
        for wanted in (True, False)
    )
    assert (len(decayed), len(undecayed)) == (24, 38)
    assert sorted(decayed) == sorted(expected["decayed"])
    assert sorted(undecayed) == sorted(expected["not_decayed"])


@pytest.mark.parametrize("bias_correction", [False, True])
def test_against_adamw_in_numpy(bias_correction):
    rng = np.random.default_rng(0)
    weights = {"a/kernel": rng.normal(size=(4, 3)), "a/bias": rng.normal(size=3)}
    variables = {name: tf.Variable(value, dtype=tf.float32) for name, value in weights.items()}
    optimizer = AdamWeightDecay(variables, bias_correction=bias_correction)
    m = {name: np.zeros_like(value) for name, value in weights.items()}
    v = {name: np.zeros_like(value) for name, value in weights.items()}
    for step in range(6):
        # Norms below and above the clipping.
        gradients = {
            name: rng.normal(size=value.shape) * 10.0 ** (step - 3)
            for name, value in weights.items()
        }
        norm = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values()))
        found = optimizer.update(
            [tf.constant(gradient, tf.float32) for gradient in gradients.values()],
            tf.constant(0.1),
            tf.constant(step, tf.int64),
        )
        assert float(found) == pytest.approx(norm, rel=1e-6)
        for name in weights:
            gradient = gradients[name] / max(norm, 1.0)
            m[name] = 0.9 * m[name] + 0.1 * gradient
            v[name] = 0.999 * v[name] + 0.001 * gradient**2
            corrections = (
                (1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)) if bias_correction else (1, 1)
            )
            change = m[name] / corrections[0] / (np.sqrt(v[name] / corrections[1]) + 1e-6)
            weights[name] = weights[name] - 0.1 * (
                change + (0.01 * weights[name] if name == "a/kernel" else 0)
            )
            np.testing.assert_allclose(variables[name].numpy(), weights[name], rtol=1e-4, atol=1e-6)


def test_learning_rates_that_fall_from_layer_to_layer():
    names = [
        "bert/embeddings/word_embeddings",
        "bert/encoder/layer_0/output/dense/bias",
        "bert/encoder/layer_11/output/dense/bias",
        "bert/pooler/dense/kernel",
        "cls/tagging/output_weights",
    ]
    assert layerwise_factors(names, 0.5) == [0.5**13, 0.5**12, 0.5, 1.0, 1.0]
    assert layerwise_factors(names, 1.0) == [1.0] * 5
    variables = {name: tf.Variable([2.0]) for name in names}
    optimizer = AdamWeightDecay(variables, rate_factors=layerwise_factors(names, 0.5))
    plain = AdamWeightDecay({name: tf.Variable([2.0]) for name in names})
    for one in (optimizer, plain):
        one.update([tf.constant([0.1])] * 5, tf.constant(0.1), tf.constant(0, tf.int64))
    for factor, changed, expected in zip(
        optimizer.rate_factors, optimizer.variables, plain.variables, strict=True
    ):
        assert 2.0 - float(changed[0]) == pytest.approx(
            factor * (2.0 - float(expected[0])), abs=1e-6
        )


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.60466, 0.85437)])
@pytest.mark.parametrize("decay", [0.01, 0.0])
def test_twenty_steps_of_lamb_against_numpy_in_float64(betas, decay):
    rng = np.random.default_rng(0)
    shapes = {
        "bert/embeddings/word_embeddings": (300, 64),
        "bert/encoder/layer_0/output/dense/kernel": (64, 32),
        "bert/encoder/layer_0/output/dense/bias": (32,),
        "bert/encoder/layer_0/output/LayerNorm/gamma": (32,),
        # Weights that begin at 0 have no length.
        "cls/output_weights": (3, 32),
    }
    start = {name: rng.normal(0, 0.02, shape) for name, shape in shapes.items()}
    start["bert/encoder/layer_0/output/LayerNorm/gamma"][:] = 1
    start["cls/output_weights"][:] = 0
    start = {name: value.astype(np.float32) for name, value in start.items()}
    gradients = []
    for step in range(20):
        scale = 10.0 ** (step % 4 - 2)
        gradients.append({n: rng.normal(0, scale, s).astype(np.float32) for n, s in shapes.items()})
    rates = [0.01 * (step + 1) / 20 for step in range(20)]
    variables = {name: tf.Variable(value) for name, value in start.items()}
    optimizer = Lamb(variables, betas=betas, weight_decay_rate=decay)
    for step in range(20):
        optimizer.update(
            [tf.constant(value) for value in gradients[step].values()],
            tf.constant(rates[step]),
            tf.constant(step, tf.int64),
        )
    for name, value in lamb_in_float64(start, gradients, rates, betas, decay).items():
        difference = np.abs(variables[name].numpy() - value).max() / np.abs(value).max()
        assert difference < 1e-6, name


def test_lamb_skips_a_step_that_is_not_finite():
    variables = {"kernel": tf.Variable([1.0, 2.0])}
    optimizer = Lamb(variables)
    gradient = tf.constant([np.nan, 1.0])
    optimizer.update([gradient], tf.constant(0.1), tf.constant(0, tf.int64), skip_non_finite=True)
    assert variables["kernel"].numpy().tolist() == [1.0, 2.0]
    for slot in optimizer.slots().values():
        assert slot["kernel"].numpy().tolist() == [0.0, 0.0]
