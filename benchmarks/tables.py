"""Tables and means as benchmarks print them."""

from collections.abc import Sequence

import numpy as np


def print_table(rows: Sequence[Sequence[str]]) -> None:
  """Prints columns, the first to the left and the others to the right; the first row has their headings."""
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  for row in rows:
    print("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip())


def mean_and_deviation(values: Sequence[float]) -> str:
  """The mean, and the standard deviation (n - 1) of several values."""
  deviation = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
  return f"{np.mean(values):.4f}{deviation}"
