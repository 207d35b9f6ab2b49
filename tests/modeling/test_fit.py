import dataclasses
import types
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.tasks.pretraining.task import pretraining_forward, pretraining_loss
from modeling import fine_tuning
from modeling.encoder import BertEncoder, freeze_embeddings, freeze_layers
from modeling.fit import check_compilation, check_optimizer
from modeling.losses import Accuracy, CrossEntropy
from modeling.optimizer import BertAdamW, BertLamb
from modeling.pretraining import BertForCausalLm, BertForPreTraining
from modeling.sentence_embedding import NO_TEXT, BertForSentenceEmbedding
from modeling.xla import is_jit_compiled
from tests.modeling.common import SMALL, random_features

BATCH, LENGTH, CHOICES = 8, 10, 3
# One layer is soon made a graph of.
TINY = dataclasses.replace(SMALL, num_hidden_layers=1)
RNG = np.random.default_rng(3)
FEATURES = {
    **random_features(SMALL, BATCH, LENGTH, predictions=3),
    "start_positions": RNG.integers(0, LENGTH, BATCH).astype(np.int32),
    "end_positions": RNG.integers(0, LENGTH, BATCH).astype(np.int32),
    # The last two rows only fill the batch.
    "is_real_example": (np.arange(BATCH) < BATCH - 2).astype(np.int32),
}
CLASSES = RNG.integers(0, 3, BATCH).astype(np.int32)
TAGS = np.where(RNG.random((BATCH, LENGTH)) < 0.3, -1, RNG.integers(0, 5, (BATCH, LENGTH))).astype(
    np.int32
)
STACKED = {
    name: np.stack([FEATURES[name]] * CHOICES, axis=1)
    for name in ("input_ids", "input_mask", "segment_ids")
}
STACKED["input_ids"] = (STACKED["input_ids"] + np.arange(CHOICES)[:, None]) % SMALL.vocab_size
# The same for the same ids, of the last two rows none.
TEXTS = np.where(
    np.arange(BATCH)[:, None] < BATCH - 2,
    np.arange(BATCH * CHOICES).reshape(BATCH, CHOICES),
    NO_TEXT,
)

LABELS = RNG.integers(0, 2, (BATCH, 4)).astype(np.int32)
# Name → (model, features with labels).
TASKS = {
    "pretraining": (lambda: BertForPreTraining(TINY), FEATURES),
    "causal_lm": (lambda: BertForCausalLm(dataclasses.replace(TINY, causal=True)), FEATURES),
    "classification": (
        lambda: fine_tuning.BertForClassification(TINY, 3),
        {**FEATURES, "label_ids": CLASSES},
    ),
    "regression": (
        lambda: fine_tuning.BertForClassification(TINY, 1),
        {**FEATURES, "label_ids": CLASSES.astype(np.float32)},
    ),
    "multi_label": (
        lambda: fine_tuning.BertForClassification(
            dataclasses.replace(TINY, extra={"problem_type": "multi_label_classification"}), 4
        ),
        {**FEATURES, "label_ids": LABELS},
    ),
    "question_answering": (lambda: fine_tuning.BertForQuestionAnswering(TINY), FEATURES),
    "multiple_choice": (
        lambda: fine_tuning.BertForMultipleChoice(TINY),
        {**FEATURES, **STACKED, "label_ids": CLASSES},
    ),
    "sentence_embedding": (
        lambda: BertForSentenceEmbedding(TINY),
        {**FEATURES, **STACKED, "text_ids": TEXTS},
    ),
    "token_classification": (
        lambda: fine_tuning.BertForTokenClassification(TINY, 5),
        {**FEATURES, "label_ids": TAGS},
    ),
}


def loss_and_outputs(model, features: dict) -> tuple:
    """What our own training loop minimizes and measures, and the outputs that it is of."""
    if isinstance(model, BertForPreTraining):
        return pretraining_loss(model), pretraining_forward(model, features, None)
    return model.head_losses[0], model(features)


