"""How sure an order is: corrected paired tests, and sentences that say no more."""

import pytest

from bert_tf.evaluation.significance import Order, compare_orders, holm, paired_p

# The paper's order: A, B, C.
PAPER = {"A": 84.0, "B": 83.0, "C": 80.0}


def seeds(*values: float) -> dict[int, float]:
  return dict(enumerate(values, 1))


def compare_order(ours: dict, paper: dict, lower_is_better: bool) -> Order:
  """The order of a table of one column."""
  return compare_orders({"x": ours}, {"x": paper}, ("x",) if lower_is_better else ())["x"]


def test_a_paired_test_sees_what_is_the_same_for_every_seed():
  # The seeds differ by far more than the rows.
  a, b = seeds(10.0, 50.0, 90.0), seeds(9.0, 48.9, 89.1)
  assert paired_p(a, b) == pytest.approx(0.0033, abs=1e-4)
  assert paired_p(a, b) == paired_p(b, a)
  assert paired_p(a, a) is None and paired_p(seeds(1.0), seeds(2.0)) is None
  # Only seeds that both have are compared.
  assert paired_p(a | {9: 1.0}, b | {8: 100.0}) == paired_p(a, b)


def test_holm():
  assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
  assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]


def test_an_order_that_is_confirmed():
  ours = {"A": seeds(70.0, 71.0, 72.0), "B": seeds(65.0, 66.1, 66.9), "C": seeds(60.1, 61.0, 62.0)}
  order = compare_order(ours, PAPER, lower_is_better=False)
  assert order.verdict == "confirmed" and len(order.pairs) == 3
  assert order.sentence().startswith("the paper's order is confirmed at this scale: 3 of 3 pairs")


def test_the_same_order_that_chance_could_have_made():
  ours = {"A": seeds(70.0, 60.0, 80.0), "B": seeds(60.0, 75.0, 70.0), "C": seeds(60.0, 50.0, 70.0)}
  order = compare_order(ours, PAPER, lower_is_better=False)
  assert order.verdict == "same order" and "chance could have made it" in order.sentence()


def test_neither_confirmed_nor_contradicted():
  ours = {"A": seeds(60.0, 70.0, 50.0), "B": seeds(61.0, 75.0, 48.0), "C": seeds(10.0, 11.0, 12.0)}
  order = compare_order(ours, PAPER, lower_is_better=False)
  assert order.verdict == "not confirmed" and "2 of 3 pairs" in order.sentence()


def test_contradicted():
  ours = {"A": seeds(60.0, 61.0, 62.0), "B": seeds(70.0, 71.1, 71.9)}
  order = compare_order(ours, PAPER, lower_is_better=False)
  assert order.verdict == "contradicted" and "B above A (p = 0.0" in order.sentence()
  # Of a perplexity that is what the paper has.
  assert compare_order(ours, {"A": 3.0, "B": 4.0}, lower_is_better=True).verdict == "confirmed"


def test_one_repetition_says_nothing_of_chance():
  order = compare_order({"A": seeds(2.0), "B": seeds(1.0)}, PAPER, lower_is_better=False)
  assert order.verdict == "unknown" and "nothing is known of chance" in order.sentence()
  assert compare_order({"A": seeds(2.0, 3.0)}, PAPER, lower_is_better=False).sentence() == (
      "there are no two rows to compare.")


def test_the_columns_of_a_table_are_one_family():
  sure = {"A": seeds(70.0, 71.0, 72.0), "B": seeds(60.0, 61.3, 61.7)}
  other = {"A": seeds(1.0, 2.0, 3.0), "B": seeds(3.0, 1.0, 2.0)}
  alone = compare_orders({"x": sure}, {"x": PAPER})["x"]
  found = compare_orders({"x": sure, "y": other, "z": other}, dict.fromkeys("xyz", PAPER))
  assert found["x"].pairs[0].p == pytest.approx(3 * alone.pairs[0].p) and found["x"].tests == 3
  assert "Holm's correction for the 3 pairs of all columns" in found["x"].sentence()
  assert all(pair.p == 1.0 for column in "yz" for pair in found[column].pairs)
