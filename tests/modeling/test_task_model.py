import numpy as np
import pytest

from modeling.checkpoints.weights import HEADS
from modeling.classification import ClassificationHead
from modeling.multiple_choice import MultipleChoiceHead
from modeling.question_answering import QuestionAnsweringHead
from modeling.token_classification import TokenClassificationHead
from tests.modeling.common import SMALL, dropout_stream


def test_choices_of_an_example_lie_side_by_side():
  head = MultipleChoiceHead(SMALL)
  head.build()
  pooled = np.random.default_rng(0).standard_normal((6, SMALL.hidden_size)).astype(np.float32)
  logits = head(pooled, choices=3)
  assert logits.shape == (2, 3)
  np.testing.assert_allclose(logits[1, 2], pooled[5] @ head.output_weights.numpy()[0], atol=1e-6)


@pytest.mark.parametrize("head, name, total", [
    (ClassificationHead(SMALL, 2), "classification", 8.698298),
    (QuestionAnsweringHead(SMALL), "question_answering", 8.202427),
    (TokenClassificationHead(SMALL, 2), "token_classification", 7.980077)], ids=lambda value: str(value)[:20])
def test_the_place_in_checkpoints_and_the_initial_weights_of_a_seed_stay(head, name, total):
  head.build()
  assert HEADS[name].directory == head.key
  assert float(np.abs(head.output_weights.numpy()).sum()) == pytest.approx(total, abs=1e-4)


def test_a_tenth_of_the_input_is_dropped_in_training_only():
  head = TokenClassificationHead(SMALL, SMALL.hidden_size)
  head.build()
  head.output_weights.assign(np.eye(SMALL.hidden_size, dtype=np.float32))
  ones = np.ones((8, 16, SMALL.hidden_size), np.float32)
  kept = np.asarray(head(ones, dropout=dropout_stream(1, 2)))
  assert np.mean(kept == 0) == pytest.approx(0.1, abs=0.03)
  assert kept.max() == pytest.approx(1 / 0.9, abs=1e-3)
  np.testing.assert_array_equal(head(ones), ones)