def scores_of(model, logits: dict, features: dict) -> dict[str, float]:
    """What an evaluation of the real examples in memory finds."""
    scores = {}
    for loss in model.head_losses:
        shown = np.asarray(loss.weights(features)).astype(bool)
        labels, found = loss.labels(features), logits[loss.name]
        if isinstance(labels, tuple):
            # Answers have no logits that stand in one array: starts and ends are measured at once.
            sides = tuple(np.asarray(side)[shown] for side in found)
            losses, measured = loss.measure(sides, tuple(side[shown] for side in labels))
            sums = {"loss_sum": losses, **measured, "count": np.ones(shown.sum())}
            one = loss.metrics({f"{loss.name}_{key}": np.sum(row) for key, row in sums.items()})
        else:
            one = loss.score(np.asarray(found)[shown], np.asarray(labels)[shown])
        several = len(model.head_losses) > 1
        scores |= {f"{loss.name}_{name}" if several else name: value for name, value in one.items()}
    return (
        scores
        if "loss" in scores
        else {"loss": sum(scores[f"{loss.name}_loss"] for loss in model.head_losses), **scores}
    )


@pytest.mark.parametrize("name", TASKS)
def test_the_training_step_keras_and_evaluations_agree_on_loss_and_metrics(name):
    make, features = TASKS[name]
    model = make()
    loss, outputs = loss_and_outputs(model, features)
    sums = {name: float(value) for name, value in loss.sums(outputs, features).items()}
    for count, value in loss.counts(features).items():
        assert sums[count] == pytest.approx(float(value))
    metrics = loss.metrics(sums)
    assert len(metrics) >= 2
    inputs = model.fit_batch(features)[0]
    outputs = model(inputs)
    logits = model.head_logits(outputs) if isinstance(outputs, dict) else {loss.name: outputs}
    assert scores_of(model, logits, features) == pytest.approx(metrics, rel=2e-6, abs=1e-6)
    model.compile()
    found = model.evaluate(
        tf.data.Dataset.from_tensors(features).map(model.fit_batch), verbose=0, return_dict=True
    )
    assert found["loss"] == pytest.approx(metrics["loss"], rel=2e-6)
    same = set(found) & set(metrics)
    assert "loss" in same and (
        len(same) > 1 or name in ("multi_label", "question_answering", "sentence_embedding")
    )
    for metric in same:
        assert found[metric] == pytest.approx(metrics[metric], rel=2e-6, abs=1e-6), metric


@pytest.mark.parametrize("name", TASKS)
def test_fit_lowers_the_loss_of_our_own_loop(name, tmp_path):
    make, features = TASKS[name]
    model = make()
    model.compile(BertAdamW(1e-2))
    dataset = tf.data.Dataset.from_tensors(features).map(model.fit_batch)
    before = model.evaluate(dataset, verbose=0, return_dict=True)
    model.fit(dataset, epochs=12, verbose=0)
    after = model.evaluate(dataset, verbose=0, return_dict=True)
    assert after["loss"] < 0.9 * before["loss"]
    # A file keeps losses, metrics and the state of the optimizer.
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.evaluate(dataset, verbose=0, return_dict=True) == pytest.approx(after, rel=1e-6)
    assert isinstance(loaded.optimizer, BertAdamW)
    for found, expected in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["token_classification", "question_answering"])
def test_a_pooler_that_is_not_read_is_no_reason_to_warn(name):
    make_model, features = TASKS[name]
    model = make_model()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.compile()
        model.fit(tf.data.Dataset.from_tensors(model.fit_batch(features)), verbose=0)
    assert not [str(one.message) for one in caught if "Gradients do not exist" in str(one.message)]


def test_keras_own_losses_and_train_on_batch_work_too():
    model = fine_tuning.BertForClassification(TINY, 3)
    model.compile(
        "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
    )
    ids = FEATURES["input_ids"]
    first = model.train_on_batch(ids, CLASSES, return_dict=True)
    assert set(first) == {"loss", "accuracy"}
    assert model.fit([ids, FEATURES["input_mask"]], CLASSES, verbose=0).history["loss"][0] > 0
    assert model.predict(ids, verbose=0).shape == (BATCH, 3)
    np.testing.assert_allclose(model.predict(ids, verbose=0), model(ids), atol=1e-5)


