import numpy as np
import pytest

from bert_tf.tasks.pretraining.task import measure_baselines, warn_of_guessing

MASK = 4
# Three rows of four tokens, two to predict in each; the last row only fills the batch.
BATCH = {
    "input_ids": np.array([[2, MASK, 7, MASK], [2, 9, MASK, 8], [2, 5, 5, 5]]),
    "masked_lm_positions": np.array([[1, 3], [1, 3], [1, 2]]),
    "masked_lm_ids": np.array([[6, 6], [9, 5], [5, 5]]),
    "masked_lm_weights": np.array([[1, 1], [1, 1], [1, 1]], np.float32),
    "is_real_example": np.array([1, 1, 0]),
}
MORE = {
    "input_ids": np.array([2, MASK, MASK]),
    "masked_lm_positions": np.array([1, 2]),
    "masked_lm_ids": np.array([5, 0]),
    "masked_lm_weights": np.array([1, 0], np.float32),
}


def baselines(*shares: float) -> dict[str, float]:
    return {
        f"masked_lm_baseline_{name}": pytest.approx(share)
        for name, share in zip(("most_frequent", "copying", "at_mask"), shares, strict=False)
    }


def test_batches_and_single_records_are_counted():
    # Of five labels 6 and 5 are there twice; at [MASK] stand 6, 6 and 5; one token is kept, one
    # replaced.
    assert measure_baselines([BATCH, MORE], MASK) == baselines(0.4, 0.6, 2 / 3)
    assert measure_baselines([BATCH], None) == baselines(0.5) and measure_baselines(
        [], MASK
    ) == baselines(0.0)


@pytest.mark.parametrize(
    "metrics, is_warned",
    [
        ({"masked_lm_accuracy": 0.9, "masked_lm_accuracy_at_mask": 0.68}, True),
        ({"masked_lm_accuracy": 0.5, "masked_lm_accuracy_at_mask": 0.75}, False),
        ({"masked_lm_accuracy": 0.40}, True),
        ({"masked_lm_accuracy": 0.45}, False),
    ],
)
def test_a_model_that_guesses_is_told_from_one_that_has_learned(metrics, is_warned):
    warning = warn_of_guessing({**metrics, **measure_baselines([BATCH, MORE], MASK)})
    assert (warning is not None) == is_warned
    if is_warned:
        assert (
            "by always guessing the most frequent token" in warning
            and "raise --num_train_steps" in warning
        )
