"""What an evaluation of pre-training shows beside its metrics: accuracies without a model.

Of the tokens to predict a tenth stand in the sequence as they are, and who repeats whatever is visible has them. So an
accuracy says little without that of copying beside it, and without that at [MASK] alone.

Input: the data of an evaluation. Output: `Baselines`, for `eval_results.txt` and the console.
"""

import collections
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
    token, mask_token: ids of the most frequent label, and of that at [MASK].
    most_frequent: of all predictions, by always guessing `token`.
    copying: of all predictions, by repeating the visible token, and by guessing `mask_token` at [MASK].
    at_mask: of the predictions at [MASK], by guessing `mask_token`. Without [MASK] this and the last one are None.
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
    """Why a model with these metrics is no better than guessing, in one line; None where it is."""
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
    token, mask_token = (repr(vocabulary.token_of(one)) if vocabulary and one is not None else f"token {one}"
                         for one in (self.token, self.mask_token))
    rows = [(f"always {token}", self.most_frequent, None),
            (f"the visible token, {mask_token} at [MASK]", self.copying, self.at_mask),
            ("this model", metrics["masked_lm_accuracy"], metrics.get("masked_lm_accuracy_at_mask"))]
    lines = [f"  {'masked-LM accuracy':38} all tokens   at [MASK]"]
    lines += [f"  {name:38} {share:>10.2%}  {'' if at_mask is None else f'{at_mask:.2%}':>10}"
              for name, share, at_mask in rows if share is not None]
    return "\n".join(lines)


def measure_baselines(batches: Iterable[Mapping[str, np.ndarray]], mask_id: int | None) -> Baselines:
  """Counts.

  Args:
    batches: records or batches of them: int "input_ids" [..., S], "masked_lm_positions" and "masked_lm_ids" [..., P],
      float "masked_lm_weights" [..., P], and optionally "is_real_example" [...].
    mask_id: of [MASK]; None where there is none.
  """
  labels: collections.Counter[int] = collections.Counter()
  labels_at_mask: collections.Counter[int] = collections.Counter()
  copied = 0
  for features in batches:
    counts = features["masked_lm_weights"] > 0
    if "is_real_example" in features:
      counts &= np.reshape(features["is_real_example"], (-1, 1)) > 0
    label = features["masked_lm_ids"][counts]
    visible = np.take_along_axis(features["input_ids"], features["masked_lm_positions"], axis=-1)[counts]
    at_mask = np.zeros(label.shape, bool) if mask_id is None else visible == mask_id
    for counter, some in ((labels, label), (labels_at_mask, label[at_mask])):
      counter.update(dict(zip(*(values.tolist() for values in np.unique(some, return_counts=True)), strict=True)))
    copied += int(((visible == label) & ~at_mask).sum())
  # Of tokens that are as frequent, the first of the vocabulary.
  best, best_at_mask = (max(sorted(counter), key=counter.get, default=0) for counter in (labels, labels_at_mask))
  most_frequent = labels[best] / max(labels.total(), 1)
  if not labels_at_mask:
    return Baselines(best, most_frequent)
  guessed = labels_at_mask[best_at_mask]
  return Baselines(best, most_frequent, best_at_mask, (copied + guessed) / labels.total(),
                   guessed / labels_at_mask.total())
