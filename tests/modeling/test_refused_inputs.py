"""What users of Keras, KerasHub and Hugging Face's library bring: understood, or refused in one
line that names the right thing."""

import dataclasses
import functools
import inspect

import keras
import numpy as np
import pandas
import pytest
import tensorflow as tf

import modeling
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.fine_tuning import (
    BertForClassification,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BinaryCrossEntropy,
)
from modeling.losses import CrossEntropy, SquaredError
from modeling.preprocessing import graph_tokenizer
from tests.refusals import assert_refused

CONFIG = BertConfig(
    vocab_size=30,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=16,
)
IDS = np.array([[2, 7, 8, 3, 0, 0], [2, 9, 9, 9, 9, 3]], np.int32)
MASK = (IDS > 0).astype(np.int32)


@pytest.fixture(scope="module")
def encoder():
    return BertEncoder(CONFIG, seed=1)


@pytest.mark.parametrize(
    "features",
    [
        {"token_ids": IDS, "padding_mask": MASK.astype(bool)},
        {"token_ids": IDS, "padding_mask": MASK, "segment_ids": IDS * 0},
        {"input_ids": IDS, "attention_mask": MASK, "label_ids": MASK, "labels": MASK},
    ],
)
def test_names_of_other_libraries_are_understood(encoder, features):
    expected = encoder(IDS, MASK)["pooled_output"]
    np.testing.assert_array_equal(encoder(features)["pooled_output"], expected)
    inputs = {name: value for name, value in features.items() if "label" not in name}
    np.testing.assert_array_equal(encoder(**inputs)["pooled_output"], expected)


@pytest.mark.parametrize(
    "name", ["mask", "paddingmask", "ids", "segment_type", "special_tokens_mask", "type_ids"]
)
def test_a_key_that_looks_like_an_input_is_refused(encoder, name):
    assert_refused(lambda: encoder({"input_ids": IDS, name: MASK}), f'"{name}"', "input_mask")
    model = BertForClassification(CONFIG, classes=2)
    assert_refused(lambda: model({"input_ids": IDS, name: MASK}), f'"{name}"')


def classifier(**arguments):
    return BertForClassification(CONFIG, **arguments)


def ragged_ids():
    return tf.ragged.constant([[2, 5, 3], [2, 3]])


def compiled(model_class=BertForClassification):
    model = model_class(CONFIG, classes=3)
    model.compile()
    return model


