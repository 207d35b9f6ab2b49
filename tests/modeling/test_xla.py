"""The forms for programs that XLA compiles as a whole compute what the usual ones do."""

import numpy as np
import tensorflow as tf

from modeling.fine_tuning import BertForClassification
from modeling.losses import SumOfLosses
from modeling.pretraining import NEXT_SENTENCE, BertForPreTraining, masked_lm_loss
from modeling.xla import is_jit_compiled, jit_compile_scope
from tests.modeling.common import SMALL, dropout_stream, random_features


def test_a_training_step_is_the_same():
    """With dropout: masks do not depend on how the step is computed."""
    model = BertForPreTraining(SMALL)
    features = {
        name: tf.constant(value) for name, value in random_features(SMALL, 4, 16, 3).items()
    }
    variables = [one.value for one in model.trainable_variables]

    def step(whole):
        @tf.function(jit_compile=True, autograph=False)
        def compute():
            with jit_compile_scope(whole), tf.GradientTape() as tape:
                sums = SumOfLosses((masked_lm_loss(None), NEXT_SENTENCE)).sums(
                    model(features, dropout=dropout_stream(1, tf.constant(5, tf.int64))), features
                )
                loss = sums["masked_lm_loss_sum"] + sums["next_sentence_loss_sum"]
            return loss, [tf.convert_to_tensor(one) for one in tape.gradient(loss, variables)]

        return compute()

    (loss, found), (usual_loss, expected) = step(True), step(False)
    np.testing.assert_allclose(loss, usual_loss, rtol=1e-6)
    for variable, one, other in zip(model.trainable_variables, found, expected, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=0, atol=2e-6 * max(np.abs(other).max(), 1.0), err_msg=variable.path
        )


def test_it_is_in_effect_within_the_block_only():
    assert not is_jit_compiled()
    with jit_compile_scope():
        assert is_jit_compiled()
        with jit_compile_scope(False):
            assert not is_jit_compiled()
    assert not is_jit_compiled()


def test_an_unknown_id_of_a_dataset_shows_in_the_loss():
    """XLA gives it a row of the table, or none, where a CPU may raise an error."""
    sizes = {
        "input_ids": SMALL.vocab_size,
        "segment_ids": SMALL.type_vocab_size,
        "position_ids": SMALL.max_position_embeddings,
    }
    model = BertForClassification(SMALL, 2)
    model.compile(jit_compile=True)
    initial = model.get_weights()
    for name, size in sizes.items():
        # Padding may have segments of -1.
        for value, is_unknown in ((-1, name != "segment_ids"), (size - 1, False), (size, True)):
            features = {**dict.fromkeys(sizes, [[0, 1], [1, 0]]), name: [[0, 1], [value, 0]]}
            dataset = tf.data.Dataset.from_tensors((features, [0, 1]))
            # All data sets are of one shape, so that XLA compiles once.
            losses = model.fit(dataset, verbose=0).history["loss"]
            assert np.isnan(losses).all() == is_unknown
            model.set_weights(initial)
