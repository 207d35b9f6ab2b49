"""What every layer and model of a Keras 3 library can do, checked alike for all of them."""

import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling import fine_tuning
from modeling.attention import SelfAttention
from modeling.dropout import Dropout
from modeling.encoder import BertEncoder, Embeddings, EncoderLayer
from modeling.layers import Dense, LayerNorm
from modeling.pretraining import BertForPreTraining, MaskedLmHead, NextSentenceHead
from modeling.sentence_embedding import BertForSentenceEmbedding
from tests.modeling.common import SMALL, random_features

BATCH, LENGTH, CHOICES = 3, 8, 4
FEATURES = random_features(SMALL, BATCH, LENGTH, predictions=2)
IDS = {name: FEATURES[name] for name in ("input_ids", "input_mask", "segment_ids")}
HIDDEN = np.random.default_rng(0).normal(size=(BATCH, LENGTH, SMALL.hidden_size)).astype(np.float32)

# Name → (policy → model, features it reads).
MODELS = {
    "encoder": (lambda **options: BertEncoder(SMALL, seed=1, **options), IDS),
    "pretraining": (
        lambda **options: BertForPreTraining(SMALL, seed=1, **options),
        {**IDS, "masked_lm_positions": FEATURES["masked_lm_positions"]},
    ),
    "classification": (
        lambda **options: fine_tuning.BertForClassification(SMALL, 3, seed=1, **options),
        IDS,
    ),
    "question_answering": (
        lambda **options: fine_tuning.BertForQuestionAnswering(SMALL, seed=1, **options),
        IDS,
    ),
    "multiple_choice": (
        lambda **options: fine_tuning.BertForMultipleChoice(SMALL, seed=1, **options),
        {name: np.stack([value] * CHOICES, axis=1) for name, value in IDS.items()},
    ),
    "sentence_embedding": (
        lambda **options: BertForSentenceEmbedding(SMALL, seed=1, **options),
        IDS,
    ),
    "token_classification": (
        lambda **options: fine_tuning.BertForTokenClassification(SMALL, 5, seed=1, **options),
        IDS,
    ),
}
TASKS = [name for name in MODELS if name != "encoder"]
# Layer → what it is called on.
LAYERS = {
    "dense": (
        lambda **options: Dense(
            7, kernel_initializer=keras.initializers.GlorotUniform(seed=1), **options
        ),
        (HIDDEN,),
    ),
    "layer_norm": (lambda **options: LayerNorm(1e-6, **options), (HIDDEN,)),
    "dropout": (lambda **options: Dropout(0.1, 3, seed=2, **options), (HIDDEN,)),
    "embeddings": (
        lambda **options: Embeddings(SMALL, seed=2, **options),
        (IDS["input_ids"], IDS["segment_ids"]),
    ),
    "attention": (lambda **options: SelfAttention(SMALL, 1, seed=2, **options), (HIDDEN,)),
    "encoder_layer": (lambda **options: EncoderLayer(SMALL, 1, seed=2, **options), (HIDDEN,)),
    "masked_lm": (
        lambda **options: MaskedLmHead(SMALL, seed=2, **options),
        (
            HIDDEN,
            FEATURES["masked_lm_positions"],
            np.ones((SMALL.vocab_size, SMALL.hidden_size), np.float32),
        ),
    ),
    "next_sentence": (
        lambda **options: NextSentenceHead(SMALL, seed=2, **options),
        (HIDDEN[:, 0],),
    ),
    "classifier": (
        lambda **options: fine_tuning.ClassificationHead(SMALL, 3, seed=2, **options),
        (HIDDEN[:, 0],),
    ),
}


def randomized(model):
    """The model with weights of which no two are alike, so that none can be mistaken for
    another."""
    rng = np.random.default_rng(7)
    for variable in model.weights:
        variable.assign(variable.numpy() + 0.1 * rng.normal(size=variable.shape).astype(np.float32))
    return model


def flat(outputs) -> list[np.ndarray]:
    return [
        keras.ops.convert_to_numpy(keras.ops.cast(value, "float32"))
        for value in keras.tree.flatten(outputs)
    ]