def compiled_without_classes(name):
    model = getattr(modeling, name)(CONFIG)
    model.compile()
    return model


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: classifier(num_classes=2), ["num_classes=2", "classes here"]),
        (lambda: classifier(num_labels=2), ["num_labels=2", "classes here"]),
        (lambda: classifier(), ["classes", "must be given"]),
        (lambda: classifier(classes=0), ["classes=0", "at least one class"]),
        (lambda: BertEncoder("dir"), ["found str", "BertEncoder.from_checkpoint"]),
        (lambda: BertForClassification("dir", 2), ["BertForClassification.from_checkpoint"]),
        (lambda: BertEncoder.from_preset("bert_base_en"), ["BertEncoder.from_checkpoint"]),
        (lambda: BertForClassification.from_pretrained("x"), ["from_checkpoint"]),
        (lambda: compiled().fit(["a", "b"], [0, 1]), ["strings", "BertPreprocessor"]),
        (lambda: compiled().fit(np.array(["a", "b"]), np.array([0, 1])), ["BertPreprocessor"]),
        (lambda: compiled().predict(["a"]), ["BertPreprocessor"]),
        (lambda: compiled()(tf.constant(["a"])), ["BertPreprocessor"]),
        (lambda: compiled()(ragged_ids()), ['"input_ids" is ragged', "to_tensor", "input_mask"]),
        (lambda: compiled().fit({"input_ids": ragged_ids()}, np.array([0, 1])), ["is ragged"]),
        (lambda: compiled().predict(tf.data.Dataset.from_tensors(ragged_ids())), ["is ragged"]),
        (lambda: compiled().fit(IDS * 9, np.array([0, 1])), ['"input_ids" contains 81', "to 29"]),
        (lambda: compiled().evaluate({"token_ids": IDS - 1}, np.array([0, 1])), ["contains -1"]),
        (
            lambda: compiled().predict({"input_ids": IDS, "token_type_ids": IDS * 9}),
            ['"segment_ids" contains 81'],
        ),
        (lambda: compiled().fit(IDS, np.array([0, 3])), ["label is 3", "3 to choose from"]),
        (lambda: compiled().fit(IDS, np.array([-1, 0])), ["label is -1"]),
        # A score or a probability would be cut to the class below.
        (lambda: compiled().fit(IDS, np.array([0, 1.7])), ["label is 1.7", "whole numbers"]),
        (lambda: compiled().evaluate(IDS, np.array([0.5, 1])), ["label is 0.5"]),
        (lambda: CrossEntropy()(np.array([0, 1.5]), np.zeros((2, 3))), ["a label is 1.5"]),
        (
            lambda: compiled(BertForTokenClassification).fit(IDS, IDS * 0 + 1.2),
            ["label is 1.2"],
        ),
        (lambda: compiled().train_on_batch(np.array(["a"]), np.array([0])), ["BertPreprocessor"]),
        (lambda: compiled().evaluate(IDS, np.array([0, 4])), ["label is 4"]),
        (lambda: compiled().fit(IDS, np.eye(3)[:2]), ["shape (2, 3)", "labels.argmax(-1)"]),
        (lambda: compiled().fit(IDS, np.array(["a", "b"])), ["texts such as", "'a'", "0 to 2"]),
        # Three numbers would be broadcast to three rows of three classes.
        (
            lambda: BinaryCrossEntropy()(np.array([0, 1, 1]), np.zeros((3, 3))),
            ["shape (3,)", "each of 3 classes"],
        ),
        (
            lambda: BinaryCrossEntropy()(np.array([[0], [1]]), np.zeros((2, 3))),
            ["shape (2, 1)", "each of 3 classes"],
        ),
        (lambda: CrossEntropy()(np.array([0, 3]), np.zeros((2, 3))), ["a label is 3"]),
        (
            lambda: compiled(BertForTokenClassification).fit(IDS, IDS),
            ["label is 9", "3 to choose from"],
        ),
        # Tags of one token less than the ids have.
        (
            lambda: compiled(BertForTokenClassification).fit(IDS, IDS[:, 1:] % 3),
            ["shape (2, 5)", "shape (None, 6)"],
        ),
        (lambda: compiled().quantize("int8"), ["export_model.py --quantize=int8"]),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(call, parts):
    assert_refused(call, *parts)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_keras_quantizes_the_layers_of_others_around_the_encoder(encoder):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, keras.layers.Dense(3)(encoder(ids)["pooled_output"]))
    before = model.predict(IDS, verbose=0)
    model.quantize("int8")
    assert model.layers[-1].kernel.dtype == "int8"
    np.testing.assert_allclose(model.predict(IDS, verbose=0), before, atol=0.02)


def test_editors_show_what_works():
    shown = inspect.signature(BertForClassification.from_checkpoint).parameters
    assert {"classes", "dtype", "seed"} < set(shown)
    names = set(dir(classifier(classes=2)))
    assert {"fit", "compile", "predict", "from_checkpoint"} < names
    assert not names & {"from_preset", "from_pretrained", "quantize"}


@pytest.mark.parametrize(
    ("name", "ours"), [("BertClassifier", "BertForClassification"), ("BertModel", "BertEncoder")]
)
def test_names_of_other_libraries_lead_to_ours(name, ours):
    with pytest.raises(ImportError, match=f"{name}: it is {ours} here"):
        getattr(modeling, name)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorflow_text", None)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    vocabulary = graph_tokenizer.Vocabulary(tokens)
    assert_refused(
        lambda: graph_tokenizer.GraphTokenizer(vocabulary, True), "tensorflow-text", "pip install"
    )


@pytest.mark.filterwarnings("error::UserWarning")
def test_layers_behind_the_encoder_leave_padding_out(encoder, tmp_path):
    ids = keras.Input((None,), dtype="int32")
    mask = keras.Input((None,), dtype="int32")
    tokens = encoder([ids, mask])["sequence_output"]
    model = keras.Model([ids, mask], keras.layers.GlobalAveragePooling1D()(tokens))
    model.save(tmp_path / "pooled.keras")
    again = keras.models.load_model(tmp_path / "pooled.keras")
    alone = model([IDS[:1, :4], MASK[:1, :4]]).numpy()
    for one in (model, again):
        np.testing.assert_allclose(one([IDS, MASK]).numpy()[:1], alone, atol=1e-6)
        np.testing.assert_allclose(one.predict([IDS, MASK], verbose=0)[:1], alone, atol=1e-6)
    pooling = keras.layers.GlobalAveragePooling1D()
    for outputs in (
        encoder(IDS, MASK),
        encoder({"token_ids": IDS, "padding_mask": MASK}),
        encoder(IDS, MASK, return_attention_probabilities=True),
    ):
        found = pooling(outputs["sequence_output"]).numpy()[:1]
        np.testing.assert_allclose(found, alone, atol=1e-6)
    # Without a mask all positions count.
    unmasked = pooling(encoder(IDS)["sequence_output"]).numpy()
    assert np.abs(unmasked[:1] - alone).max() > 1e-3