def test_callbacks_know_that_a_higher_accuracy_is_better():
    model = fine_tuning.BertForTokenClassification(TINY, 3)
    model.compile()
    ids = FEATURES["input_ids"]
    stopping = keras.callbacks.EarlyStopping("val_accuracy")
    tags = np.zeros_like(ids)
    model.fit(ids, tags, validation_data=(ids, tags), callbacks=[stopping], verbose=0)
    assert stopping.monitor_op(1.0, 0.0)


def test_a_word_that_repeats_moves_as_far_as_another_under_keras_own_adam():
    model = fine_tuning.BertForQuestionAnswering(TINY)
    table = model.encoder.embeddings.word_embeddings
    before = table.numpy()
    model.compile(keras.optimizers.Adam(1.0))
    words = np.array([[5] * 7 + [6, 7]])
    features = {"input_ids": words, "position_ids": np.arange(9)[None]}
    model.train_on_batch(features, (np.array([1]), np.array([8])))
    # The first step of Adam is as long as its rate.
    moved = np.median(np.abs(table.numpy() - before), axis=1)
    np.testing.assert_allclose(moved[4:9], [0, 1, 1, 1, 0], atol=0.01)


def test_losses_and_accuracies_of_both_ends_of_an_answer_are_named_alike():
    model = fine_tuning.BertForQuestionAnswering(TINY)
    model.compile()
    ends = (CLASSES, CLASSES + 1)
    results = model.train_on_batch(FEATURES["input_ids"], ends, return_dict=True)
    assert set(results) == {"loss", "start_loss", "end_loss", "start_accuracy", "end_accuracy"}
    assert results["loss"] == pytest.approx((results["start_loss"] + results["end_loss"]) / 2)


def test_cross_entropy_and_accuracy_ignore_negative_labels_and_divide_by_the_weights():
    logits = RNG.normal(size=(2, 4, 5)).astype(np.float32)
    labels = np.array([[0, 1, -1, 4], [2, -100, 3, 3]])
    weights = np.array([1.0, 0.5])
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    known = (labels >= 0) * weights[:, None]
    losses = -np.take_along_axis(log_probabilities, np.maximum(labels, 0)[..., None], -1)[..., 0]
    assert float(CrossEntropy()(labels, logits, weights)) == pytest.approx(
        (known * losses).sum() / known.sum(), rel=1e-5
    )
    assert float(CrossEntropy()(labels, logits)) == pytest.approx(
        losses[labels >= 0].mean(), rel=1e-5
    )
    assert float(CrossEntropy()(np.full((2, 4), -1), logits)) == 0
    accuracy = Accuracy()
    accuracy.update_state(labels, logits, weights)
    correct = logits.argmax(-1) == labels
    assert float(accuracy.result()) == pytest.approx(
        (known * correct).sum() / known.sum(), rel=1e-6
    )
    # A column of labels is as good as a row.
    assert float(CrossEntropy()(np.array([[1], [2]]), logits[:, 0])) == pytest.approx(
        float(CrossEntropy()(np.array([1, 2]), logits[:, 0]))
    )


def test_layer_norms_and_biases_are_not_decayed():
    model = BertForPreTraining(SMALL)
    variables = model.trainable_variables
    for variable in variables:
        variable.assign(variable + 1.0)
    before = {variable.path: variable.numpy() for variable in variables}
    optimizer = BertAdamW(learning_rate=0.5, weight_decay=0.1)
    optimizer.build(variables)
    # Without a gradient only the decay changes anything.
    optimizer.apply([np.zeros(variable.shape, np.float32) for variable in variables])
    for variable in variables:
        decayed = variable.path.endswith(("kernel", "_embeddings", "output_weights"))
        assert decayed != variable.path.endswith(("bias", "gamma", "beta"))
        np.testing.assert_allclose(
            variable.numpy(),
            before[variable.path] * (1 - 0.5 * 0.1 * decayed),
            rtol=1e-5,
            err_msg=variable.path,
        )
    # What is excluded is part of the configuration, so it survives saving.
    again = BertAdamW.from_config(BertAdamW(exclude_from_weight_decay=["gamma"]).get_config())
    assert again.not_decayed == ("gamma",)
    assert (again.epsilon, again.global_clipnorm, again.weight_decay) == (1e-6, 1.0, 0.01)


