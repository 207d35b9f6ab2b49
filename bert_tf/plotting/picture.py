"""Style and files of a plot. Lines differ in dashes and markers too, so grey is enough."""

import dataclasses
import os
from collections.abc import Callable, Sequence

from bert_common import files
from bert_tf.evaluation.drawing import new_figure

# Colours for the eyes of everybody (Okabe and Ito), without the yellow, which is hard to see on white; line styles;
# markers.
_COLOURS = ("#0072B2", "#D55E00", "#000000", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_MARKERS = "os^Dv*"

# What a model is compared with.
BASELINE = {"color": "0.35", "linestyle": (0, (1, 1.5)), "linewidth": 1.2}
# Metadata without which a file has the same bytes every time.
_DATELESS = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
# Of a run's name in a picture.
LONGEST_NAME = 36


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


def panels(figure, count: int, columns: int, **shared: bool) -> Sequence:
  """Axes for so many panels, row by row; `shared` as for `figure.subplots`."""
  found = figure.subplots(-(-count // columns), columns, squeeze=False, **shared).ravel()
  for axes in found[count:]:
    axes.remove()
  return found[:count]


def line_style(number: int) -> dict[str, object]:
  """Colour and dashes of the line `number`, for `axes.plot`: no two alike among 42, nor in grey among 6."""
  return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def marker_style(number: int) -> dict[str, object]:
  """Colour and marker of points, for `axes.plot`."""
  return {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}


def write(picture: Picture, directory: str, formats: Sequence[str]) -> list[str]:
  """Writes a picture in all formats, the same bytes every time; returns the paths."""
  import matplotlib

  paths = [os.path.join(directory, f"{picture.name}.{extension}") for extension in formats]
  # In an SVG texts stay texts, which can be searched and copied.
  with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}), new_figure(
      *picture.size) as figure:
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
  while all(len(part) > shared + 1 for part in parts) and len({part[shared] for part in parts}) == 1:
    shared += 1
  return ["/".join(part[shared:]) for part in parts]
