"""Reports of run directories: numbers against their definitions, pages against hostile texts."""

import json
import re
import sys
import xml.etree.ElementTree

import numpy as np
import pytest
import scipy.stats
from sklearn import metrics

from bert_common.manifests import file_digest
from bert_tf import plotting
from bert_tf.extras import compare
from bert_tf.report import intervals, numbers, page, pictures
from bert_tf.tables import new_figure

_NAMES = ["bad", "<b>good</b>", "\u202eugly"]
_RANDOM = np.random.default_rng(0)
_TRUE = _RANDOM.integers(3, size=200)
_PREDICTED = np.where(_RANDOM.random(200) < 0.7, _TRUE, _RANDOM.integers(3, size=200))
_PROBABILITIES = _RANDOM.uniform(0.4, 1, 200)


def _write_lines(path, records) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def classifier(tmp_path):
    """The directory of a classifier with a class of markup and one that turns the writing."""
    rows = []
    for number, probability in enumerate(_PROBABILITIES):
        rest = (1 - probability) / 2
        probabilities = dict.fromkeys(_NAMES, rest)
        label = _NAMES[_PREDICTED[number]]
        probabilities[label] = probability
        rows.append(
            {
                "id": str(number),
                "text_a": f"<script>alert({number})</script>",
                "label": label,
                "probabilities": probabilities,
                "true_label": _NAMES[_TRUE[number]],
            }
        )
    _write_lines(tmp_path / "eval_predictions.jsonl", rows)
    reports = [{"step": step, "split": "train", "loss": 1 / step} for step in range(1, 5)]
    reports.append({"step": 4, "split": "eval", "loss": 0.5, "total": 7})
    _write_lines(tmp_path / "metrics.jsonl", reports)
    return tmp_path


def test_every_number_is_one_of_the_files(classifier):
    content = numbers.read(str(classifier))
    names = np.array(_NAMES)
    expected = metrics.confusion_matrix(names[_TRUE], names[_PREDICTED])
    np.testing.assert_array_equal(content.confusion.matrix, expected)
    assert content.confusion.names == sorted(_NAMES)
    # A number without a chart has no curve.
    assert content.curves == {
        "loss": {"train": [(1, 1.0), (2, 0.5), (3, 1 / 3), (4, 0.25)], "eval": [(4, 0.5)]}
    }
    accuracy, macro_f1 = content.scores
    right = int((_TRUE == _PREDICTED).sum())
    interval = scipy.stats.binomtest(right, 200).proportion_ci(method="wilson")
    assert (accuracy.low, accuracy.high) == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert accuracy.baseline == np.bincount(_TRUE).max() / 200
    assert macro_f1.value == pytest.approx(metrics.f1_score(_TRUE, _PREDICTED, average="macro"))
    constant = np.full(200, np.bincount(_TRUE).argmax())
    expected = metrics.f1_score(_TRUE, constant, average="macro")
    assert macro_f1.baseline == pytest.approx(expected)
    assert macro_f1.low < macro_f1.value < macro_f1.high
    assert sum(group.count for group in content.reliability) == 200
    (errors,) = content.tables
    assert len(errors.rows) == 20
    wrong = np.flatnonzero(_TRUE != _PREDICTED)
    assert int(errors.rows[0][0]) == wrong[_PROBABILITIES[wrong].argmax()]


def test_macro_f1_is_of_the_classes_that_there_are():
    # Thirty rare classes: every sample of the examples leaves some of them out, and all are right.
    perfect = intervals.macro_f1(np.diag([2] * 30))
    assert (perfect.low, perfect.value, perfect.high) == (1.0, 1.0, 1.0)
    # A class that is predicted but does not occur is none of a constant answer.
    true, predicted = [0, 0, 0, 1], [0, 0, 2, 1]
    score = intervals.macro_f1(metrics.confusion_matrix(true, predicted))
    assert score.value == pytest.approx(metrics.f1_score(true, predicted, average="macro"))
    assert score.baseline == pytest.approx(metrics.f1_score(true, [0] * 4, average="macro"))