def test_class_weights_are_for_one_class_of_each_example():
    several = dataclasses.replace(CONFIG, extra={"problem_type": "multi_label_classification"})
    for model, labels in (
        (BertForTokenClassification(CONFIG, 3), IDS % 3),
        (BertForClassification(several, 2), IDS[:, :2] % 2),
        (BertForClassification(CONFIG, 1), np.array([0.5, 1.5])),
    ):
        model.compile()
        for train in (model.fit, model.train_on_batch):
            weighted = functools.partial(train, IDS, labels, class_weight={0: 1.0, 1: 5.0})
            assert_refused(weighted, "class_weight", "sample_weight")
    model = BertForClassification(CONFIG, 2)
    model.compile()
    model.train_on_batch(IDS, np.array([0, 1]), class_weight={0: 1.0, 1: 5.0})


def test_a_loss_of_the_users_reads_labels_in_its_own_way():
    labels = np.array([-1, 0])
    sparse = keras.losses.SparseCategoricalCrossentropy
    for loss in (sparse(from_logits=True, ignore_class=-1), "hinge", ["hinge"]):
        model = classifier(classes=2)
        model.compile(loss=loss)
        target = labels if isinstance(loss, sparse) else np.array([[-1, 1], [1, -1]])
        history = model.fit(IDS, target, verbose=0).history
        assert np.isfinite(history["loss"]).all()
    for loss in (sparse(from_logits=True), [CrossEntropy()], {"logits": sparse(from_logits=True)}):
        model.compile(loss=loss)
        assert_refused(functools.partial(model.fit, IDS, labels), "label is -1")
        assert_refused(functools.partial(model.fit, IDS, np.eye(2)), "labels.argmax(-1)")


@pytest.mark.parametrize(
    "loss",
    [
        "sparse_categorical_crossentropy",
        keras.losses.binary_crossentropy,
        keras.losses.SparseCategoricalCrossentropy(),
        [keras.losses.CategoricalFocalCrossentropy()],
        {"logits": "bce"},
        "kl_divergence",
        keras.losses.Dice(),
        keras.losses.CategoricalGeneralizedCrossEntropy(),
    ],
    ids=["name", "function", "object", "list", "dict", "distributions", "overlap", "noise"],
)
def test_a_loss_of_probabilities_is_refused(loss, tmp_path):
    model = classifier(classes=2)
    model.compile(loss=loss)
    # Files that were saved with it can be read.
    model.save(tmp_path / "model.keras")
    model = keras.models.load_model(tmp_path / "model.keras")
    for call in (model.fit, model.evaluate, model.train_on_batch, model.test_on_batch):
        assert_refused(functools.partial(call, IDS, np.eye(2)), "from_logits=True")
    model.predict(IDS, verbose=0)


def test_a_loss_of_the_users_may_read_logits():
    class SoftmaxFirst(keras.losses.CategoricalCrossentropy):
        """An attribute tells that Keras' loss of this class reads probabilities."""

        def call(self, y_true, y_pred):
            return super().call(y_true, keras.ops.softmax(y_pred))

    model = classifier(classes=2)
    model.compile(loss=SoftmaxFirst())
    losses = model.fit(IDS, np.eye(2), verbose=0).history["loss"]
    assert np.isfinite(losses).all()


def test_ids_of_a_single_batch_are_in_the_tables():
    model = compiled()
    model.train_on_batch(IDS, np.array([0, 1]))
    for call in (model.train_on_batch, model.test_on_batch):
        assert_refused(functools.partial(call, IDS - 1, np.array([0, 1])), "contains -1")
    assert_refused(functools.partial(model.predict_on_batch, {"input_ids": IDS - 1}), "contains -1")