def assert_same(found, expected):
    """The same outputs, bit for bit."""
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_made_again_from_its_configuration(name):
    make, inputs = LAYERS[name]
    layer = make()
    config = layer.get_config()
    again = type(layer).from_config(json.loads(json.dumps(config)))
    assert again.get_config() == config
    assert_same(again(*inputs), layer(*inputs))
    restored = keras.saving.deserialize_keras_object(
        json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    )
    assert type(restored) is type(layer) and restored.get_config() == config


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_made_again_from_its_configuration(name):
    make, features = MODELS[name]
    model = make(dtype="mixed_bfloat16")
    config = model.get_config()
    again = type(model).from_config(json.loads(json.dumps(config)))
    assert again.get_config() == config
    # The same seed: the same weights.
    assert_same(again(features), model(features))


@keras.saving.register_keras_serializable("tests")
class TwoLayers(fine_tuning.BertForClassification):
    """A model of a user's with a layer of its own."""

    def build(self, *args, **kwargs):
        self.second = keras.layers.Dense(2, name="second")
        self.second.build((None, self.classes))
        super().build(*args, **kwargs)

    def call(self, features, **kwargs):
        return self.second(super().call(features, **kwargs))


def test_a_subclass_has_layers_of_its_own_and_is_saved(tmp_path):
    model = TwoLayers(SMALL, 3)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = model.second.kernel.numpy()
    model.fit(IDS, np.arange(BATCH) % 2, verbose=0)
    assert np.abs(model.second.kernel.numpy() - before).min() > 0
    path = str(tmp_path / "model.keras")
    model.save(path)
    np.testing.assert_array_equal(keras.models.load_model(path)(IDS), model(IDS))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_saved_and_loaded_bit_for_bit(name, tmp_path):
    make, features = MODELS[name]
    model, other = randomized(make()), make()
    expected = model(features)
    # A checkpoint of TensorFlow holds every weight.
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "ckpt"))
    saved = [
        key
        for key, _ in tf.train.list_variables(path)
        if not key.startswith("_") and "seed_generator" not in key
    ]
    assert len(saved) == len(model.weights)
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    assert_same(other(features), expected)
    if name == "encoder":
        inputs = {key: keras.Input((None,), dtype="int32", name=key) for key in features}
        model = keras.Model(inputs, model(inputs))
    path = str(tmp_path / "model.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    assert_same(loaded(features), expected)
    assert len(loaded.weights) == len(model.weights)
    weights = str(tmp_path / "model.weights.h5")
    model.save_weights(weights)
    other = keras.models.clone_model(model)
    assert not np.array_equal(flat(other(features))[0], flat(expected)[0])
    other.load_weights(weights)
    assert_same(other(features), expected)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_keeps_weights_and_logits_in_float32(name, policy):
    make, features = MODELS[name]
    exact, mixed = make(), make(dtype=policy)
    assert {variable.dtype for variable in mixed.weights} == {"float32"}
    outputs = mixed(features)
    if name != "encoder":
        logits = (
            [value for key, value in outputs.items() if key.endswith("logits")]
            if name == "pretraining"
            else outputs
        )
        assert {value.dtype for value in keras.tree.flatten(logits)} == {tf.float32}
    for found, expected in zip(flat(outputs), flat(exact(features)), strict=True):
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=0.15 if policy == "mixed_float16" else 0.6
        )
    try:
        keras.config.set_dtype_policy(policy)
        assert_same(make()(features), outputs)
    finally:
        keras.config.set_dtype_policy("float32")
    with pytest.raises(UserError, match="'bfloat16'"):
        make(dtype="bfloat16")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_the_type_of_keras_json_changes_no_model(name, floatx):
    make, features = MODELS[name]
    if name == "multiple_choice":
        features = {**features, "num_choices": np.array([2, 4, 3])}
    for policy in (None, "float32", "mixed_bfloat16"):
        expected = make(dtype=policy)(features)
        try:
            keras.config.set_floatx(floatx)
            assert_same(make(dtype=policy)(features), expected)
        finally:
            keras.config.set_floatx("float32")