def train(model) -> set[str]:
    """Names of the weights that a few steps of `fit` change."""
    before = {variable.path: variable.numpy() for variable in model.weights}
    # Step by step: a graph for each of these models would take longer than they do.
    model.compile(BertAdamW(1e-2), run_eagerly=True)
    for _ in range(2):
        model.train_on_batch(FEATURES["input_ids"], CLASSES)
    return {
        variable.path
        for variable in model.weights
        if (variable.numpy() != before[variable.path]).any()
    }


def test_frozen_weights_keep_their_bits():
    model = fine_tuning.BertForClassification(SMALL, 3)
    freeze_layers(model, 1)
    freeze_embeddings(model)
    frozen = {variable.path for variable in model.weights if not variable.trainable}
    assert frozen == {
        variable.path
        for layer in (model.encoder.embeddings, model.encoder.layers[0])
        for variable in layer.weights
    }
    changed = train(model)
    assert not changed & frozen
    assert {path for path in changed if "layer_1/" in path} and {
        path for path in changed if "classifier" in path
    }
    with pytest.raises(UserError, match="3 layers"):
        freeze_layers(model, 3)


@pytest.mark.parametrize("thaw", ["model", "encoder", "layer", "lora"])
def test_frozen_parts_train_again(thaw):
    """Also where the whole is called trainable already."""
    model = fine_tuning.BertForClassification(SMALL, 3)
    layer = model.encoder.layers[0]
    layer.attention.trainable = False
    if thaw in ("model", "encoder"):
        freeze_layers(model, 1)
    if thaw == "lora":
        model.encoder.enable_lora(2, layers=("query",))
        trained = {variable.path for variable in model.trainable_variables}
        # What LoRA keeps stays frozen.
        parts = (model.encoder.embeddings, layer, layer.attention, model.encoder, model)
        for part in parts:
            for value in (True, False, True):
                part.trainable = value
        assert {variable.path for variable in model.trainable_variables} == trained
        assert len(trained) == 2 * SMALL.num_hidden_layers + 2
    else:
        {"model": model, "encoder": model.encoder, "layer": layer}[thaw].trainable = True
        assert len(model.trainable_variables) == len(model.weights)
    changed = train(model)
    assert any("layer_0/attention/query" in path for path in changed)


def test_parts_of_keras_own_layers_train_again():
    config = dataclasses.replace(SMALL, bilstm_units=3)
    model = fine_tuning.BertForTokenClassification(config, 3)
    count = len(model.trainable_variables)
    for part in (model.bilstm, *model.bilstm._flatten_layers()):
        part.trainable = False
    assert len(model.trainable_variables) < count
    model.trainable = True
    assert len(model.trainable_variables) == count


def test_a_class_of_the_users_has_its_own_trainable():
    class Recorded(fine_tuning.BertForClassification):
        @property
        def trainable(self):
            return super().trainable

        @trainable.setter
        def trainable(self, value):
            assigned.append(value)
            fine_tuning.BertForClassification.trainable.fset(self, value)

    assigned: list[bool] = []
    model = Recorded(SMALL, 3)
    model.trainable = False
    assert assigned[-1] is False and not model.trainable_variables