@pytest.mark.parametrize("method", ["fit", "evaluate", "validation_data"])
def test_labels_of_pandas_and_lists_are_those_of_an_array(method):
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForClassification(config, classes=3, head_dropout=0.0)
    # No step changes the weights, so that losses can be compared.
    model.compile(modeling.BertAdamW(0.0))

    def loss_of(labels):
        if method == "evaluate":
            return model.evaluate(IDS, labels, verbose=0)[0]
        if method == "fit":
            return model.fit(IDS, labels, verbose=0).history["loss"]
        given = {"validation_data": (IDS, labels)}
        return model.fit(IDS, np.array([0, 1]), verbose=0, **given).history["val_loss"]

    expected = loss_of(np.array([1, 2]))
    for type_name in ("int64", "int8", "Int64", "category", "float32"):
        assert np.isclose(loss_of(pandas.Series([1, 2], dtype=type_name)), expected).all()
    for labels in (
        [1, 2],
        (1, 2),
        range(1, 3),
        [[1], [2]],
        list(np.array([1, 2])),
        list(tf.constant([1, 2])),
        pandas.Series([1, 2], dtype=object),
        tf.constant([1, 2]),
        tf.constant([1, 2], tf.bfloat16),
    ):
        assert np.isclose(loss_of(labels), expected).all()
    for labels in (
        [1, None],
        pandas.Series([1, None]),
        pandas.Series(["1", "2"]),
        pandas.Series([1, None], dtype="Int64"),
        pandas.Series([0, -1]),
        pandas.Series([0, 3]),
        pandas.Series(["yes", "no"]),
        tf.constant([0.0, 1.5]),
        [0, 3],
    ):
        assert_refused(functools.partial(loss_of, labels), "label", "from 0 to 2")


def test_positions_and_choices_are_within_the_inputs():
    answers = compiled_without_classes("BertForQuestionAnswering")
    answers.fit(IDS, (np.array([0, 5]), np.array([-1, 5])), verbose=0)
    # XLA would train on the first two without a word.
    for ends in ([0, 6], [0.5, 1.0], [np.nan, 1.0]):
        labels = (np.array([0, 5]), np.array(ends))
        assert_refused(functools.partial(answers.fit, IDS, labels), "a label is", "from 0 to 5")
    starts = np.array([0, 5])
    for labels in ({"start": starts, "end": starts}, np.stack([starts, starts], 1), starts):
        assert_refused(functools.partial(answers.fit, IDS, labels), "a pair")
    answers.fit(IDS, ([0, 5], range(2)), verbose=0)
    table = pandas.DataFrame(IDS)
    answers.fit(table, (np.array([0, 5]), np.array([1, 5])), verbose=0)
    choices = compiled_without_classes("BertForMultipleChoice")
    pairs = {"input_ids": np.stack([IDS, IDS], axis=1)}
    choices.fit(pairs, np.array([0, 1]), verbose=0)
    assert_refused(functools.partial(choices.fit, pairs, np.array([0, 2])), "from 0 to 1")


class Cropped(BertForTokenClassification):
    """Tags without those of the first and the last token, for ids that begin at 100."""

    def call(self, features, **arguments):
        return super().call(features - 100, **arguments)[:, 1:-1]


class NamedAnswers(BertForQuestionAnswering):
    def call(self, features, **arguments):
        start, end = super().call(features, **arguments)
        return {"start": start, "end": end}


def test_subclasses_of_the_users_read_inputs_and_labels_in_their_own_way():
    cropped = Cropped(CONFIG, 3)
    cropped.compile()
    losses = cropped.fit(IDS + 100, IDS[:, 1:-1] % 3, verbose=0).history["loss"]
    answers = NamedAnswers(CONFIG)
    answers.compile(loss={"start": CrossEntropy(), "end": CrossEntropy()})
    ends = {"start": np.array([0, 1]), "end": np.array([1, 2])}
    losses += answers.fit(IDS, ends, verbose=0).history["loss"]
    assert np.isfinite(losses).all()


