"""What is found in a source, what is drawn of it, and what is refused."""

import itertools
import json
import os
import pathlib
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib import image
from matplotlib.text import Text

from bert_common.errors import UserError
from bert_tf.evaluation.drawing import new_figure
from bert_tf.plotting import models, records, runs
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import line_style, marker_style, names_of, shortened
from bert_tf.plotting.plot import run
from tests.tiny import TOKENS, write_tiny


def write_metrics(folder, offset: float = 0.0) -> str:
  """A run of four reports and two evaluations, the last line cut off."""
  folder.mkdir(exist_ok=True)
  lines = [{"step": step, "split": split, "loss": 4 - step / 10 + offset, "masked_lm_accuracy": step / 50,
            **({"learning_rate": 1e-3} if split == "train" else {})}
           for step, split in ((10, "train"), (20, "train"), (20, "eval"), (30, "train"), (40, "train"), (40, "eval"))]
  (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 5')
  return str(folder)


def options(*sources, **changes) -> PlotOptions:
  return PlotOptions(sources=tuple(map(str, sources)), **changes)


def drawn(picture) -> list:
  """The axes of a picture."""
  with new_figure(*picture.size) as figure:
    picture.draw(figure)
    figure.canvas.draw()
    return figure.axes


def test_curves_of_several_runs(tmp_path):
  sources = [write_metrics(tmp_path / name, offset) for name, offset in (("one", 0), ("two", 1))]
  (picture,) = runs.curves(options(*sources))
  loss, accuracy = drawn(picture)
  assert (loss.get_title(), loss.get_ylabel()) == ("loss", "nats")
  assert (accuracy.get_title(), accuracy.get_ylabel()) == ("masked LM accuracy", "share")
  assert accuracy.get_xlabel() == "step"
  train, evaluation, other, _ = loss.lines
  np.testing.assert_allclose(train.get_xydata(), [[10, 3], [20, 2], [30, 1], [40, 0]])
  np.testing.assert_allclose(evaluation.get_xydata(), [[20, 2], [40, 0]])
  np.testing.assert_allclose(other.get_ydata(), [4, 3, 2, 1])
  # Told apart without colours: runs by their dashes, evaluations by markers.
  assert train.get_linestyle() != other.get_linestyle() and evaluation.get_marker() != train.get_marker()
  (legend,) = figure_legends(picture)
  assert legend == ["one", "two", "training", "evaluation"]
  (picture,) = runs.curves(options(sources[0], metrics=("learning_rate",)))
  assert [axes.get_title() for axes in drawn(picture)] == ["learning rate"]


def figure_legends(picture) -> list[list[str]]:
  with new_figure(*picture.size) as figure:
    picture.draw(figure)
    return [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]


def test_a_directory_of_runs_is_compared(tmp_path):
  """Directly below, or below its selections; runs of other scripts are named in place of a picture."""
  for number in range(20):
    write_metrics(tmp_path / f"a_run_with_a_name_that_is_too_long_for_legends_lr_0.{number:03d}_seed_1")
  (picture,) = runs.curves(options(tmp_path))
  (legend,) = figure_legends(picture)
  assert legend == [*(f"…lr_0.{number:03d}…" for number in range(20)), "training", "evaluation"]
  assert len({str(line_style(number)) for number in range(42)}) == 42
  two = tmp_path / "two"
  two.mkdir()
  write_metrics(two / "reviews")
  (two / "other").mkdir()
  write_metrics(two / "other" / "squad")
  (two / "other" / "squad" / "flags.json").write_text('{"script": "run_squad.py"}')
  with pytest.raises(UserError, match=f"{two} holds runs of several scripts, .*reviews .*other/squad .run_squad.py"):
    run(options(two))
  assert len(figure_legends(*runs.curves(options(two / "other")))[0]) == 2


def test_names_of_runs_are_short_and_distinct():
  assert shortened(["a"]) == ["a"] and shortened(["a", "b"]) == ["a", "b"]
  long = "x" * 40
  assert shortened([f"{long}_lr_{rate}_seed_{seed}" for rate in (1, 2) for seed in (1, 2)]) == [
      "…lr_1_seed_1", "…lr_1_seed_2", "…lr_2_seed_1", "…lr_2_seed_2"]
  names = [f"{side}{long}{letter}{long}" for side in "ab" for letter in "xy"]
  assert len(set(shortened(names))) == 4


def test_perplexity_is_drawn_on_a_logarithmic_axis(tmp_path):
  lines = [{"step": step, "split": "eval", "masked_lm_perplexity": value} for step, value in (
      (1, 2e4), (2, float("inf")), (3, 300.0))]
  (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
  (axes,) = drawn(*runs.curves(options(tmp_path)))
  assert axes.get_yscale() == "log" and axes.get_ylabel() == "masked LM perplexity (log)"
  np.testing.assert_array_equal(axes.lines[0].get_ydata(), [2e4, np.nan, 300])
  assert "1,000" in [label.get_text() for label in axes.get_yticklabels()]


def test_a_single_point_can_be_seen(tmp_path):
  (tmp_path / "metrics.jsonl").write_text('{"step": 1, "split": "train", "loss": 2.5}\n')
  (axes,) = drawn(*runs.curves(options(tmp_path)))
  assert axes.lines[0].get_marker() == "o"


def test_baselines_are_those_of_the_development_set(tmp_path):
  write_metrics(tmp_path)
  (tmp_path / "eval_results.json").write_text('{"masked_lm_baseline_most_frequent": 0.06}')
  loss, accuracy = drawn(*runs.curves(options(tmp_path)))
  assert accuracy.lines[-1].get_ydata() == [0.06, 0.06] and len(loss.lines) == 2
  assert figure_legends(*runs.curves(options(tmp_path)))[0][-1] == "most frequent answer, or chance"
  (tmp_path / "eval_predictions.jsonl").write_text("".join(
      json.dumps({"true_label": label}) + "\n" for label in ("yes", "yes", "no")))
  assert runs.baselines(str(tmp_path))["accuracy"] == pytest.approx(2 / 3)


def test_lines_and_markers_differ_without_colour():
  assert len({str(line_style(number)["linestyle"]) for number in range(6)}) == 6
  assert len({marker_style(number)["marker"] for number in range(6)}) == 6


def test_names_tell_paths_apart():
  assert names_of(["out/run"]) == ["run"]
  assert names_of(["a/b/c", "a/d/c/"]) == ["b/c", "d/c"]
  assert names_of(["run", "run/best"]) == ["run", "run/best"]


def write_selection(folder) -> str:
  one = {"train_batch_size": 16, "num_train_epochs": 3, "others": {"dropout": 0.1}}
  found = [{**one, "learning_rate": rate, "seed": seed, "metrics": {"accuracy": score}, "degenerate": score == 0.5}
           for rate, seed, score in ((1e-4, 1, 0.7), (1e-4, 2, 0.9), (1e-3, 1, 0.5), (1e-3, 2, None))]
  (folder / "selection.json").write_text(json.dumps({"main_metric": "accuracy", "best": found[1], "runs": found}))
  return str(folder)


def test_a_selection(tmp_path):
  (picture,) = runs.selection(options(write_selection(tmp_path)))
  (axes,) = drawn(picture)
  mean, points, degenerate = axes.lines[:3]
  np.testing.assert_allclose(mean.get_xydata(), [[1e-4, 0.8], [1e-3, 0.5]])
  np.testing.assert_allclose(points.get_ydata(), [0.7, 0.9, 0.5])
  np.testing.assert_allclose(degenerate.get_xydata(), [[1e-3, 0.5]])
  assert axes.get_xscale() == "log" and "learning rate" in axes.get_xlabel() and "accuracy" in axes.get_ylabel()
  (texts,) = figure_legends(picture)
  assert texts == ["batch 16, epochs 3, dropout 0.1", "predicts one class only"]


@pytest.mark.parametrize("change, message", [
    (lambda found: found.pop("main_metric"), "there is no 'main_metric'"),
    (lambda found: found["best"].pop("seed"), "there is no 'best.seed', a whole number is expected"),
    (lambda found: found["runs"][2].update(metrics=[1]), r"'runs\[2\].metrics' is \[1\]"),
    (lambda found: found["runs"][1].update(learning_rate="high"), r"'runs\[1\].learning_rate' is \"high\""),
    (lambda found: found["runs"][0]["others"].update(dropout=[0.1]), r"'runs\[0\].others' is"),
    (lambda found: found.update(runs=[3]), r"'runs' is \[3\]")])
def test_an_edited_selection_is_refused(tmp_path, change, message):
  path = tmp_path / "selection.json"
  found = json.loads((pathlib.Path(write_selection(tmp_path)) / "selection.json").read_text())
  change(found)
  path.write_text(json.dumps(found))
  with pytest.raises(UserError, match=f"selection.json: {message}"):
    runs.selection(options(str(tmp_path)))


def test_a_selection_without_any_score(tmp_path):
  write_selection(tmp_path)
  path = tmp_path / "selection.json"
  found = json.loads(path.read_text())
  for one in (found["best"], *found["runs"]):
    one["metrics"] = {"accuracy": None}
  path.write_text(json.dumps(found))
  assert "best nan" in drawn(*runs.selection(options(str(tmp_path))))[0].get_title()


def write_records(folder) -> str:
  """Records as `create_pretraining_data.py` writes them: three of 12 and 8 tokens, with three masks each."""
  from data_gen.pretraining.masking import Masked
  from data_gen.pretraining.record_writer import RecordWriter, sequence_features
  from data_gen.pretraining.schema import Schema

  ids = np.arange(6, 18) * np.ones((3, 1), int)
  length, positions = np.array([12, 8, 8]), np.array([[1, 3, 5]] * 3)
  labels = ids[:, :3] + 20
  # The first mask shows [MASK], the second another token, the third the token itself.
  ids[:, 1], ids[:, 3], ids[:, 5] = 4, 9, labels[:, 2]
  ids[0, 3] = 4
  ids *= np.arange(12) < length[:, None]
  masked = Masked(ids, positions, labels, np.array([3, 3, 3]), {})
  data = RecordWriter(Schema(12, 3), 50).encode(
      sequence_features(ids, length, length // 2, np.array([0, 1, 1]), masked))
  (folder / "a.tfrecord").write_bytes(data)
  means = {"mean_length": 9.3, "mean_segment_a": 4.0, "mean_segment_b": 2.5, "share_mask": 0.8, "share_random": 0.1,
           "share_kept": 0.1}
  (folder / "a.tfrecord.stats.json").write_text(json.dumps(
      {"instances": 3, "max_seq_length": 12, "shards": [{"file": "a.tfrecord"}], "statistics": means}))
  (folder / "flags.json").write_text(json.dumps(
      {"script": "run_pretraining.py", "flags": {"input_file": f"{folder}/*.tfrecord"}}))
  return str(folder / "a.tfrecord")


def test_records(tmp_path):
  path = write_records(tmp_path)
  (picture,) = records.records(options(path))
  by_length, by_masked, by_position, by_kind = drawn(picture)
  assert sum(bar.get_height() for bar in by_length.patches) == 3
  assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in by_masked.patches] == [(3, 3)]
  heights = [bar.get_height() for bar in by_position.patches]
  assert [number for number, height in enumerate(heights) if height] == [1, 3, 5] and max(heights) == 100
  np.testing.assert_allclose([bar.get_height() for bar in by_kind.patches], [400 / 9, 200 / 9, 300 / 9])
  # They are found beside their statistics, and through the flags of a run.
  for source in (f"{path}.stats.json", tmp_path):
    (other,) = records.records(options(source))
    np.testing.assert_equal(other.draw.keywords, picture.draw.keywords)
  with pytest.raises(UserError, match="not a TFRecord|ends inside"):
    (tmp_path / "a.tfrecord").write_bytes(b"some text, no record")
    records.records(options(path))


def test_records_without_masks_have_no_empty_panels():
  none = np.array([], int)
  with new_figure(9, 6) as figure:
    records._draw(figure, np.array([5, 8]), np.array([0, 0]), none, {}, 8, 0.5, "a set")
    (axes,) = figure.axes
    assert sum(bar.get_height() for bar in axes.patches) == 2 and "without masks" in figure.get_supxlabel()


def test_statistics_without_records(tmp_path):
  path = write_records(tmp_path)
  os.remove(path)
  (picture,) = records.records(options(tmp_path))
  assert records.records(options(f"{path}.stats.json"))[0].draw.keywords == picture.draw.keywords
  parts, by_kind = drawn(picture)
  assert [bar.get_width() for bar in parts.patches] == pytest.approx([4, 2.5, 2.8, 2.7])
  assert [bar.get_height() for bar in by_kind.patches] == pytest.approx([80, 10, 10])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
  return write_tiny(tmp_path_factory.mktemp("model") / "", "masked_lm")


def test_attention_sums_to_one(checkpoint):
  (picture,) = models.attention(options(checkpoint, sentence="the array ||| is sorted [MASK]", layer=0))
  *heads, _ = drawn(picture)
  assert len(heads) == 2 and heads[1].get_title() == "layer 0, head 1"
  tokens = [label.get_text() for label in heads[0].get_xticklabels()]
  assert tokens == ["[CLS]", "the", "array", "[SEP]", "is", "sort", "##ed", "[MASK]", "[SEP]"]
  for axes in heads:
    np.testing.assert_allclose(axes.images[0].get_array().sum(axis=1), 1, atol=1e-5)
  with pytest.raises(UserError, match="--layer=3: the model has 3 layers"):
    models.attention(options(checkpoint, sentence="a", layer=3))
  with pytest.raises(UserError, match="--sentence has 42 tokens, at most 24"):
    models.attention(options(checkpoint, sentence="a " * 40))


def test_the_plane_keeps_the_largest_distances():
  vectors = np.random.default_rng(1).normal(size=(30, 8)) * [9, 4, 1, 1, 1, 1, 1, 1] + 100
  points, shares = models.plane(vectors)
  centred = vectors - vectors.mean(axis=0)
  assert abs(np.corrcoef(points[:, 0], centred[:, 0])[0, 1]) > 0.98 and shares[0] > shares[1] > 0.05
  assert (points**2).sum() == pytest.approx(shares.sum() * (centred**2).sum())


def test_embeddings_show_tokens(checkpoint):
  (picture,) = models.embeddings(options(checkpoint))
  (axes,) = drawn(picture)
  words = [text.get_text() for text in axes.texts]
  assert "array" in words and "##s" not in words and "[CLS]" not in words
  (picture,) = models.embeddings(options(checkpoint, tokens=("a", "##s", "[CLS]")))
  assert [text.get_text() for text in drawn(picture)[0].texts] == ["a", "##s", "[CLS]"]
  with pytest.raises(UserError, match="--tokens: 'nothing' is not in"):
    models.embeddings(options(checkpoint, tokens=("nothing",)))


def test_labels_of_embeddings_do_not_collide():
  vectors = np.random.default_rng(1).normal(size=(60, 2))
  tokens = [f"token{number}" for number in range(60)]
  with new_figure(6, 5) as figure:
    models._draw_embeddings(figure, tokens, vectors, "a run")
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_title() == "a run: word embeddings of 60 tokens"
    texts = [text for text in axes.texts if text.get_visible()]
    boxes = [Text.get_window_extent(text) for text in texts]
  assert len(texts) >= 40
  assert not [one for one, other in itertools.combinations(boxes, 2) if one.shrunk(0.9, 0.9).overlaps(other)]


def test_tensorboard_finds_the_projector(checkpoint, tmp_path):
  from tensorboard.plugins.base_plugin import TBContext
  from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin

  from modeling.checkpoints.load import read_checkpoint

  models.write_projector(options(checkpoint, projected=9), str(tmp_path))
  assert (tmp_path / "word_embeddings.tsv").read_text().splitlines() == [
      "token\tid", *(f"{token}\t{number}" for number, token in enumerate(TOKENS[:9]))]
  vectors = np.fromfile(tmp_path / "word_embeddings.bytes", "<f4").reshape(9, -1)
  np.testing.assert_array_equal(vectors, read_checkpoint(checkpoint).read("bert/embeddings/word_embeddings")[:9])

  class NoEvents:

    def list_runs(self, context, experiment_id):
      return []

  plugin = ProjectorPlugin(TBContext(logdir=str(tmp_path), data_provider=NoEvents()))
  plugin._determine_is_active()
  assert plugin.is_active()


def test_the_command_draws_all_there_is(checkpoint, tmp_path, capsys):
  write_metrics(tmp_path)
  write_records(tmp_path)
  target = tmp_path / "plots"
  run(options(tmp_path))
  names = ["curves.png", "curves.svg", "records.png", "records.svg"]
  assert sorted(os.listdir(target)) == names
  assert capsys.readouterr().out.splitlines() == [str(target / name) for name in names]
  assert image.imread(target / "curves.png").std() > 0.01
  svg = (target / "curves.svg").read_bytes()
  assert "masked LM accuracy" in "".join(xml.etree.ElementTree.fromstring(svg).itertext())
  run(options(tmp_path, what=("curves",), formats=("svg",)))
  assert (target / "curves.svg").read_bytes() == svg
  run(options(checkpoint, what=("projector",), output_dir=str(tmp_path / "board")))
  assert f"tensorboard --logdir={tmp_path / 'board' / 'projector'}, page Projector" in capsys.readouterr().out
  assert len(list((tmp_path / "board" / "projector").iterdir())) == 3


@pytest.mark.parametrize("changes, message", [
    ({"sources": ("nowhere",)}, "nowhere does not exist"),
    ({"what": ("selection",)}, "--what=selection: .* has nothing for it; it needs a directory with selection.json"),
    ({"what": ("projector",)}, "--what=projector: .* holds no checkpoint"),
    ({}, "there is nothing to draw"),
])
def test_what_is_not_there_is_refused(tmp_path, changes, message):
  with pytest.raises(UserError, match=message):
    run(options(tmp_path, **{name: value for name, value in changes.items() if name != "sources"})
        if "sources" not in changes else options(*changes["sources"]))
  assert not list(tmp_path.iterdir())


def test_a_source_on_an_unknown_file_system():
  with pytest.raises(UserError, match="can't read gone://bucket/x: "):
    run(options("gone://bucket/x"))


def test_metrics_that_are_not_there(tmp_path):
  with pytest.raises(UserError, match="there is no f1 in metrics.jsonl; there are learning_rate, loss, masked_lm_acc"):
    runs.curves(options(write_metrics(tmp_path), metrics=("f1",)))
  (tmp_path / "metrics.jsonl").write_text('{"step": 1, "split": "train"}\nrubbish\n')
  with pytest.raises(UserError, match="metrics.jsonl:2: not JSON"):
    runs.curves(options(tmp_path))


@pytest.mark.parametrize("changes, message", [
    ({"sources": ()}, "nothing to draw: name"), ({"what": ("attention",)}, "--what=attention needs a --sentence"),
    ({"what": ("curve",)}, "--what=curve is unknown"), ({"formats": ("bmp",)}, "--formats=bmp is unknown")])
def test_options_that_can_not_be(changes, message):
  with pytest.raises(UserError, match=message):
    PlotOptions(**{"sources": ("a",), **changes}).check()
