import json
import os
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib import image

from bert_common.errors import UserError
from bert_tf import plotting
from bert_tf.plotting import PlotOptions, line_style, marker_style, names_of, run
from bert_tf.tables import new_figure
from tests.tiny import write_tiny


def write_metrics(folder, offset: float = 0.0) -> str:
    """A run of four reports and two evaluations, the last line cut off."""
    folder.mkdir(exist_ok=True)
    lines = [
        {
            "step": step,
            "split": split,
            "loss": 4 - step / 10 + offset,
            "masked_lm_accuracy": step / 50,
            **({"learning_rate": 1e-3} if split == "train" else {}),
        }
        for step, split in (
            (10, "train"),
            (20, "train"),
            (20, "eval"),
            (30, "train"),
            (40, "train"),
            (40, "eval"),
        )
    ]
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines) + '{"step": 5'
    )
    return str(folder)


def options(*sources, **changes) -> PlotOptions:
    return PlotOptions(sources=tuple(map(str, sources)), **changes)


def drawn(picture) -> list:
    with new_figure(*picture.size) as figure:
        picture.draw(figure)
        figure.canvas.draw()
        return figure.axes


def test_curves_of_several_runs(tmp_path):
    sources = [write_metrics(tmp_path / name, offset) for name, offset in (("one", 0), ("two", 1))]
    (picture,) = plotting.curves(options(*sources))
    loss, accuracy = drawn(picture)
    assert (loss.get_title(), loss.get_ylabel()) == ("loss", "nats")
    assert (accuracy.get_title(), accuracy.get_ylabel()) == ("masked LM accuracy", "share")
    assert accuracy.get_xlabel() == "step"
    train, evaluation, other, _ = loss.lines
    np.testing.assert_allclose(train.get_xydata(), [[10, 3], [20, 2], [30, 1], [40, 0]])
    np.testing.assert_allclose(evaluation.get_xydata(), [[20, 2], [40, 0]])
    np.testing.assert_allclose(other.get_ydata(), [4, 3, 2, 1])
    # Told apart without colors: runs by their dashes, evaluations by markers.
    assert (
        train.get_linestyle() != other.get_linestyle()
        and evaluation.get_marker() != train.get_marker()
    )
    (legend,) = figure_legends(picture)
    assert legend == ["one", "two", "training", "evaluation"]
    (picture,) = plotting.curves(options(sources[0], metrics=("learning_rate",)))
    assert [axes.get_title() for axes in drawn(picture)] == ["learning rate"]


def figure_legends(picture) -> list[list[str]]:
    with new_figure(*picture.size) as figure:
        picture.draw(figure)
        return [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]


def test_a_directory_of_runs_is_compared(tmp_path):
    """Directly below, or below its selections; runs of other scripts are named in place of a
    picture."""
    for number in range(20):
        write_metrics(
            tmp_path / f"a_run_with_a_name_that_is_too_long_for_legends_lr_0.{number:03d}_seed_1"
        )
    (picture,) = plotting.curves(options(tmp_path))
    (legend,) = figure_legends(picture)
    names = [f"a_run_with_a_name…ds_lr_0.{number:03d}_seed_1" for number in range(20)]
    assert legend == [*names, "training", "evaluation"]
    assert len({str(line_style(number)) for number in range(42)}) == 42
    # In grey, too.
    assert len({str(line_style(number)["linestyle"]) for number in range(6)}) == 6
    assert len({marker_style(number)["marker"] for number in range(6)}) == 6
    two = tmp_path / "two"
    two.mkdir()
    write_metrics(two / "reviews")
    (two / "other").mkdir()
    write_metrics(two / "other" / "squad")
    (two / "other" / "squad" / "flags.json").write_text('{"script": "run_squad.py"}')
    with pytest.raises(
        UserError,
        match=f"{two} holds runs of several scripts, .*reviews .*other/squad .run_squad.py",
    ):
        run(options(two))
    assert figure_legends(*plotting.curves(options(two / "other")))[0][0] == "squad"


