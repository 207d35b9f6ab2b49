"""Everything that the bytes of the pre-training records depend on, besides the corpus; used by `generation.py`."""

import dataclasses

import numpy as np

from common.checks import check_at_least
from common.errors import UserError
from data_gen.pretraining.masking import MaskingRatios


@dataclasses.dataclass(frozen=True)
class Settings:
  """Names, defaults and meanings are those of the flags of `create_pretraining_data.py`."""

  vocab_file: str
  do_lower_case: bool = True
  do_whole_word_mask: bool = False
  max_seq_length: int = 128
  max_predictions_per_seq: int = 20
  random_seed: int = 12345
  dupe_factor: int = 10
  masked_lm_prob: float = 0.15
  short_seq_prob: float = 0.1
  masking: str = "80,10,10"
  next_sentence_prediction: bool = True
  gzip_compress: bool = False
  on_bad_utf8: str = "error"

  def check(self) -> None:
    """Raises UserError, naming the flag, for a value that can't work."""
    special = 3 if self.next_sentence_prediction else 2
    if not 5 <= self.max_seq_length <= 1 << 15:
      raise UserError(f"--max_seq_length={self.max_seq_length}: it must be between 5 ([CLS] A [SEP] B [SEP]) and 32768")
    if not 1 <= self.max_predictions_per_seq <= self.max_seq_length - special:
      raise UserError(f"--max_predictions_per_seq={self.max_predictions_per_seq}: a sequence of "
                      f"{self.max_seq_length} has 1 to {self.max_seq_length - special} tokens that can be masked")
    check_at_least(self, 1, "dupe_factor")
    for flag, value in (("masked_lm_prob", self.masked_lm_prob), ("short_seq_prob", self.short_seq_prob)):
      if not 0 <= value <= 1:
        raise UserError(f"--{flag}={value}: a probability is between 0 and 1")
    if self.on_bad_utf8 not in ("error", "replace"):
      raise UserError(f"--on_bad_utf8={self.on_bad_utf8}: it must be error or replace")
    MaskingRatios.parse(self.masking)

  def notes(self) -> list[str]:
    """What is allowed and looks like a mistake, a line each."""
    wanted = round(self.max_seq_length * self.masked_lm_prob)
    if self.max_predictions_per_seq < wanted:
      share = self.max_predictions_per_seq / self.max_seq_length
      return [f"--max_predictions_per_seq={self.max_predictions_per_seq} lets only {share:.1%} of a full sequence be "
              f"masked; --masked_lm_prob={self.masked_lm_prob} needs {wanted}"]
    if self.max_predictions_per_seq > 1.5 * wanted + 1:
      return [f"--max_predictions_per_seq={self.max_predictions_per_seq} is never reached: "
              f"--masked_lm_prob={self.masked_lm_prob} masks at most {max(wanted, 1)} tokens of a sequence"]
    return []

  def generator(self, *key: int) -> np.random.Generator:
    """The random generator for one purpose and place."""
    return np.random.default_rng([self.random_seed % 2**64, *key])
