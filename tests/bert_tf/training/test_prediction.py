import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.examples import Examples, padded_lengths
from bert_tf.training.prediction import Prediction


def network(features):
    values = tf.cast(features["input_ids"], tf.float32)
    mask = tf.cast(features["input_mask"], tf.float32)
    return {
        "sum": tf.reduce_sum(values * mask, 1),
        "pair": tf.stack([values[:, 0], -values[:, 0]], 1),
        "token": values * 2.0,
        "vectors": tf.stack([values, values + 1.0], 2),
    }


@pytest.mark.parametrize("count", [1, 7, 8, 30])
def test_outputs_have_the_order_of_the_examples(count):
    rng = np.random.default_rng(count)
    row_lengths = rng.integers(1, 20, count)
    ids = rng.integers(1, 1000, row_lengths.sum()).astype(np.int32)
    examples = Examples({"input_ids": ids}, row_lengths)
    predict = Prediction(
        network, 4, padded_lengths(19, 3), tf.distribute.get_strategy(), False, ("token", "vectors")
    )
    advanced = []
    outputs = predict(examples, advanced.append)
    rows = np.split(ids, np.cumsum(row_lengths)[:-1])
    np.testing.assert_array_equal(outputs["sum"], [row.sum() for row in rows])
    np.testing.assert_array_equal(outputs["pair"], [[row[0], -row[0]] for row in rows])
    np.testing.assert_array_equal(outputs["token"], ids * 2)
    np.testing.assert_array_equal(outputs["vectors"], np.stack([ids, ids + 1], 1))
    assert sum(advanced) == count