@pytest.mark.parametrize("when", ["constructor", "later"])
def test_the_whole_encoder_may_be_frozen_and_thawed(when):
    model = fine_tuning.BertForClassification(
        SMALL, 3, encoder=BertEncoder(SMALL, trainable=when == "later")
    )
    model.encoder.trainable = False
    assert len(model.trainable_variables) == 2
    assert train(model) == {variable.path for variable in model.classifier.weights}
    model.encoder.trainable = True
    assert all(variable.trainable for variable in model.weights)
    assert len(train(model)) > 30


def test_what_is_frozen_between_two_calls_of_fit_keeps_its_bits():
    model = fine_tuning.BertForClassification(TINY, 3)
    model.compile(BertAdamW(0.1))
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    before = [variable.numpy() for variable in model.encoder.weights]
    model.encoder.trainable = False
    head = model.classifier.output_weights.numpy()
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    for variable, value in zip(model.encoder.weights, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert not np.array_equal(model.classifier.output_weights, head)
    # An optimizer knows the weights that it was compiled for.
    model.encoder.enable_lora(2)
    # Keras 3.12 ends before it has its message.
    with pytest.raises((ValueError, NotImplementedError), match="Unknown variable|numpy"):
        model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    model.compile(BertAdamW(0.1))
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    assert np.any(model.encoder.layers[0].attention.query.lora_kernel_b)


def test_a_model_that_was_frozen_after_its_first_step_trains_on_from_its_file(tmp_path):
    model = fine_tuning.BertForClassification(TINY, 3)
    model.compile(BertAdamW(0.1))
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    freeze_layers(model, 1)
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, loaded):
        each.fit(FEATURES["input_ids"], CLASSES, shuffle=False, verbose=0)
    for weight, expected in zip(loaded.weights, model.weights, strict=True):
        np.testing.assert_array_equal(weight, expected)


def thaw(model):
    model.encoder.trainable = True


def add_lora(model):
    model.encoder.enable_lora(2)


@pytest.mark.parametrize("change", [thaw, add_lora])
def test_a_model_that_trains_more_than_before_trains_on_from_its_file(change, tmp_path):
    model = fine_tuning.BertForClassification(TINY, 3)
    model.encoder.trainable = False
    model.compile("adam")
    model.fit(FEATURES["input_ids"], CLASSES, verbose=0)
    change(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    losses = loaded.fit(FEATURES["input_ids"], CLASSES, verbose=0).history["loss"]
    assert np.isfinite(losses).all()


def test_means_of_weights_stay_their_own_where_others_are_frozen():
    ids = FEATURES["input_ids"]
    model = fine_tuning.BertForClassification(TINY, 3)
    # Nothing moves: the means are the weights.
    model.compile(BertAdamW(0.0, use_ema=True))
    model.fit(ids, CLASSES, verbose=0)
    before = {variable.path: variable.numpy() for variable in model.weights}
    freeze_embeddings(model)
    model.fit(ids, CLASSES, verbose=0)
    for variable in model.weights:
        np.testing.assert_allclose(variable, before[variable.path], rtol=1e-6)


@pytest.mark.parametrize("layers", [("query", "value"), "all"])
def test_lora_trains_its_own_weights_and_the_head_only(layers, tmp_path):
    model = fine_tuning.BertForClassification(SMALL, 3, seed=4)
    expected = model(FEATURES)
    query = model.encoder.layers[1].attention.query
    kernel, weights = query.kernel.numpy(), len(model.weights)
    model.encoder.enable_lora(2, lora_alpha=4.0, layers=layers)
    # Nothing changes by enabling it: one of the two matrices starts from 0.
    np.testing.assert_array_equal(model(FEATURES), expected)
    count = 2 * SMALL.num_hidden_layers * (2 if layers != "all" else 6)
    assert len(model.weights) == weights + count
    trained = {variable.path for variable in model.trainable_variables}
    assert len(trained) == count + 2
    assert train(model) == trained
    a, b = query.lora_kernel_a.numpy(), query.lora_kernel_b.numpy()
    np.testing.assert_allclose(query.kernel, kernel + 4.0 / 2 * a @ b, atol=1e-6)
    # A .keras file goes on where it was saved: the update is there, and apart from the kernel.
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(FEATURES), model(FEATURES))
    assert {variable.path for variable in loaded.trainable_variables} == trained
    np.testing.assert_array_equal(loaded.encoder.layers[1].attention.query.lora_kernel_b, b)
    assert train(loaded) == trained
    # Checkpoints of all formats have the merged kernels and no other weights.
    model.save_checkpoint(str(tmp_path / "merged"))
    plain = fine_tuning.BertForClassification.from_checkpoint(str(tmp_path / "merged"))
    assert plain.encoder.lora is None and len(plain.weights) == weights
    np.testing.assert_allclose(plain(FEATURES), model(FEATURES), atol=1e-5)
    with pytest.raises(ValueError, match="lora is already enabled"):
        model.encoder.enable_lora(2)


