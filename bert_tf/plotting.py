"""Plots for `plot.py`: curves from `metrics.jsonl`, scores by learning rate from `selection.json`,
attention of a checkpoint.

Lines differ in dashes and markers as well as in color, so the plots can be printed in gray.
"""

import dataclasses
import functools
import glob
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError, say
from bert_common.options import Options, option, option_class
from bert_tf import charts
from bert_tf.tables import new_figure, shorten
from modeling.checkpoints.companion_files import FLAGS_FILE, METRICS_FILE

# Kinds of plots in the order they are drawn → the source that each needs.
_KINDS = {
    "curves": "a run directory with metrics.jsonl",
    "selection": "a directory with selection.json",
    "attention": "a checkpoint with its vocabulary, and --sentence",
}
_MAX_PANELS = 8
_SENTENCE_SEPARATOR = "|||"
# Labels of more tokens would overlap.
_MAX_TOKENS = 48
_MAX_NAME_LENGTH = 36

# The palette of Okabe and Ito, which color-blind people can tell apart, without its yellow, which
# is hard to see on white.
_COLORS = ("#0072B2", "#D55E00", "#000000", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_MARKERS = "os^Dv*"
_SPLIT_STYLES = {
    "train": {"linewidth": 1, "alpha": 0.7},
    "eval": {"linewidth": 1.8, "marker": "o", "markersize": 4.5},
}
# Files without a date are byte-identical for the same plot.
_METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A plot to draw.

    Attributes:
      name: of the files, without extension.
      draw: draws into a figure.
      size: width and height, inches.
    """

    name: str
    draw: Callable
    size: tuple[float, float] = (7, 4.5)


@option_class
class PlotOptions(Options):
    """Plots."""

    sources: tuple[str, ...] = ()
    what: tuple[str, ...] = option(
        (),
        "Kinds of plots.",
        choices=tuple(_KINDS),
        default_text="all there is; attention with --sentence",
    )
    output_dir: str | None = option(
        None,
        "Directory of the plots.",
        default_text="plots/ in the first directory named",
        path=True,
    )
    formats: tuple[str, ...] = option(
        ("png", "svg"), "Formats of the files.", choices=("png", "svg", "pdf")
    )
    metrics: tuple[str, ...] = option(
        (),
        "Metrics of the curves, by their names in metrics.jsonl.",
        default_text="losses and quality",
    )
    sentence: str | None = option(
        None, "Sentence whose attention is drawn; a second one after ' ||| '."
    )
    layer: int = option(-1, "Layer whose attention is drawn, from 0; -1 is the last one.")

    def check(self) -> None:
        super().check()
        if not self.sources:
            raise UserError(
                "nothing to draw: name a run directory or a checkpoint (--help explains)"
            )
        if "attention" in self.what and not self.sentence:
            raise UserError('--what=attention needs a --sentence="…"')


def run(options: PlotOptions) -> None:
    """Draws, and prints the paths of the plots; raises `UserError` if there is nothing to draw."""
    for path in options.sources:
        if not files.exists(path) and not files.exists(f"{path}.index"):
            raise UserError(f"{path} does not exist: a run directory or a checkpoint is expected")
    functions = {"curves": curves, "selection": selection, "attention": attention}
    sources = " and ".join(options.sources)
    pictures: list[Picture] = []
    kinds = options.what if options.what else tuple(_KINDS)
    for kind in kinds:
        new_pictures = functions[kind](options)
        if options.what and not new_pictures:
            raise UserError(f"--what={kind}: {sources} has nothing for it; it needs {_KINDS[kind]}")
        pictures += new_pictures
    if not pictures:
        raise UserError(f"{sources}: there is nothing to draw; {', '.join(_KINDS)} were looked for")
    directory = options.output_dir
    if not directory:
        first = options.sources[0]
        parent = first if files.is_directory(first) else os.path.dirname(first)
        directory = os.path.join(parent, "plots")
    files.make_output_directory(directory, "output_dir")
    for picture in pictures:
        say("\n".join(write(picture, directory, options.formats)))


def attention(options: PlotOptions) -> list[Picture]:
    """Plots the attention of every head of a layer, of the first source.

    Raises:
      UserError: the checkpoint can't be read, there is no such layer, or the sentence is too long.
    """
    if not options.sentence:
        return []
    # The other plots need no TensorFlow.
    import numpy as np

    from modeling.checkpoints.load import load_weights, open_checkpoint
    from modeling.encoder import BertEncoder

    checkpoint = open_checkpoint(options.sources[0])
    config = checkpoint.config
    vocabulary = checkpoint.tokenizer.vocabulary
    num_layers = config.num_hidden_layers
    if not -num_layers <= options.layer < num_layers:
        raise UserError(
            f"--layer={options.layer}: the model has {num_layers} layers, 0 to {num_layers - 1}, "
            f"or -{num_layers} to -1 from the end"
        )
    input_ids = [vocabulary.cls_id]
    segment_ids = [0]
    for segment, text in enumerate(options.sentence.split(_SENTENCE_SEPARATOR, 1)):
        ids = checkpoint.tokenizer.encode(text, special_tokens=True).tolist()
        input_ids += [*ids, vocabulary.sep_id]
        segment_ids += [segment] * (len(ids) + 1)
    max_tokens = min(_MAX_TOKENS, config.max_position_embeddings)
    if len(input_ids) > max_tokens:
        raise UserError(
            f"--sentence has {len(input_ids)} tokens, at most {max_tokens} can be drawn"
        )
    encoder = BertEncoder(config)
    load_weights(encoder, checkpoint.source)
    outputs = encoder(
        np.array([input_ids], np.int32),
        segment_ids=np.array([segment_ids], np.int32),
        return_attention_probabilities=True,
    )
    # Heads by queries by keys, [N, S, S].
    probabilities = np.asarray(outputs["attention_probabilities"][options.layer][0])
    num_columns = math.ceil(math.sqrt(len(probabilities)))
    num_rows = math.ceil(len(probabilities) / num_columns)
    side = max(2.2, 0.15 * len(input_ids) + 0.6)
    name = os.path.basename(os.path.normpath(options.sources[0]))
    draw = functools.partial(
        _draw_attention,
        tokens=[vocabulary.token_of(id) for id in input_ids],
        name=shorten(name, _MAX_NAME_LENGTH),
        probabilities=probabilities,
        layer=options.layer % num_layers,
        num_columns=num_columns,
    )
    return [Picture("attention", draw, (side * num_columns + 1.8, side * num_rows + 0.9))]


def _draw_attention(
    figure, tokens: Sequence[str], name: str, probabilities, layer: int, num_columns: int
) -> None:
    """Draws all heads on one scale of square roots, because most probabilities are small."""
    from matplotlib.colors import PowerNorm

    axes_of_heads = _panels(figure, len(probabilities), num_columns)
    # One scale for all heads makes them comparable.
    norm = PowerNorm(0.5, vmin=0, vmax=float(probabilities.max()))
    for number, (axes, matrix) in enumerate(zip(axes_of_heads, probabilities, strict=True)):
        image = axes.imshow(matrix, cmap="magma_r", norm=norm)
        axes.set_title(f"layer {layer}, head {number}", fontsize="small")
        axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
        axes.set_yticks(range(len(tokens)), tokens, fontsize=7)
        # Panels of a row share the labels of the first one, panels of a column those at the bottom.
        axes.tick_params(
            labelleft=number % num_columns == 0,
            labelbottom=number + num_columns >= len(probabilities),
        )
    figure.suptitle(f"{name}: attention in layer {layer}", fontsize="medium")
    figure.supylabel("query token", fontsize="small")
    figure.supxlabel("key token", fontsize="small")
    bar = figure.colorbar(image, ax=list(axes_of_heads), shrink=0.8)
    bar.set_label("attention probability (square-root scale)", fontsize="small")


def curves(options: PlotOptions) -> list[Picture]:
    """Plots losses and quality by step, all runs in one picture."""
    # The report reads runs with TensorFlow, which --help does without.
    from bert_tf.report import numbers
    from bert_tf.training.run_directory import read_metrics

    paths = []
    for source in options.sources:
        paths += with_runs_below(source)
    # Name of a run → its curves, as its report has them.
    runs: dict[str, dict[str, dict]] = {}
    available: dict[str, None] = {}
    for path, name in zip(paths, names_of(paths), strict=True):
        curves_of_run = numbers.curves(read_metrics(path))
        if curves_of_run:
            runs[shorten(name, _MAX_NAME_LENGTH)] = curves_of_run
        available.update(dict.fromkeys(curves_of_run))
    if not runs:
        return []
    for metric in options.metrics:
        if metric not in available:
            raise UserError(
                f"--metrics: there is no {metric} in {METRICS_FILE}; there are "
                f"{', '.join(sorted(available))}"
            )
    metrics = list(options.metrics)
    if not metrics:
        for group in (charts.LOSS, charts.QUALITY):
            metrics += [name for name in available if charts.find(name).group == group]
        metrics = metrics[:_MAX_PANELS]
    # Inches, with room for the legend below the panels.
    width = 9 if len(metrics) > 1 else 6
    height = 1.2 + 2.7 * math.ceil(len(metrics) / 2) + 0.1 * len(runs)
    draw = functools.partial(_draw_curves, runs=runs, metrics=metrics)
    return [Picture("curves", draw, (width, height))]


def with_runs_below(source: str) -> list[str]:
    """Returns the source, or the runs below it if it is a directory but no run.

    Raises:
      UserError: the runs are of several scripts, whose metrics can't be compared.
    """
    if files.exists(os.path.join(source, METRICS_FILE)) or not files.is_directory(source):
        return [source]
    # Runs are directly below, or below the selections there; a pattern with "**" would walk
    # through all checkpoints.
    scripts = {}
    for depth in ("*", os.path.join("*", "*")):
        for path in files.glob_files(os.path.join(glob.escape(source), depth, METRICS_FILE)):
            run_dir = os.path.dirname(path)
            flags = json_files.read_object(os.path.join(run_dir, FLAGS_FILE))
            scripts[run_dir] = str(flags.get("script"))
    if len(set(scripts.values())) > 1:
        runs = ", ".join(f"{run_dir} ({script})" for run_dir, script in scripts.items())
        raise UserError(
            f"{source} holds runs of several scripts, which are not compared: name those to draw: "
            f"{runs}"
        )
    return list(scripts) if scripts else [source]


def _draw_curves(figure, runs: Mapping[str, Mapping], metrics: Sequence[str]) -> None:
    """Draws a panel per metric: training as a thin line, evaluation as a thick one with markers.

    Args:
      runs: name of a run → its `numbers.curves`.
    """
    from matplotlib.lines import Line2D

    panels = _panels(figure, len(metrics), min(2, len(metrics)), sharex=True)
    for axes, metric in zip(panels, metrics, strict=True):
        for number, curves_of_run in enumerate(runs.values()):
            splits = curves_of_run.get(metric, {})
            for split, style in _SPLIT_STYLES.items():
                _draw_curve(axes, splits.get(split, []), {**line_style(number), **style})
        title = metric.replace("_", " ").replace("lm", "LM")
        axes.set_title(title, fontsize="medium")
        unit = charts.find(metric).unit
        if metric.endswith("perplexity"):
            axes.set_yscale("log")
            axes.set_ylabel(f"{title} (log)")
        else:
            axes.set_ylabel(unit if unit else title)
        axes.grid(alpha=0.3)
    # Panels share the axis of steps, whose labels are below the last ones.
    for axes in panels[-2:]:
        axes.set_xlabel("step")
        axes.tick_params(labelbottom=True)
    handles = []
    for number, name in enumerate(runs):
        handles.append(Line2D([], [], label=name, **line_style(number)))
    handles.append(Line2D([], [], label="training", color="0.35", **_SPLIT_STYLES["train"]))
    handles.append(Line2D([], [], label="evaluation", color="0.35", **_SPLIT_STYLES["eval"]))
    _legend_below(figure, handles=handles)


def _draw_curve(axes, points: Sequence[tuple], style: Mapping[str, object]) -> None:
    """Draws the points (step, value) of a metric, if there are any."""
    steps = []
    values = []
    for step, value in points:
        steps.append(step)
        # matplotlib leaves a gap at NaN, but stretches the axis for infinite values.
        values.append(value if math.isfinite(value) else math.nan)
    # A single point has no line, and needs a marker.
    markers = {"marker": "o", "markersize": 4} if len(steps) == 1 else {}
    axes.plot(steps, values, **{**markers, **style})


def selection(options: PlotOptions) -> list[Picture]:
    """Plots the main metric of every run against its learning rate, a picture per selection."""
    from bert_tf.report import numbers

    pictures = []
    for path, name in zip(options.sources, names_of(options.sources), strict=True):
        content = numbers.selection(path)
        if content.get("runs"):
            draw = functools.partial(
                _draw_selection, content=content, name=shorten(name, _MAX_NAME_LENGTH)
            )
            if len(options.sources) > 1:
                picture_name = f"selection_{name.replace('/', '_')}"
            else:
                picture_name = "selection"
            pictures.append(Picture(picture_name, draw, (7, 5)))
    return pictures


def _draw_selection(figure, content: dict, name: str) -> None:
    """Draws a point for each run, and a line of means for each setting without its learning
    rate."""
    axes = figure.add_subplot()
    metric = content["main_metric"]
    settings: dict[str, list[dict]] = {}
    degenerate = []
    for run in content["runs"]:
        # Diverged runs have no score, which `selection.json` has as null.
        if run["metrics"].get(metric) is not None:
            settings.setdefault(_setting_label(run), []).append(run)
            if run.get("degenerate"):
                degenerate.append(run)
    for number, (label, runs) in enumerate(settings.items()):
        scores: dict[float, list[float]] = {}
        for run in sorted(runs, key=lambda run: run["learning_rate"]):
            scores.setdefault(run["learning_rate"], []).append(run["metrics"][metric])
        means = [statistics.fmean(repetitions) for repetitions in scores.values()]
        axes.plot(list(scores), means, label=label, **line_style(number))
        _draw_runs(axes, runs, metric, fillstyle="none", markersize=6, **marker_style(number))
    if degenerate:
        label = "predicts one class only"
        _draw_runs(axes, degenerate, metric, marker="x", color="black", markersize=9, label=label)
    # Learning rates are usually tried in powers.
    axes.set_xscale("log")
    rates = sorted({run["learning_rate"] for run in content["runs"]})
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    # Only the rates that were tried are labeled.
    axes.minorticks_off()
    best = content["best"]
    score = best["metrics"].get(metric)
    best_score = math.nan if score is None else score
    axes.set(
        xlabel="learning rate (logarithmic)",
        ylabel=f"{metric.replace('_', ' ')} on the development set",
        title=f"{name}: best {best_score:.4g} at {best['learning_rate']:g}, seed {best['seed']}\n"
        "one point per seed, lines through the means",
    )
    axes.title.set_fontsize("medium")
    axes.grid(alpha=0.3)
    if settings:
        _legend_below(figure)


def _setting_label(run: Mapping) -> str:
    """Returns the options of a run in a selection, without learning rate and seed."""
    values = {
        "batch": run["train_batch_size"],
        "epochs": run["num_train_epochs"],
        **(run.get("others") or {}),
    }
    parts = []
    for name, value in values.items():
        if isinstance(value, (int, float)):
            value = f"{value:g}"
        parts.append(f"{name} {value}")
    return ", ".join(parts)


def _draw_runs(axes, runs: Sequence[Mapping], metric: str, **style: object) -> None:
    """Draws a point for each run."""
    rates = [run["learning_rate"] for run in runs]
    scores = [run["metrics"][metric] for run in runs]
    axes.plot(rates, scores, linestyle="", **style)


def _panels(figure, count: int, num_columns: int, **shared: bool) -> Sequence:
    """Returns axes of so many panels, row by row; `shared` as for `figure.subplots`."""
    num_rows = math.ceil(count / num_columns)
    panels = figure.subplots(num_rows, num_columns, squeeze=False, **shared).ravel()
    for axes in panels[count:]:
        axes.remove()
    return panels[:count]


def _legend_below(figure, **arguments) -> None:
    figure.legend(
        loc="outside lower center", ncols=2, fontsize="small", handlelength=3.5, **arguments
    )


def line_style(number: int) -> dict[str, object]:
    """Returns color and dashes of a line for `axes.plot`; 42 lines differ, in gray the first 6."""
    return {"color": _COLORS[number % len(_COLORS)], "linestyle": _DASHES[number % len(_DASHES)]}


def marker_style(number: int) -> dict[str, object]:
    """Returns color and marker of points for `axes.plot`."""
    return {"color": _COLORS[number % len(_COLORS)], "marker": _MARKERS[number % len(_MARKERS)]}


def write(picture: Picture, directory: str, formats: Sequence[str]) -> list[str]:
    """Writes a picture in all formats, byte-identical every time; returns the paths."""
    import matplotlib

    # Text in an SVG stays text, which can be searched and copied.
    settings = {"svg.fonttype": "none", "svg.hashsalt": picture.name}
    paths = []
    with matplotlib.rc_context(settings), new_figure(*picture.size) as figure:
        picture.draw(figure)
        # Lay out once: every further layout moves the axes a little, and the bytes would depend on
        # the other formats.
        figure.canvas.draw()
        figure.set_layout_engine("none")
        for extension in formats:
            path = os.path.join(directory, f"{picture.name}.{extension}")
            with files.atomic_write(path, "wb") as file:
                figure.savefig(file, format=extension, dpi=130, metadata=_METADATA.get(extension))
            paths.append(path)
    return paths


def names_of(paths: Sequence[str]) -> list[str]:
    """Returns short distinct names of paths: relative to the directory they have in common."""
    parents = [os.path.dirname(os.path.abspath(path)) for path in paths]
    common = os.path.commonpath(parents)
    return [os.path.relpath(path, common) for path in paths]
