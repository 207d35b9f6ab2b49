"""Agreement of the tokenizer in the graph with the exact one."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from data_gen.tokenization.tokenizer import Tokenizer
from modeling.preprocessing.graph_tokenizer import GraphTokenizer

_LINES_AT_ONCE = 1000


@dataclasses.dataclass(frozen=True)
class Difference:
  """A line that the two tokenizers see differently: its text, and what each makes of it."""

  line: int
  text: str
  exact: list[str]
  graph: list[str]


@dataclasses.dataclass(frozen=True)
class Agreement:
  """The lines of a text that have the same tokens under both."""

  name: str
  lines: int
  differences: list[Difference]

  def describe(self, shown: int = 5) -> str:
    """A line of text, and two for each of the first differences."""
    agreeing = self.lines - len(self.differences)
    share = f"{100 * agreeing / self.lines:.2f} %"
    lines = [f"{self.name}: the tokenizer in the graph gives the exact tokens for {agreeing:,} of {self.lines:,} lines "
             f"({share})"]
    for difference in self.differences[:shown]:
      lines += [f"  line {difference.line}: {difference.text[:100]!r}",
                f"    exact: {' '.join(difference.exact[:30])}", f"    graph: {' '.join(difference.graph[:30])}"]
    return "\n".join(lines)

  def to_dict(self) -> dict:
    """For JSON."""
    return {"lines": self.lines, "agreeing": self.lines - len(self.differences),
            "differences": [dataclasses.asdict(difference) for difference in self.differences]}


def compare(name: str, texts: Sequence[str], tokenizer: Tokenizer, graph: GraphTokenizer,
            special_tokens: bool = False) -> Agreement:
  """Tokenizes lines both ways.

  Args:
    special_tokens: "[MASK]" and the like are those tokens, for both.
  """
  differences = []
  token_of = tokenizer.vocabulary.tokens.__getitem__
  for start in range(0, len(texts), _LINES_AT_ONCE):
    chunk = texts[start:start + _LINES_AT_ONCE]
    exact = tokenizer.encode_batch(chunk, special_tokens)
    rows = np.split(exact.ids, np.cumsum(exact.row_lengths)[:-1])
    found = graph(tf.constant([text.encode() for text in chunk])).ids.to_list()
    for number, (text, row, ids) in enumerate(zip(chunk, rows, found, strict=True), start + 1):
      if row.tolist() != ids:
        differences.append(Difference(number, text, [*map(token_of, row.tolist())], [*map(token_of, ids)]))
  return Agreement(name, len(texts), differences)
