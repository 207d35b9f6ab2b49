r"""An export under load: many clients, one text a request, for minutes; throughput, latencies, memory, errors.

  python benchmarks/load.py --export_dir=output/served/reviews/1
  python benchmarks/load.py --export_dir=output/onnx --clients=8,64 --seconds=600

A SavedModel of one string input, or a directory of export_model.py --format=onnx, is loaded once, as a server does;
clients are threads that ask again as soon as they are answered. There is no network, and requests are not put together
into batches: what is measured is the model and its runtime. Memory is that of the process, after a tenth of the time or
a minute, and at the end.
"""

import concurrent.futures
import dataclasses
import os
import statistics
import time
from collections.abc import Callable

from benchmarks import serving, texts
from benchmarks.resources import held_mib
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import option
from bert_common.tables import print_table
from bert_tf.inference.exports.loaders import ONNX_FILE, SIGNATURE, SavedModel

_MOST_WARM_UP = 60.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadOptions(texts.TextOptions):
  """Options of the benchmark."""

  export_dir: str = option(None, "What export_model.py wrote.", required=True, path=True)
  clients: tuple[int, ...] = option((8, 64), "How many ask at the same time.", minimum=1)
  seconds: float = option(600, "How long, for each number of clients.", above=0)


def main(options: LoadOptions) -> None:
  answer = _load(options.export_dir)
  lines = options.lines()
  # As a server with its warm-up requests: of many that are the first at the same time some wait for most of a minute.
  answer(lines[0])
  rows = [("clients", "requests", "requests/s", "p50 ms", "p99 ms", "slowest ms", "MiB", "MiB at the end", "errors")]
  for clients in options.clients:
    taken, errors, before, seconds = _ask(answer, lines, clients, options.seconds)
    taken = sorted(1e3 * one for one in taken)
    rows.append((f"{clients}", f"{len(taken):,}", f"{len(taken) / seconds:,.1f}", f"{statistics.median(taken):.1f}",
                 f"{taken[int(0.99 * len(taken))]:.1f}", f"{taken[-1]:.1f}", f"{before:.0f}", f"{held_mib():.0f}",
                 f"{len(errors)}"))
    for error in sorted(set(errors)):
      print(f"error: {error}")
  print_table(rows)


def _ask(answer: Callable[[str], object], lines: list[str], clients: int, seconds: float
         ) -> tuple[list[float], list[str], float, float]:
  """Seconds of each request, what went wrong, memory after the warm-up, and how long it took."""
  taken: list[float] = []
  errors: list[str] = []
  began = time.perf_counter()

  def ask(number: int) -> None:
    place = number * len(lines) // clients
    while (now := time.perf_counter()) - began < seconds:
      place += 1
      try:
        answer(lines[place % len(lines)])
        taken.append(time.perf_counter() - now)
      except Exception as error:
        errors.append(" ".join(str(error).split())[:200])

  with concurrent.futures.ThreadPoolExecutor(clients) as pool:
    pool.map(ask, range(clients))
    time.sleep(min(_MOST_WARM_UP, seconds / 10))
    before = held_mib()
  return taken, errors, before, time.perf_counter() - began


def _load(directory: str) -> Callable[[str], object]:
  if os.path.exists(os.path.join(directory, ONNX_FILE)):
    onnx = serving.onnx_model(directory)
    return lambda text: onnx(None, [text])
  export = SavedModel(directory)
  inputs = list(export.signatures[SIGNATURE][0])
  if len(inputs) != 1:
    raise UserError(f"--export_dir: {directory} takes {' and '.join(inputs)}, a model of one text is expected")
  return lambda text: export(SIGNATURE, {inputs[0]: [text]})


if __name__ == "__main__":
  cli.run(LoadOptions, main)