def test_a_page_is_whole_and_holds_no_markup_of_users(classifier, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = page.render(numbers.read(str(classifier)))
    assert len(text) < 1_000_000
    # Well-formed: every tag of the users' is escaped, every one of ours closed.
    body = re.sub(r"<meta[^>]*>", "", text.removeprefix("<!doctype html>"))
    document = xml.etree.ElementTree.fromstring(body)
    assert not list(document.iter("script")) and not list(document.iter("b"))
    assert "\u202e" not in text
    assert not re.search(r"(?:src|href)=|url\(|https?:", text)
    for drawing in document.iter("svg"):
        assert drawing.find("title").text and drawing.attrib["role"] == "img"
    for table in document.iter("thead"):
        assert all(cell.attrib["scope"] == "col" for cell in table.iter("th"))


def test_results_of_another_run_are_not_shown(classifier):
    name = "eval_predictions.jsonl"
    note = {"run_id": "b", "files": [], "digests": {name: file_digest(str(classifier / name))}}
    inputs = {"run_id": "a", "results": {"eval": note}}
    (classifier / "inputs.json").write_text(json.dumps(inputs))
    content = numbers.read(str(classifier))
    assert content.curves and not content.scores and content.confusion is None
    note["run_id"] = "a"
    (classifier / "inputs.json").write_text(json.dumps(inputs))
    assert numbers.read(str(classifier)).scores
    # Predictions alone are exchanged.
    note["digests"][name] = "0"
    (classifier / "inputs.json").write_text(json.dumps(inputs))
    assert not numbers.read(str(classifier)).scores


def test_chunks_of_tags(tmp_path):
    (tmp_path / "dev_predictions.txt").write_text(
        "Ann B-PER B-PER\nLee I-PER O\nsaw O O\n\nRome B-LOC B-LOC\n\nOslo B-LOC B-PER\n"
    )
    content = numbers.read(str(tmp_path))
    f1, accuracy = content.scores
    # One of three chunks is right, and three are predicted.
    assert f1.value == pytest.approx(1 / 3) and f1.num_examples == 3
    assert accuracy.value == 3 / 5
    (types,) = [table for table in content.tables if table.title == "Types"]
    assert types.rows == [("LOC", 1.0, 0.5, pytest.approx(2 / 3), 2), ("PER", 0.0, 0.0, 0.0, 1)]


def test_answers(tmp_path):
    rows = []
    for number, (odds, answerable, exact) in enumerate([(-2, 1, 1), (-1, 1, 0), (1, 0, 0)]):
        rows.append(
            {
                "id": str(number),
                "text": "x",
                "probability": 0.5,
                "null_odds": odds,
                "question": "Who was it?",
                "right": "y",
                "answerable": bool(answerable),
                "exact": exact,
                "f1": exact,
                "span_exact": exact,
                "span_f1": exact,
            }
        )
    _write_lines(tmp_path / "answers.jsonl", rows)
    content = numbers.read(str(tmp_path))
    assert [score.value for score in content.scores] == pytest.approx([1 / 3, 1 / 3])
    assert content.scores[0].baseline == pytest.approx(1 / 3)
    for score in content.scores:
        assert 0 <= score.low < score.value < score.high <= 1
    (curve,) = content.lines.values()
    # With the lowest threshold one question is answered, with the highest all of them are.
    assert curve["exact"][0] == (-2, pytest.approx(2 / 3))
    assert curve["exact"][-1] == (1, pytest.approx(1 / 3))
    groups = [table.rows for table in content.tables if table.title == "By question word"]
    assert groups == [[("who", pytest.approx(1 / 3), pytest.approx(1 / 3), 3)]]


def test_intervals_hold_the_truth_as_often_as_they_say():
    """95 of 100 samples; a sample of 400 intervals has between 92 and 98."""
    random = np.random.default_rng(1)
    truth = _f1_of_many_sentences()
    held = 0
    for _ in range(400):
        gold = random.integers(1, 4, size=60)
        correct = random.binomial(gold, 0.6)
        guessed = np.maximum(correct, random.binomial(gold, 0.9))
        score = intervals.f1_of_counts(correct, guessed, gold)
        held += score.low < truth < score.high
    assert 0.92 <= held / 400 <= 0.98


def _f1_of_many_sentences() -> float:
    random = np.random.default_rng(2)
    gold = random.integers(1, 4, size=400_000)
    correct = random.binomial(gold, 0.6)
    guessed = np.maximum(correct, random.binomial(gold, 0.9))
    return 2 * correct.sum() / (gold.sum() + guessed.sum())


def test_correlation_has_the_interval_of_scipy():
    x = _RANDOM.normal(size=80)
    y = x + _RANDOM.normal(size=80)
    score = intervals.correlation("pearson", x, y)
    interval = scipy.stats.pearsonr(x, y).confidence_interval()
    assert (score.low, score.high) == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert intervals.correlation("pearson", np.ones(5), x[:5]).value == 0.0


def test_long_and_endless_curves():
    assert pictures.lines("x", {"train": [(1, float("nan")), (2, float("inf"))]}) == ""
    drawing = pictures.lines("x", {"train": [(step, step**0.5) for step in range(100_000)]})
    assert len(drawing) < 10_000
    # A single value has an axis, too.
    assert "circle" in pictures.lines("x", {"train": [(5, 0.0)]})


def test_plots_and_comparisons_have_the_numbers_of_the_report(classifier):
    (classifier / "eval_results.json").write_text('{"accuracy": 0.75, "degenerate": "all one"}')
    content = numbers.read(str(classifier))
    (picture,) = plotting.curves(plotting.PlotOptions(sources=(str(classifier),)))
    with new_figure(*picture.size) as figure:
        picture.draw(figure)
        train, evaluation = figure.axes[0].lines
    splits = content.curves["loss"]
    assert train.get_xydata().tolist() == [list(point) for point in splits["train"]]
    assert evaluation.get_xydata().tolist() == [list(point) for point in splits["eval"]]
    other = classifier / "other"
    other.mkdir()
    _write_lines(other / "metrics.jsonl", [{"step": 4, "split": "eval", "accuracy": 0.5}])
    first, second = compare.read_groups([str(classifier), str(other)])
    (table,) = [table for table in content.tables if table.title == "Last evaluation"]
    assert first.runs[0].scores == dict(table.rows)
    # A run without a final evaluation has that of its training.
    assert second.runs[0].scores == {"accuracy": 0.5}