def test_weights_with_lora_can_be_loaded_merged(tmp_path):
    model = fine_tuning.BertForClassification(SMALL, 3)
    model.encoder.enable_lora(2)
    train(model)
    model.save_weights(tmp_path / "lora.weights.h5")
    plain = fine_tuning.BertForClassification(SMALL, 3)
    plain.load_weights(tmp_path / "lora.weights.h5")
    np.testing.assert_allclose(plain(FEATURES), model(FEATURES), atol=1e-5)
    with pytest.raises(UserError, match="layers='pooler'"):
        plain.encoder.enable_lora(2, layers=("pooler",))


@pytest.mark.parametrize(
    ("jit_compile", "steps", "message"), [(True, 1, "jit_compile=True"), (False, 4, "execution=4")]
)
def test_what_fails_on_several_devices_is_refused(jit_compile, steps, message):
    strategy = types.SimpleNamespace(num_replicas_in_sync=2)
    model = types.SimpleNamespace(
        distribute_strategy=strategy, jit_compile=jit_compile, steps_per_execution=steps
    )
    with pytest.raises(UserError, match=message):
        check_compilation(model)
    strategy.num_replicas_in_sync = 1
    check_compilation(model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clipnorm": 1.0}, "clipnorm=1.0: Adam"),
        ({"global_clipnorm": 1.0}, "global_clipnorm=1.0"),
        ({"clipvalue": 1.0}, "clipvalue=1.0"),
        ({"gradient_accumulation_steps": 2}, "gradient_accumulation_steps"),
        ({"use_ema": True, "ema_overwrite_frequency": 3}, "ema_overwrite_frequency=3"),
    ],
)
def test_optimizers_that_several_devices_change_are_refused(changes, message):
    model = types.SimpleNamespace(
        distribute_strategy=types.SimpleNamespace(num_replicas_in_sync=2),
        optimizer=keras.optimizers.Adam(**changes),
    )
    with pytest.raises(UserError, match=message):
        check_optimizer(model)
    # Ours clip the sum, and the end of `fit` replaces weights by their means.
    model.optimizer = BertAdamW(1e-3, global_clipnorm=1.0, use_ema=True)
    check_optimizer(model)


def test_no_call_of_keras_waits_for_the_thread_that_tunes_a_dataset(monkeypatch):
    tuned = []
    strategy = tf.distribute.get_strategy()

    def distribute(dataset, options=None):
        tuned.append(dataset.options().autotune.enabled)
        return dataset

    monkeypatch.setattr(strategy, "experimental_distribute_dataset", distribute)
    model = fine_tuning.BertForClassification(TINY, 3)
    model.compile()
    dataset = tf.data.Dataset.from_tensors(model.fit_batch(TASKS["classification"][1]))
    x, y = next(iter(dataset))[:2]
    model.fit(x, y, validation_data=dataset, verbose=0)
    model.evaluate(x, y, verbose=0)
    model.predict(x, verbose=0)
    assert tuned == [False] * 4
    # Those who ask for it get it.
    options = tf.data.Options()
    options.autotune.enabled = True
    model.predict(dataset.map(lambda x, *labels: x).with_options(options), verbose=0)
    assert tuned[-1] is True
    # A strategy of the user's gets its datasets as they are.
    mirrored = tf.distribute.MirroredStrategy(["/cpu:0"])
    with mirrored.scope():
        placed = fine_tuning.BertForClassification(TINY, 3)
    assert placed.distribute_strategy is mirrored