def test_a_row_has_one_score():
    model = BertForClassification(CONFIG, 1)
    model.compile()
    labels = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert_refused(functools.partial(model.fit, IDS, labels), "one for each of the scores")
    # One row with two scores would be compared with its own one twice.
    assert_refused(
        functools.partial(model.loss, labels[:1], np.zeros((1, 1))), "one for each of the scores"
    )
    # The classes of tags and the choices of a question may be scores.
    tags = BertForTokenClassification(CONFIG, 1)
    tags.compile(loss=SquaredError())
    losses = [
        *model.fit(IDS, labels[:, :1], verbose=0).history["loss"],
        *tags.fit(IDS, np.ones(IDS.shape), verbose=0).history["loss"],
        SquaredError()(np.ones((2, 3, 1)), np.zeros((2, 3))),
        SquaredError()(np.ones((2, 3)), np.zeros((2, 3))),
    ]
    assert np.isfinite(losses).all() and losses[2] == losses[3] == 1


def test_scores_and_several_labels_that_are_missing_are_refused():
    several = dataclasses.replace(CONFIG, extra={"problem_type": "multi_label_classification"})
    for model, values in (
        (BertForClassification(CONFIG, 1), [0.5, None]),
        (BertForClassification(several, 2), [[0, 1], [1, np.nan]]),
    ):
        model.compile()
        labels = pandas.DataFrame(values)
        assert_refused(functools.partial(model.fit, IDS, labels), "a label is nan")
        texts = labels.astype(str)
        assert_refused(functools.partial(model.evaluate, IDS, texts), "texts such as")
        model.fit(IDS, labels.fillna(0), verbose=0)
    for wrong in ([[0, 1], [2, 0]], [[0, 1], [-1, 0]]):
        value = wrong[1][0]
        assert_refused(functools.partial(model.fit, IDS, np.array(wrong)), f"a label is {value}")
        direct = functools.partial(BinaryCrossEntropy(), np.array(wrong), np.zeros((2, 2)))
        assert_refused(direct, f"a label is {value}")
    # Smoothed labels are probabilities.
    model.fit(IDS, np.array([[0.05, 0.95], [0.95, 1.0000001]]), verbose=0)


@pytest.mark.parametrize(
    "name", ["BertForQuestionAnswering", "BertForSentenceEmbedding", "BertForPreTraining", None]
)
def test_labels_that_are_missing_are_asked_for(name):
    model = compiled_without_classes(name) if name else compiled()
    inputs = {"input_ids": IDS, "masked_lm_positions": IDS[:, :2] * 0}
    for method in (model.fit, model.evaluate, model.train_on_batch):
        assert_refused(functools.partial(method, inputs), "the labels are missing")
    dataset = tf.data.Dataset.from_tensors(inputs)
    assert_refused(functools.partial(model.fit, dataset), "the labels are missing")


def test_a_loss_of_the_users_may_need_no_labels():
    class Quiet(BertForClassification):
        """Its loss is small where its scores are; Keras' `compile` wants a name all the same."""

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return keras.ops.mean(keras.ops.square(y_pred))

    model = Quiet(CONFIG, classes=3)
    model.compile("sgd", "mse")
    history = model.fit(IDS, epochs=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0] and model.evaluate(IDS, verbose=0) > 0


def test_a_model_is_fitted_after_labels_that_were_refused():
    model = compiled()
    one_hot, labels = np.eye(3)[:2], np.array([0, 2])
    for method in (model.fit, model.evaluate):
        dataset = tf.data.Dataset.from_tensors((IDS, one_hot))
        assert_refused(functools.partial(method, dataset, verbose=0), "labels.argmax(-1)")
        method(tf.data.Dataset.from_tensors((IDS, labels)), verbose=0)
    for method in (model.train_on_batch, model.test_on_batch):
        model.compile()
        assert_refused(functools.partial(method, IDS, one_hot), "labels.argmax(-1)")
        method(IDS, labels)
    # What the message advises.
    model.compile(loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    with pytest.raises(ValueError):
        model.fit(IDS, labels, verbose=0)
    model.fit(IDS, one_hot, verbose=0)


def test_labels_of_pairs_are_no_scores_in_the_in_batch_loss():
    model = modeling.BertForSentenceEmbedding(CONFIG)
    model.compile()
    pairs = np.stack([IDS, IDS[::-1]], axis=1)
    for labels in ([0.2, 0.9], [[1], [2]], [[1, 2, 3], [4, 5, 6]]):
        fit = functools.partial(model.fit, pairs, np.array(labels), verbose=0)
        assert_refused(fit, "labels", "text")
    model.fit(pairs, np.array([[0, 1], [2, 3]]), verbose=0)
