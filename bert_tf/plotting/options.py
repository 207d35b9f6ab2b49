"""The options of `plot.py`."""

import dataclasses

from bert_common.errors import UserError
from bert_common.options import Options, option

# In the order they are drawn; the last two only where they are asked for.
KINDS = ("curves", "selection", "records", "embeddings", "attention", "projector")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlotOptions(Options):
  """Pictures."""

  sources: tuple[str, ...] = ()
  what: tuple[str, ...] = option(
      (), "What to draw.", choices=KINDS, default_text="all there is; attention with --sentence")
  output_dir: str | None = option(
      None, "Where the pictures go.", default_text="plots/ in the first directory named", path=True)
  formats: tuple[str, ...] = option(("png", "svg"), "Of the files.", choices=("png", "svg", "pdf"))
  metrics: tuple[str, ...] = option(
      (), "Curves: names of metrics, as in metrics.jsonl.", default_text="the losses and what is measured of quality")
  most_records: int = option(5000, "Records: so many are read, the same number from each file.", minimum=1)
  sentence: str | None = option(None, "Attention: the sentence; a second one after ' ||| '.")
  layer: int = option(-1, "Attention: number of the layer, from 0; -1 is the last one.")
  tokens: tuple[str, ...] = option(
      (), "Embeddings: tokens to show.", default_text="the first 100 whole words of the vocabulary")
  projected: int = option(5000, "Projector: so many tokens of the vocabulary, from its beginning.", minimum=1,
                          maximum=100_000)

  def check(self) -> None:
    super().check()
    if not self.sources:
      raise UserError("nothing to draw: name a run directory, a checkpoint, or record files (--help explains)")
    if "attention" in self.what and not self.sentence:
      raise UserError('--what=attention needs a --sentence="…"')