@pytest.mark.parametrize("optimizer", [BertAdamW, BertLamb])
def test_the_end_of_a_dataset_of_unknown_size_is_no_step(optimizer):
    # Keras runs a step there, which fails: whatever in it does not wait for the batch is done.
    rate = keras.optimizers.schedules.PolynomialDecay(1e-2, 9, 0.0)
    results = []
    for has_size in (True, False):
        make, features = TASKS["classification"]
        model = make()
        assert model.encoder.config.hidden_dropout_prob > 0
        model.compile(optimizer(rate))
        dataset = tf.data.Dataset.from_tensors(features).map(model.fit_batch).repeat(3)
        if not has_size:
            dataset = dataset.filter(lambda *batch: True)
        model.fit(dataset, epochs=3, verbose=0)
        assert model.optimizer.iterations == 9
        results.append([variable.numpy() for variable in model.variables])
    for known, unknown in zip(*results, strict=True):
        np.testing.assert_array_equal(unknown, known)


def test_questions_of_different_numbers_of_choices_under_xla():
    rows, choices = STACKED["input_ids"].shape[:2]
    features = {**STACKED, "num_choices": 1 + np.arange(rows, dtype=np.int32) % choices}
    inputs = {}
    for name, value in features.items():
        inputs[name] = keras.Input(value.shape[1:], dtype="int32", name=name)
    weights = []
    for jit_compile, is_wrapped in ((False, False), (True, False), (True, True)):
        # XLA computes missing choices, and drops units of the others as without it.
        model = fine_tuning.BertForMultipleChoice(TINY)
        # In a model of another class they are left out by sizes that XLA does not know.
        trained = keras.Model(inputs, model(inputs)) if is_wrapped else model
        trained.compile(keras.optimizers.SGD(0.1), CrossEntropy(), jit_compile=jit_compile)
        trained.fit(features, np.zeros(rows, np.int32), epochs=2, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for plain, *compiled in zip(*weights, strict=True):
        np.testing.assert_allclose(compiled, [plain, plain], rtol=0, atol=2e-5)


def test_a_step_that_keras_compiles_has_the_forms_for_xla():
    is_compiled = []

    class Noting(BertForPreTraining):
        def call(self, *args, **kwargs):
            is_compiled.append(is_jit_compiled())
            return super().call(*args, **kwargs)

    weights = []
    for jit_compile in (False, True):
        is_compiled.clear()
        model = Noting(TINY)
        model.compile(jit_compile=jit_compile)
        batch = tf.data.Dataset.from_tensors(FEATURES).map(model.fit_batch)
        model.fit(batch, epochs=2, verbose=0)
        assert set(is_compiled) == {jit_compile}
        weights.append(model.get_weights())
    for plain, compiled in zip(*weights, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=2e-5)


@pytest.mark.parametrize("file", ["model.keras", "model.weights.h5"])
def test_a_model_that_is_loaded_goes_on_with_its_dropout(file, tmp_path):
    x, y = FEATURES["input_ids"], CLASSES

    def make(seed=0):
        model = fine_tuning.BertForClassification(TINY, 3, seed=seed)
        model.compile(keras.optimizers.SGD(0.1))
        return model

    expected = make()
    expected.fit(x, y, batch_size=4, shuffle=False, epochs=2, verbose=0)
    model = make()
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    if file == "model.keras":
        loaded = keras.models.load_model(tmp_path / file)
    else:
        loaded = make()
        loaded.load_weights(tmp_path / file)
        # Another seed has other masks.
        other = make(seed=1)
        other.load_weights(tmp_path / file)
        assert not np.array_equal(other(x, training=True), model(x, training=True))
    loaded.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    for value, expected_value in zip(loaded.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected_value)
