"""Plots of what the given sources contain, for `plot.py`: curves from `metrics.jsonl`, scores by
learning rate from `selection.json`, attention of a checkpoint. Lines differ in dashes and markers
too, so grey is enough.
"""

import dataclasses
import functools
import glob
import math
import os
from collections.abc import Callable, Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf import charts
from bert_tf.runs.results import SELECTION_FILE
from bert_tf.tables import mean_and_deviation, new_figure, shorten
from modeling.checkpoints.companion_files import FLAGS_FILE, METRICS_FILE

# In the order they are drawn, and what each needs.
_KINDS = {
    "curves": "a run directory with metrics.jsonl",
    "selection": "a directory with selection.json",
    "attention": "a checkpoint with its vocabulary, and --sentence",
}
# What is read of a run in selection.json, beside its main metric.
_RUN_FIELDS = {
    "learning_rate": float,
    "train_batch_size": int,
    "num_train_epochs": float,
    "seed": int,
    "degenerate": bool | None,
    "others": dict[str, float | str | None] | None,
}
_MOST_PANELS = 8
# Of attention: between two sentences, and more tokens than can be read in a picture.
_SEPARATOR, _MOST_TOKENS = "|||", 48
# More runs than this are named beside the panels, not below them.
_MOST_BELOW = 6