@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_the_type_of_keras_json_changes_no_training(floatx):
    trained = []
    for type_of_numbers in ("float32", floatx):
        try:
            keras.config.set_floatx(type_of_numbers)
            model = fine_tuning.BertForClassification(SMALL, 3, seed=1, dtype="float32")
            # Keras keeps learning rates in that type: this one has no digits to lose.
            model.compile(keras.optimizers.SGD(2.0**-4))
            losses = model.fit(IDS, np.arange(BATCH), shuffle=False, verbose=0).history["loss"]
        finally:
            keras.config.set_floatx("float32")
        trained.append((losses, model.get_weights()))
    for found, expected in zip(*(flat(run) for run in trained), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_called_on_symbols_of_unknown_size(name):
    make, features = MODELS[name]
    model = make()
    inputs = {
        key: keras.Input((CHOICES, None) if value.ndim == 3 else (None,), dtype="int32", name=key)
        for key, value in features.items()
    }
    functional = keras.Model(inputs, model(inputs))
    for rows in (slice(0, 1), slice(0, BATCH)):
        part = {key: value[rows] for key, value in features.items()}
        for found, expected in zip(flat(functional(part)), flat(model(part)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", TASKS)
def test_keras_exports_a_model_that_no_layer_is_called_around(name, tmp_path):
    make, features = MODELS[name]
    model = make()
    model.export(str(tmp_path / "export"), "tf_saved_model", False, None)
    served = tf.saved_model.load(str(tmp_path / "export"))
    for rows in (slice(0, 1), slice(0, BATCH)):
        part = {key: value[rows] for key, value in features.items()}
        for found, expected in zip(flat(served.serve(part)), flat(model(part)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def export_litert(model: keras.Model, path: pathlib.Path) -> None:
    try:
        model.export(str(path), format="litert", verbose=False)
    except ValueError as error:
        if "Unrecognized format" not in str(error):
            raise
        pytest.skip("needs a Keras that exports to LiteRT")


@pytest.mark.parametrize("name", TASKS)
def test_keras_exports_every_model_for_litert(name, tmp_path):
    make, features = MODELS[name]
    model = make()
    path = tmp_path / "model.tflite"
    export_litert(model, path)
    assert b"Flex" not in path.read_bytes()


@pytest.mark.parametrize("packed", [False, True])
def test_keras_exports_a_model_for_litert_whose_sizes_are_unknown(packed, tmp_path):
    records = random_features(SMALL, 2, 7, predictions=1)
    features = {name: records[name] for name in ("input_ids", "input_mask", "segment_ids")}
    if packed:
        features["sequence_ids"] = np.int32([[1, 1, 1, 2, 2, 0, 0]] * 2)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in features}
    tags = fine_tuning.BertForTokenClassification(SMALL, 3)(inputs)
    model = keras.Model(inputs, tags)
    path = tmp_path / "model.tflite"
    export_litert(model, path)
    # Operations that LiteRT lacks are "Flex": only an interpreter with TensorFlow runs them.
    assert b"Flex" not in path.read_bytes()
    run = tf.lite.Interpreter(str(path)).get_signature_runner()
    np.testing.assert_allclose(run(**features)["output_0"], model(features), atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_training_drops_out_and_inference_does_not(name):
    make, features = MODELS[name]
    model, same_seed = make(), make()
    expected = flat(model(features))
    assert_same(model(features, training=False), expected)
    first = flat(model(features, training=True))
    assert all((one != other).any() for one, other in zip(first, expected, strict=True))
    assert all(
        (one != other).any()
        for one, other in zip(flat(model(features, training=True)), first, strict=True)
    )
    assert_same(same_seed(features, training=True), first)


def test_names_are_imported_when_they_are_asked_for(project):
    program = (
        "import sys, modeling, modeling.config\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)\n"
        "modeling.BertConfig, modeling.PRESETS\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)\n"
        "from modeling import *\n"
        "print(all(name in globals() for name in modeling.__all__))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=project
    )
    assert done.stdout == "True\n", done.stderr
