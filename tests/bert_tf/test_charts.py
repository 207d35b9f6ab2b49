import re

import pytest

from bert_tf import charts
from tests.density import tracked_files


def test_every_metric_has_a_test_of_its_value(project):
    """A test that names it, apart from the tests of this table."""
    if not (project / ".git").exists():
        pytest.skip("reads the files that git knows: this is no checkout")
    named = set()
    for path, text in tracked_files("tests/*.py"):
        if not path.endswith("test_charts.py"):
            # As a key, as a keyword argument, and with the name of a set before it.
            named.update(re.findall(r"\w+", text))
    missing = [name for name in charts.CHARTS if not any(word.endswith(name) for word in named)]
    assert not missing


@pytest.mark.unknown_metrics
def test_metrics_of_every_kind_have_a_place():
    for name, tag in (
        ("loss", "loss/loss"),
        ("masked_lm_loss", "loss/masked_lm_loss"),
        ("accuracy", "quality/accuracy"),
        ("learning_rate", "optimizer/learning_rate"),
        ("tokens_per_second", "speed/tokens_per_second"),
        # Of a second development set, of a kind of questions, of a task that is not in the table.
        ("mismatched_accuracy", "quality/mismatched_accuracy"),
        ("mismatched_loss", "loss/mismatched_loss"),
        ("HasAns_f1", "quality/HasAns_f1"),
        ("tagging_loss", "loss/tagging_loss"),
        ("new", "quality/new"),
    ):
        assert charts.tag(name) == tag


def test_constants_and_copies_have_no_chart():
    assert [
        charts.tag(name) for name in ("total", "HasAns_total", "NoAns_total", "steps_per_second")
    ] == [None] * 4


@pytest.mark.unknown_metrics
def test_the_closest_name_describes_a_variant():
    assert charts.find("x_macro_f1").description == f"{charts.find('macro_f1').description} Of: x."
    assert charts.find("NoAns_exact").unit == "%" and charts.find("x_loss").unit == "nats"
    assert charts.find("new").description == ""
    assert all(chart.description.endswith(".") for chart in charts.CHARTS.values())
