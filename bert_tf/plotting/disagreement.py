"""The examples that two runs disagree on, from the predictions in their directories.

Input: `eval_predictions*.jsonl`, `predictions*.jsonl`, of question answering `predictions.json`. Output: counts, and
the examples themselves, those with an id and a text that both runs have.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_tf.evaluation.significance import sign_test

_PATTERNS = ("eval_predictions*.jsonl", "predictions*.jsonl", "predictions.json")
# Keys of a prediction, and of the right one; those of multiple choice are numbers of the choices.
_PREDICTIONS = ("label", "labels", "score", "prediction")
_TEXTS = ("text_a", "text_b", "context", "question", "choices")


@dataclasses.dataclass(frozen=True)
class Prediction:
  """A run's prediction for an example; `truth` is None where it is unknown."""

  text: str
  predicted: object
  truth: object = None

  @property
  def is_right(self) -> bool:
    return self.predicted == self.truth


@dataclasses.dataclass(frozen=True)
class Disagreement:
  """What two runs predict otherwise in one file.

  Attributes:
    file: its name, in both directories.
    common: how many examples both runs have.
    pairs: id, and both predictions, of the examples that they disagree on; of scores the most different first.
  """

  file: str
  common: int
  pairs: Sequence[tuple[str, Prediction, Prediction]]

  def summary(self) -> str:
    """How many, and whether one of the runs is right more often than chance would have it."""
    line = f"{self.file}: different predictions for {len(self.pairs):,} of {self.common:,} examples"
    if not self.pairs or self.pairs[0][1].truth is None or isinstance(self.pairs[0][1].truth, float):
      return line
    first, second = (sum(pair[side].is_right and not pair[3 - side].is_right for pair in self.pairs) for side in (1, 2))
    p = sign_test(first, second)
    chance = "" if p is None else f" (McNemar, exact: p = {p:.3g})"
    return (f"{line}; only the first is right in {first:,}, only the second in {second:,}{chance}, neither in "
            f"{len(self.pairs) - first - second:,}")


def disagreements(first: str, second: str) -> list[Disagreement]:
  """One for each file of predictions that both directories have."""
  found = []
  for name in dict.fromkeys(os.path.basename(path) for pattern in _PATTERNS
                            for path in files.glob_files(os.path.join(files.escape_pattern(first), pattern))):
    if not files.exists(os.path.join(second, name)):
      continue
    ours, theirs = _read(os.path.join(first, name)), _read(os.path.join(second, name))
    common = [key for key, one in ours.items() if key in theirs and theirs[key].text == one.text]
    pairs = [(key, ours[key], theirs[key]) for key in common if ours[key].predicted != theirs[key].predicted]
    if all(isinstance(one.predicted, float) for pair in pairs for one in pair[1:]):
      pairs.sort(key=lambda pair: -abs(pair[1].predicted - pair[2].predicted))
    found.append(Disagreement(name, len(common), pairs))
  return found


def _read(path: str) -> dict[str, Prediction]:
  """Id → prediction."""
  if path.endswith(".json"):
    return {key: Prediction("", text) for key, text in json_files.read_object(path).items()}
  return {str(line.get("id", number)): _prediction(line) for number, line in enumerate(json_files.read_objects(path))}


def _prediction(line: Mapping[str, object]) -> Prediction:
  texts = [line[name] for name in _TEXTS if line.get(name)]
  name = next((name for name in _PREDICTIONS if name in line), "")
  return Prediction(" | ".join(" / ".join(map(str, text)) if isinstance(text, list) else str(text) for text in texts),
                    line.get(name), line.get(f"true_{name}"))
