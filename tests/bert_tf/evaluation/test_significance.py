import pytest

from bert_tf.evaluation.significance import difference, holm


def seeds(*values: float) -> dict[int, float]:
    return dict(enumerate(values, 1))


def test_a_paired_test_sees_what_is_the_same_for_every_seed():
    # The seeds differ by far more than the rows.
    a, b = seeds(10.0, 50.0, 90.0), seeds(9.0, 48.9, 89.1)
    assert difference(a, b).p == pytest.approx(0.0033, abs=1e-4)
    assert difference(a, b).p == difference(b, a).p
    assert difference(a, a).p is None and difference(seeds(1.0), seeds(2.0)).p is None
    # One right answer of 277 more with each seed: equal differences, but for rounding.
    rights = {1: 159, 2: 166, 3: 173}
    one_more = {seed: (right + 1) / 277 for seed, right in rights.items()}
    assert difference(one_more, {seed: right / 277 for seed, right in rights.items()}).p is None
    for diverged in (float("nan"), float("inf")):
        assert difference(a | {1: diverged}, b).p is None
    # Rows of other seeds are not paired.
    assert difference(a | {9: 50.0}, b | {8: 50.0}).p > 0.9


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
