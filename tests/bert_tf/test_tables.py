from bert_tf.tables import mean_and_deviation, pad, show_mean, table


def test_mean_and_deviation():
    assert mean_and_deviation([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert mean_and_deviation([5.0]) == (5.0, None)
    assert show_mean([1.0, 2.0, 3.0], 1) == "2.0 ± 1.0" and show_mean([0.25]) == "0.2500"
    assert show_mean([]) == "-" and show_mean([float("nan")]) == "diverged"


def test_columns_are_as_wide_as_their_widest_cell():
    assert table([["", "f1"], ["fold 1", "0.5"]]) == "         f1\nfold 1  0.5"
    assert pad([["a", "b"], ["long", "c"]], str.ljust) == [["a   ", "b"], ["long", "c"]]
