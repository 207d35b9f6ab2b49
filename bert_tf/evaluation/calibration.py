"""Whether a classifier's probabilities are true: of what it is 80 % sure of, 80 % should be right.

Input: probabilities and whether the most probable class was right. Output: a reliability diagram, as numbers and drawn
(Guo et al. 2017, "On calibration of modern neural networks", arXiv 1706.04599).
"""

import dataclasses

import numpy as np

from bert_tf.evaluation.drawing import new_figure, shown_width, to_pixels

# Okabe and Ito's vermilion, dark enough for grey.
_POINTS = "#D55E00"


@dataclasses.dataclass(frozen=True)
class Reliability:
  """Examples, sorted into bins of equal width by how sure the model was.

  Attributes:
    edges: float [bins + 1], from 0 to 1.
    counts: int [bins].
    confidence: float [bins], mean probability of the predicted class; NaN in an empty bin.
    accuracy: float [bins], share of right predictions; NaN in an empty bin.
  """

  edges: np.ndarray
  counts: np.ndarray
  confidence: np.ndarray
  accuracy: np.ndarray

  @property
  def expected_error(self) -> float:
    """Expected calibration error: mean distance of confidence and accuracy, over the examples."""
    seen = self.counts > 0
    distances = np.abs(self.accuracy[seen] - self.confidence[seen])
    return float(np.sum(distances * self.counts[seen]) / self.counts.sum())


def reliability(confidence: np.ndarray, correct: np.ndarray, bins: int = 10) -> Reliability:
  """Sorts examples into bins by confidence, float [E], the probability of the predicted class.

  Raises:
    ValueError: no examples, different numbers of `confidence` and `correct`, or what is no probability.
  """
  confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct, bool)
  if confidence.ndim != 1 or confidence.shape != correct.shape or not confidence.size:
    raise ValueError(f"confidence {confidence.shape} and correct {correct.shape} must both be [E], E > 0")
  # Rounding may bring a sum of probabilities a little above 1.
  if not (confidence.min() >= 0 and confidence.max() <= 1 + 1e-6):
    raise ValueError("confidence must be from 0 to 1")
  place = np.minimum((confidence * bins).astype(int), bins - 1)
  counts = np.bincount(place, minlength=bins)
  with np.errstate(invalid="ignore"):
    return Reliability(np.linspace(0, 1, bins + 1), counts, np.bincount(place, confidence, bins) / counts,
                       np.bincount(place, correct, bins) / counts)


def draw_reliability(figure, found: Reliability, title: str = "") -> None:
  """Draws the accuracy of every bin against the diagonal, and below how many examples it has."""
  upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
  seen = found.counts > 0
  widths = np.diff(found.edges)
  bars = {"align": "edge", "color": "0.75", "edgecolor": "black", "linewidth": 0.8}
  upper.bar(found.edges[:-1][seen], found.accuracy[seen], widths[seen], label="right predictions", **bars)
  upper.plot([0, 1], [0, 1], "--", color="black", linewidth=1, label="well calibrated")
  upper.plot(found.confidence[seen], found.accuracy[seen], "o", color=_POINTS, markersize=5, label="mean of the bin")
  upper.set(xlim=(-0.02, 1.02), ylim=(0, 1.02), ylabel="share of right predictions",
            title="\n".join(line for line in (title, f"calibration error {found.expected_error:.3f}") if line))
  upper.legend(loc="upper left", fontsize="small")
  lower.bar(found.edges[:-1], found.counts, widths, **bars)
  lower.set(xlabel="probability of the predicted class", ylabel="examples")
  for axes in (upper, lower):
    axes.grid(alpha=0.3)


def reliability_picture(found: Reliability) -> np.ndarray:
  """The diagram as pixels: uint8 [height, width, 4], RGBA."""
  with new_figure(shown_width(1) / 100, 4) as figure:
    draw_reliability(figure, found)
    return to_pixels(figure)
