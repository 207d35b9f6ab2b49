import numpy as np
import pytest

from bert_tf.evaluation.calibration import reliability, reliability_picture


def test_bins_and_error_are_those_counted_by_hand():
  found = reliability([0.55, 0.65, 0.95, 0.95, 1.0], [True, False, True, False, True], bins=5)
  np.testing.assert_array_equal(found.counts, [0, 0, 1, 1, 3])
  np.testing.assert_allclose(found.accuracy[2:], [1, 0, 2 / 3])
  np.testing.assert_allclose(found.confidence[2:], [0.55, 0.65, 2.9 / 3])
  assert np.isnan(found.accuracy[:2]).all()
  assert found.expected_error == pytest.approx((0.45 + 0.65 + 3 * 0.3) / 5)


def test_honest_probabilities_have_no_error():
  rng = np.random.default_rng(1)
  confidence = rng.uniform(0.5, 1, 20_000)
  assert reliability(confidence, rng.uniform(size=20_000) < confidence).expected_error < 0.02


@pytest.mark.parametrize("confidence, correct", [([], []), ([0.5], [True, False]), ([1.2], [True]),
                                                 ([float("nan")], [True])])
def test_what_is_no_probability_is_refused(confidence, correct):
  with pytest.raises(ValueError):
    reliability(confidence, correct)


def test_the_picture_shows_the_bins():
  sure, unsure = (reliability_picture(reliability(values, [True, False])) for values in ([0.9, 0.95], [0.5, 0.55]))
  assert sure.shape == unsure.shape and sure.shape[2] == 4 and not np.array_equal(sure, unsure)
