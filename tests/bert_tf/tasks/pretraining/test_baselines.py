"""Masked-LM accuracy without a model."""

import numpy as np
import pytest

from bert_tf.tasks.pretraining.eval_report import Baselines, measure_baselines
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary

MASK = 4
# Three rows of four tokens, two to predict in each; the last row only fills the batch.
BATCH = {
    "input_ids": np.array([[2, MASK, 7, MASK], [2, 9, MASK, 8], [2, 5, 5, 5]]),
    "masked_lm_positions": np.array([[1, 3], [1, 3], [1, 2]]),
    "masked_lm_ids": np.array([[6, 6], [9, 5], [5, 5]]),
    "masked_lm_weights": np.array([[1, 1], [1, 1], [1, 1]], np.float32),
    "is_real_example": np.array([1, 1, 0])}
MORE = {"input_ids": np.array([2, MASK, MASK]), "masked_lm_positions": np.array([1, 2]),
        "masked_lm_ids": np.array([5, 0]), "masked_lm_weights": np.array([1, 0], np.float32)}


def test_batches_and_single_records_are_counted():
  # Of five labels 6 and 5 are there twice; at [MASK] stand 6, 6 and 5; one token is kept, one replaced.
  assert measure_baselines([BATCH, MORE], MASK) == Baselines(
      token=5, most_frequent=0.4, mask_token=6, copying=0.6, at_mask=pytest.approx(2 / 3))


def test_without_a_mask_there_is_nothing_to_tell_apart():
  baselines = measure_baselines([BATCH], None)
  assert baselines == Baselines(token=6, most_frequent=0.5)
  assert baselines.metrics() == {"masked_lm_baseline_most_frequent": 0.5}
  assert baselines.describe({"masked_lm_accuracy": 0.25}, None).splitlines()[1:] == [
      f"  {'always token 6':38} {'50.00%':>10}  {'':>10}", f"  {'this model':38} {'25.00%':>10}  {'':>10}"]
  assert measure_baselines([], MASK) == Baselines(token=0, most_frequent=0.0)


def test_the_table_and_the_results():
  baselines = measure_baselines([BATCH, MORE], MASK)
  assert baselines.metrics() == pytest.approx({
      "masked_lm_baseline_most_frequent": 0.4, "masked_lm_baseline_copying": 0.6, "masked_lm_baseline_at_mask": 2 / 3})
  vocabulary = Vocabulary([*SPECIAL_TOKENS, "a", "."])
  table = baselines.describe({"masked_lm_accuracy": 0.61, "masked_lm_accuracy_at_mask": 0.7}, vocabulary)
  assert [line.split() for line in table.splitlines()] == [
      ["masked-LM", "accuracy", "all", "tokens", "at", "[MASK]"], ["always", "'a'", "40.00%"],
      ["the", "visible", "token,", "'.'", "at", "[MASK]", "60.00%", "66.67%"], ["this", "model", "61.00%", "70.00%"]]


@pytest.mark.parametrize("metrics, is_warned", [
    ({"masked_lm_accuracy": 0.9, "masked_lm_accuracy_at_mask": 0.68}, True),
    ({"masked_lm_accuracy": 0.5, "masked_lm_accuracy_at_mask": 0.75}, False),
    ({"masked_lm_accuracy": 0.40}, True), ({"masked_lm_accuracy": 0.45}, False)])
def test_a_model_that_guesses_is_told_from_one_that_has_learnt(metrics, is_warned):
  warning = measure_baselines([BATCH, MORE], MASK).warning(metrics)
  assert (warning is not None) == is_warned
  if is_warned:
    assert "by always guessing the most frequent token" in warning and "raise --num_train_steps" in warning