def test_perplexity_is_drawn_on_a_logarithmic_axis(tmp_path):
    lines = [
        {"step": step, "split": "eval", "masked_lm_perplexity": value}
        for step, value in ((1, 2e4), (2, float("inf")), (3, 300.0))
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (axes,) = drawn(*plotting.curves(options(tmp_path)))
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "masked LM perplexity (log)"
    _, evaluation = axes.lines
    np.testing.assert_array_equal(evaluation.get_ydata(), [2e4, np.nan, 300])


def test_names_tell_paths_apart():
    assert names_of(["out/run"]) == ["run"]
    assert names_of(["a/b/c", "a/d/c/"]) == ["b/c", "d/c"]
    assert names_of(["run", "run/best"]) == ["run", "run/best"]


def write_selection(folder) -> str:
    one = {"train_batch_size": 16, "num_train_epochs": 3, "others": {"dropout": 0.1}}
    found = [
        {
            **one,
            "learning_rate": rate,
            "seed": seed,
            "metrics": {"accuracy": score},
            "degenerate": score == 0.5,
        }
        for rate, seed, score in ((1e-4, 1, 0.7), (1e-4, 2, 0.9), (1e-3, 1, 0.5), (1e-3, 2, None))
    ]
    (folder / "selection.json").write_text(
        json.dumps({"main_metric": "accuracy", "best": found[1], "runs": found})
    )
    return str(folder)


def test_a_selection(tmp_path):
    (picture,) = plotting.selection(options(write_selection(tmp_path)))
    (axes,) = drawn(picture)
    mean, points, degenerate = axes.lines[:3]
    np.testing.assert_allclose(mean.get_xydata(), [[1e-4, 0.8], [1e-3, 0.5]])
    np.testing.assert_allclose(points.get_ydata(), [0.7, 0.9, 0.5])
    np.testing.assert_allclose(degenerate.get_xydata(), [[1e-3, 0.5]])
    assert (
        axes.get_xscale() == "log"
        and "learning rate" in axes.get_xlabel()
        and "accuracy" in axes.get_ylabel()
    )
    (texts,) = figure_legends(picture)
    assert texts == ["batch 16, epochs 3, dropout 0.1", "predicts one class only"]
    # Without any score.
    path = tmp_path / "selection.json"
    found = json.loads(path.read_text())
    for one in (found["best"], *found["runs"]):
        one["metrics"] = {"accuracy": None}
    path.write_text(json.dumps(found))
    assert "best nan" in drawn(*plotting.selection(options(str(tmp_path))))[0].get_title()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    return write_tiny(tmp_path_factory.mktemp("model") / "", "masked_lm")


def test_attention_sums_to_one(checkpoint):
    (picture,) = plotting.attention(
        options(checkpoint, sentence="the array ||| is sorted [MASK]", layer=0)
    )
    *heads, _ = drawn(picture)
    assert len(heads) == 2 and heads[1].get_title() == "layer 0, head 1"
    tokens = [label.get_text() for label in heads[0].get_xticklabels()]
    assert tokens == ["[CLS]", "the", "array", "[SEP]", "is", "sort", "##ed", "[MASK]", "[SEP]"]
    for axes in heads:
        np.testing.assert_allclose(axes.images[0].get_array().sum(axis=1), 1, atol=1e-5)
    with pytest.raises(UserError, match="--layer=3: the model has 3 layers"):
        plotting.attention(options(checkpoint, sentence="a", layer=3))
    with pytest.raises(UserError, match="--sentence has 42 tokens, at most 24"):
        plotting.attention(options(checkpoint, sentence="a " * 40))


def test_the_command_draws_all_there_is(checkpoint, tmp_path, capsys):
    write_metrics(tmp_path)
    write_selection(tmp_path)
    target = tmp_path / "plots"
    run(options(tmp_path))
    names = ["curves.png", "curves.svg", "selection.png", "selection.svg"]
    assert sorted(os.listdir(target)) == names
    assert capsys.readouterr().out.splitlines() == [str(target / name) for name in names]
    assert image.imread(target / "curves.png").std() > 0.01
    svg = (target / "curves.svg").read_bytes()
    assert "masked LM accuracy" in "".join(xml.etree.ElementTree.fromstring(svg).itertext())
    run(options(tmp_path, what=("curves",), formats=("svg",)))
    assert (target / "curves.svg").read_bytes() == svg
    run(
        options(
            checkpoint,
            sentence="the array",
            output_dir=str(tmp_path / "attention"),
            formats=("pdf",),
        )
    )
    assert os.listdir(tmp_path / "attention") == ["attention.pdf"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"sources": ()}, "nothing to draw: name"),
        ({"what": ("attention",)}, "--what=attention needs a --sentence"),
        ({"sources": ("nowhere",)}, "nowhere does not exist"),
        (
            {"what": ("selection",)},
            "--what=selection: .* has nothing for it; it needs a directory with selection.json",
        ),
        ({}, "there is nothing to draw"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path, changes, message):
    made = PlotOptions(**{"sources": (str(tmp_path),), **changes})
    with pytest.raises(UserError, match=message):
        made.check()
        run(made)
    assert not list(tmp_path.iterdir())
