"""What masked-LM accuracy there is without a model: by always guessing one token, and by copying.

Of the tokens to predict a tenth stand in the sequence as they are, and who repeats whatever is visible has them. So an
accuracy says little without that of copying beside it, and without that at [MASK] alone.

Input: the data of an evaluation. Output: `Baselines`, for `eval_results.txt` and the report.
"""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from data_gen.tokenization.vocabulary import Vocabulary

# An accuracy below this multiple of guessing is none.
_SMALLEST_GAIN = 1.05


@dataclasses.dataclass(frozen=True)
class Baselines:
  """Shares of the predictions that would be right.

  Attributes:
    token: id of the most frequent label.
    most_frequent: of all predictions, by always guessing that token.
    mask_token: id of the most frequent label at [MASK]; None where there is no [MASK], as of the next two.
    copying: of all predictions, by repeating the visible token, and by guessing `mask_token` at [MASK].
    at_mask: of the predictions at [MASK], by guessing `mask_token`.
  """

  token: int
  most_frequent: float
  mask_token: int | None = None
  copying: float | None = None
  at_mask: float | None = None

  def metrics(self) -> dict[str, float]:
    """Name → share, for the files of an evaluation."""
    shares = {"most_frequent": self.most_frequent, "copying": self.copying, "at_mask": self.at_mask}
    return {f"masked_lm_baseline_{name}": share for name, share in shares.items() if share is not None}

  def warning(self, metrics: Mapping[str, float]) -> str | None:
    """Why a model is no better than guessing, in one line; None where it is.

    Args:
      metrics: "masked_lm_accuracy" of the model and, where there is a [MASK], "masked_lm_accuracy_at_mask".
    """
    accuracy, guessing, where = metrics["masked_lm_accuracy"], self.most_frequent, ""
    if self.at_mask is not None and "masked_lm_accuracy_at_mask" in metrics:
      accuracy, guessing, where = metrics["masked_lm_accuracy_at_mask"], self.at_mask, " at [MASK]"
    if accuracy > _SMALLEST_GAIN * guessing:
      return None
    return (f"masked-LM accuracy{where} is {accuracy:.2%}, and {guessing:.2%} by always guessing the most frequent "
            "token: the model has learnt little but frequencies: raise --num_train_steps or --learning_rate, or start "
            "from a checkpoint with --init_checkpoint")

  def describe(self, metrics: Mapping[str, float], vocabulary: Vocabulary | None) -> str:
    """A table of the baselines and of a model."""
    def name(token: int) -> str:
      return repr(vocabulary.token_of(token)) if vocabulary else f"token {token}"

    rows = [(f"always {name(self.token)}", self.most_frequent, None)]
    if self.copying is not None:
      rows.append((f"the visible token, {name(self.mask_token)} at [MASK]", self.copying, self.at_mask))
    rows.append(("this model", metrics["masked_lm_accuracy"], metrics.get("masked_lm_accuracy_at_mask")))
    lines = [f"  {'masked-LM accuracy':38} all tokens   at [MASK]"]
    lines += [f"  {what:38} {_percent(everywhere):>10}  {_percent(at_mask):>10}" for what, everywhere, at_mask in rows]
    return "\n".join(lines)


def measure_baselines(batches: Iterable[Mapping[str, np.ndarray]], mask_id: int | None) -> Baselines:
  """Counts.

  Args:
    batches: records or batches of them: int "input_ids" [..., S], "masked_lm_positions" and "masked_lm_ids" [..., P],
      float "masked_lm_weights" [..., P], and optionally "is_real_example" [...].
    mask_id: of [MASK]; None where there is none.
  """
  labels = np.zeros(0, np.int64)  # label → how often
  labels_at_mask = np.zeros(0, np.int64)
  copied = 0
  for features in batches:
    counts = features["masked_lm_weights"] > 0
    if "is_real_example" in features:
      counts &= np.reshape(features["is_real_example"], (-1, 1)) > 0
    label = features["masked_lm_ids"][counts]
    visible = np.take_along_axis(features["input_ids"], features["masked_lm_positions"], axis=-1)[counts]
    at_mask = visible == mask_id if mask_id is not None else np.zeros(label.shape, bool)
    labels = _add(labels, label)
    labels_at_mask = _add(labels_at_mask, label[at_mask])
    copied += int(((visible == label) & ~at_mask).sum())
  total, masks = labels.sum(), labels_at_mask.sum()
  token = int(labels.argmax()) if total else 0
  most_frequent = float(labels.max(initial=0) / max(total, 1))
  if not masks:
    return Baselines(token, most_frequent)
  guessed = labels_at_mask.max()
  return Baselines(token, most_frequent, int(labels_at_mask.argmax()), float((copied + guessed) / total),
                   float(guessed / masks))


def _add(counts: np.ndarray, ids: np.ndarray) -> np.ndarray:
  more = np.bincount(ids, minlength=len(counts))
  more[:len(counts)] += counts
  return more


def _percent(share: float | None) -> str:
  return "" if share is None else f"{share:.2%}"