# Colours for the eyes of everybody (Okabe and Ito), without the yellow, which is hard to see on
# white; line styles; markers.
_COLOURS = ("#0072B2", "#D55E00", "#000000", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_MARKERS = "os^Dv*"

# Metadata without which a file has the same bytes every time.
_DATELESS = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
# Of a run's name in a picture.
_LONGEST_NAME = 36


@dataclasses.dataclass(frozen=True)
class Picture:
    """Something to draw.

    Attributes:
      name: of the files, without extension.
      size: width and height, inches.
    """

    name: str
    draw: Callable
    size: tuple[float, float] = (7, 4.5)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlotOptions(Options):
    """Pictures."""

    sources: tuple[str, ...] = ()
    what: tuple[str, ...] = option(
        (),
        "What to draw.",
        choices=tuple(_KINDS),
        default_text="all there is; attention with --sentence",
    )
    output_dir: str | None = option(
        None,
        "Where the pictures go.",
        default_text="plots/ in the first directory named",
        path=True,
    )
    formats: tuple[str, ...] = option(
        ("png", "svg"), "Of the files.", choices=("png", "svg", "pdf")
    )
    metrics: tuple[str, ...] = option(
        (),
        "Curves: names of metrics, as in metrics.jsonl.",
        default_text="the losses and what is measured of quality",
    )
    sentence: str | None = option(None, "Attention: the sentence; a second one after ' ||| '.")
    layer: int = option(-1, "Attention: number of the layer, from 0; -1 is the last one.")

    def check(self) -> None:
        super().check()
        if not self.sources:
            raise UserError(
                "nothing to draw: name a run directory or a checkpoint (--help explains)"
            )
        if "attention" in self.what and not self.sentence:
            raise UserError('--what=attention needs a --sentence="…"')


def run(options: PlotOptions) -> None:
    """Draws, and prints the paths of the pictures; raises `UserError` where there is nothing to
    draw."""
    for path in options.sources:
        if not files.exists(path) and not files.exists(f"{path}.index"):
            raise UserError(f"{path} does not exist: a run directory or a checkpoint is expected")
    found = {"curves": curves, "selection": selection, "attention": attention}
    drawn: list[Picture] = []
    for kind in options.what or _KINDS:
        of_kind = found[kind](options)
        if not of_kind and options.what:
            raise UserError(
                f"--what={kind}: {' and '.join(options.sources)} has nothing for it; it needs {_KINDS[kind]}"
            )
        drawn += of_kind
    if not drawn:
        raise UserError(
            f"{' and '.join(options.sources)}: there is nothing to draw; {', '.join(_KINDS)} were looked for"
        )
    first = options.sources[0]
    beside = first if files.is_directory(first) else os.path.dirname(first) or "."
    directory = options.output_dir or os.path.join(beside, "plots")
    files.make_output_directory(directory, "output_dir")
    for picture in drawn:
        print("\n".join(write(picture, directory, options.formats)))


def attention(options: PlotOptions) -> list[Picture]:
    """Of every head of a layer in a sentence, of the first source that is a checkpoint; the others
    need no TensorFlow.

    Raises:
      UserError: the checkpoint can't be read, there is no such layer, or the sentence is too long.
    """
    path = next(
        (
            path
            for path in options.sources
            if options.sentence
            and any(
                files.exists(one)
                for one in (
                    os.path.join(path, "bert_config.json"),
                    os.path.join(path, "config.json"),
                    f"{path}.index",
                )
            )
        ),
        None,
    )
    if path is None:
        return []
    import numpy as np

    from modeling.checkpoints.load import load_weights, open_checkpoint
    from modeling.encoder import BertEncoder

    loaded = open_checkpoint(path)
    count, vocabulary = loaded.config.num_hidden_layers, loaded.tokenizer.vocabulary
    if not -count <= options.layer < count:
        raise UserError(
            f"--layer={options.layer}: the model has {count} layers, 0 to {count - 1}, or -{count} to -1 from "
            "the end"
        )
    ids, segments = [vocabulary.cls_id], [0]
    for number, part in enumerate(options.sentence.split(_SEPARATOR, 1)):
        encoded = [*loaded.tokenizer.encode(part, special_tokens=True).tolist(), vocabulary.sep_id]
        ids += encoded
        segments += [number] * len(encoded)
    most = min(_MOST_TOKENS, loaded.config.max_position_embeddings)
    if len(ids) > most:
        raise UserError(f"--sentence has {len(ids)} tokens, at most {most} can be drawn")
    encoder = BertEncoder(loaded.config)
    load_weights(encoder, loaded.source)
    outputs = encoder(
        np.array([ids], np.int32),
        segment_ids=np.array([segments], np.int32),
        return_attention_probabilities=True,
    )
    probabilities = np.asarray(
        outputs["attention_probabilities"][options.layer][0]
    )  # [heads, S, S]
    columns = math.ceil(math.sqrt(len(probabilities)))
    side = max(2.2, 0.15 * len(ids) + 0.6)
    name = shorten(os.path.basename(os.path.normpath(path)), _LONGEST_NAME)
    draw = functools.partial(
        _draw_attention,
        tokens=[vocabulary.token_of(token) for token in ids],
        name=name,
        probabilities=probabilities,
        layer=options.layer % count,
        columns=columns,
    )
    return [
        Picture(
            "attention",
            draw,
            (side * columns + 1.8, side * -(-len(probabilities) // columns) + 0.9),
        )
    ]


def curves(options: PlotOptions) -> list[Picture]:
    """Losses and qualities by step, of all runs in one picture; of a directory without any, the
    runs below it."""
    runs: dict[str, list[dict]] = {}
    paths = [path for source in options.sources for path in with_runs_below(source)]
    for path, name in zip(paths, names_of(paths), strict=True):
        lines = json_files.read_objects(
            os.path.join(path, METRICS_FILE), {"step": int, "split": str}
        )
        if lines:
            runs[shorten(name, _LONGEST_NAME)] = lines
    if not runs:
        return []
    there = list(
        dict.fromkeys(
            name
            for lines in runs.values()
            for line in lines
            for name in line
            if name not in ("step", "split")
        )
    )
    unknown = [name for name in options.metrics if name not in there]
    if unknown:
        raise UserError(
            f"--metrics: there is no {unknown[0]} in {METRICS_FILE}; there are "
            f"{', '.join(sorted(there))}"
        )
    chosen = (
        list(options.metrics)
        or [
            name
            for group in (charts.LOSS, charts.QUALITY)
            for name in there
            if charts.find(name).group == group
        ][:_MOST_PANELS]
    )
    rows = math.ceil(len(chosen) / 2)
    width = (9 if len(chosen) > 1 else 6) + (3 if len(runs) > _MOST_BELOW else 0)
    return [
        Picture(
            "curves",
            functools.partial(_draw_curves, runs=runs, metrics=chosen),
            (width, max(1.2 + 2.7 * rows, 0.22 * len(runs) if len(runs) > _MOST_BELOW else 0)),
        )
    ]


def with_runs_below(source: str) -> list[str]:
    """A run; in its place the runs in a directory that is none, which must be of one task to be
    compared."""
    if files.exists(os.path.join(source, METRICS_FILE)) or not files.is_directory(source):
        return [source]
    pattern = glob.escape(source)
    below = [
        os.path.dirname(path)
        for depth in ("*", os.path.join("*", "*"))
        for path in files.glob_files(os.path.join(pattern, depth, METRICS_FILE))
    ]
    scripts = {
        path: str(json_files.read_object(os.path.join(path, FLAGS_FILE)).get("script"))
        for path in below
    }
    if len(set(scripts.values())) > 1:
        runs = ", ".join(f"{path} ({script})" for path, script in scripts.items())
        raise UserError(
            f"{source} holds runs of several scripts, which are not compared: name those to draw: {runs}"
        )
    return below or [source]


def _draw_curves(figure, runs: Mapping[str, Sequence[Mapping]], metrics: Sequence[str]) -> None:
    """Training is a thin line, evaluation a thick one with a marker at each; `runs`: name → lines
    of metrics.jsonl."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    is_alone = len(runs) == 1

    def style(number: int, split: str) -> dict[str, object]:
        look = line_style(int(split == "eval") if is_alone else number)
        return look | (
            {"linewidth": 1, "alpha": 0.7}
            if split == "train"
            else {
                "linewidth": 1.8,
                "markersize": 4.5,
                "marker": marker_style(int(is_alone) or number)["marker"],
            }
        )

    found = panels(figure, len(metrics), min(2, len(metrics)), sharex=True)
    for axes, metric in zip(found, metrics, strict=True):
        for number, lines in enumerate(runs.values()):
            for split in ("train", "eval"):
                there = [
                    (line["step"], line[metric])
                    for line in lines
                    if line["split"] == split and metric in line
                ]
                if there:
                    # A single point has no line; what is not finite is a gap.
                    point = {"marker": "o", "markersize": 4} if len(there) == 1 else {}
                    axes.plot(
                        [step for step, _ in there],
                        [value if math.isfinite(value) else math.nan for _, value in there],
                        **point | style(number, split),
                    )
        title = metric.replace("_", " ").replace("lm", "LM")
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel(charts.find(metric).unit or title)
        if metric.endswith("perplexity"):
            axes.set_yscale("log")
            axes.set_ylabel(f"{axes.get_ylabel()} (log)")
            # Plain numbers, also where the axis does not span a power of ten.
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
            axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.6)))
        axes.grid(alpha=0.3)
    for axes in found[-2:]:
        axes.set_xlabel("step")
        axes.tick_params(labelbottom=True)
    # The runs, then how training and evaluation are drawn.
    entries = {} if is_alone else {name: style(number, "eval") for number, name in enumerate(runs)}
    for split, label in (("train", "training"), ("eval", "evaluation")):
        if any(line["split"] == split for lines in runs.values() for line in lines):
            entries[label] = style(0, split) | (
                {}
                if is_alone
                else {"color": "0.35", "linestyle": "-", "marker": "" if split == "train" else "o"}
            )
    if is_alone:
        figure.suptitle(next(iter(runs)))
    is_beside = len(runs) > _MOST_BELOW
    figure.legend(
        [Line2D([], [], **one) for one in entries.values()],
        list(entries),
        loc="outside right upper" if is_beside else "outside lower center",
        ncols=1 if is_beside else 3,
        fontsize="small",
        handlelength=3.5,
    )


def selection(options: PlotOptions) -> list[Picture]:
    """The main metric of every run against its learning rate, a picture for each selection."""
    found = []
    for path, name in zip(options.sources, names_of(options.sources), strict=True):
        file = os.path.join(path, SELECTION_FILE)
        if not files.exists(file):
            continue
        content = json_files.read_object(file, {"main_metric": str})
        run = {**_RUN_FIELDS, "metrics": {content["main_metric"]: float | None}}
        json_files.check_object(content, {"best": run, "runs": [run]}, file)
        if content["runs"]:
            ending = f"_{name.replace('/', '_')}" if len(options.sources) > 1 else ""
            found.append(
                Picture(
                    f"selection{ending}",
                    functools.partial(
                        _draw_selection, content=content, name=shorten(name, _LONGEST_NAME)
                    ),
                    (7, 5),
                )
            )
    return found


def _draw_selection(figure, content: dict, name: str) -> None:
    axes = figure.add_subplot()
    metric, settings = content["main_metric"], {}
    for run in content["runs"]:
        if run["metrics"].get(metric) is not None:
            others = {
                "batch": run["train_batch_size"],
                "epochs": run["num_train_epochs"],
                **(run.get("others") or {}),
            }
            settings.setdefault(tuple(others.items()), []).append(run)
    for number, (others, runs) in enumerate(settings.items()):
        rates = sorted({run["learning_rate"] for run in runs})
        scores = {
            rate: [run["metrics"][metric] for run in runs if run["learning_rate"] == rate]
            for rate in rates
        }
        label = ", ".join(
            f"{name} {value:g}" if isinstance(value, (int, float)) else f"{name} {value}"
            for name, value in others
        )
        axes.plot(
            rates,
            [mean_and_deviation(scores[rate])[0] for rate in rates],
            label=label,
            **line_style(number),
        )
        axes.plot(
            [run["learning_rate"] for run in runs],
            [run["metrics"][metric] for run in runs],
            linestyle="",
            markersize=6,
            fillstyle="none",
            **marker_style(number),
        )
        degenerate = [run for run in runs if run.get("degenerate")]
        axes.plot(
            [run["learning_rate"] for run in degenerate],
            [run["metrics"][metric] for run in degenerate],
            linestyle="",
            marker="x",
            color="black",
            markersize=9,
        )
    axes.set_xscale("log")
    rates = sorted({run["learning_rate"] for run in content["runs"]})
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes.minorticks_off()
    best = content["best"]
    score = best["metrics"].get(metric)
    axes.set(
        xlabel="learning rate (logarithmic)",
        ylabel=f"{metric.replace('_', ' ')} on the development set",
        title=f"{name}: best {math.nan if score is None else score:.4g} at {best['learning_rate']:g}, seed "
        f"{best['seed']}\na point is a seed, a line the mean",
    )
    axes.title.set_fontsize("medium")
    axes.grid(alpha=0.3)
    if any(run.get("degenerate") for run in content["runs"]):
        axes.plot([], [], "x", color="black", label="predicts one class only")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", handlelength=3.5)


def _draw_attention(
    figure, tokens: Sequence[str], probabilities, layer: int, columns: int, name: str
) -> None:
    """One scale for all heads, that of the square root: most probabilities are small."""
    from matplotlib.colors import PowerNorm

    found = panels(figure, len(probabilities), columns)
    norm = PowerNorm(0.5, vmin=0, vmax=float(probabilities.max()))
    for number, (axes, matrix) in enumerate(zip(found, probabilities, strict=True)):
        image = axes.imshow(matrix, cmap="magma_r", norm=norm)
        axes.set_title(f"layer {layer}, head {number}", fontsize="small")
        axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
        axes.set_yticks(range(len(tokens)), tokens, fontsize=7)
        # The others are beside or above one with the same tokens.
        axes.tick_params(
            labelleft=number % columns == 0, labelbottom=number + columns >= len(probabilities)
        )
    figure.suptitle(f"{name}: attention in layer {layer}", fontsize="medium")
    figure.supylabel("token that attends", fontsize="small")
    figure.supxlabel("token that is attended to", fontsize="small")
    bar = figure.colorbar(image, ax=list(found), shrink=0.8)
    bar.set_label("attention probability (scale of the square root)", fontsize="small")


def panels(figure, count: int, columns: int, **shared: bool) -> Sequence:
    """Axes for so many panels, row by row; `shared` as for `figure.subplots`."""
    found = figure.subplots(-(-count // columns), columns, squeeze=False, **shared).ravel()
    for axes in found[count:]:
        axes.remove()
    return found[:count]


def line_style(number: int) -> dict[str, object]:
    """Colour and dashes of the line `number`, for `axes.plot`: no two alike among 42, nor in grey
    among 6."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def marker_style(number: int) -> dict[str, object]:
    """Colour and marker of points, for `axes.plot`."""
    return {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}


def write(picture: Picture, directory: str, formats: Sequence[str]) -> list[str]:
    """Writes a picture in all formats, the same bytes every time; returns the paths."""
    import matplotlib

    paths = [os.path.join(directory, f"{picture.name}.{extension}") for extension in formats]
    # In an SVG texts stay texts, which can be searched and copied.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}),
        new_figure(*picture.size) as figure,
    ):
        picture.draw(figure)
        # The places of axes and texts are found once, for all formats.
        figure.canvas.draw()
        figure.set_layout_engine("none")
        for path, extension in zip(paths, formats, strict=True):
            with files.atomic_write(path, "wb") as file:
                figure.savefig(file, format=extension, dpi=130, metadata=_DATELESS.get(extension))
    return paths


def names_of(paths: Sequence[str]) -> list[str]:
    """Short distinct names of paths: what they do not have in common."""
    parts = [os.path.normpath(path).split(os.sep) for path in paths]
    if len(parts) == 1:
        return [parts[0][-1]]
    shared = 0
    while (
        all(len(part) > shared + 1 for part in parts) and len({part[shared] for part in parts}) == 1
    ):
        shared += 1
    return ["/".join(part[shared:]) for part in parts]
