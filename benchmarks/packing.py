r"""What packing is worth: tokens that are no padding per second, packed against unpacked, in one run.

  python benchmarks/packing.py --input_file=corpus.txt --vocab_file=vocab.txt
  python benchmarks/packing.py --input_file=corpus.txt --vocab_file=vocab.txt --lengths=512 --sizes=L4-H256 \
      --programs=packed,unpacked,model_garden,keras_hub,pytorch_gathered

Makes both kinds of records of the text, then measures full training steps (float32, dropout on) on as many rows of
each; rows of both have the same length, so without packing the padding is computed, too. What is allowed is the share
of tokens that are no padding, packed / unpacked; the programs are those of benchmarks/pretraining_step.py.
"""

import dataclasses
import itertools
import os
import tempfile
from collections.abc import Callable

from benchmarks import interleaved
from benchmarks.pretraining_step import PROGRAMS
from benchmarks.sizes import find_config
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import option

# Program → whether its records are packed.
_KINDS = {"packed": True, "unpacked": False, "model_garden": False, "keras_hub": False, "pytorch_gathered": False}
_WARM_UP_STEPS = 2
# Rows that the share of padding is counted on.
_COUNTED = 4096


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackingOptions(interleaved.TurnsOptions):
  """Options of the benchmark."""

  input_file: str = option(None, "Text as data_gen/prepare_corpus.py makes it.", required=True)
  vocab_file: str = option(None, "Vocabulary.", required=True)
  sizes: tuple[str, ...] = option(("L2-H128", "L4-H256", "L4-H512", "base"), "L<layers>-H<hidden>, base or large.")
  lengths: tuple[int, ...] = option((64, 128, 512), "Tokens of a row.", minimum=8)
  tokens: int = option(4096, "Tokens of a batch, padding included; a quarter of it for base and large.", minimum=64)
  repetitions: int = option(5, "Turns of each program.", minimum=1)
  steps: int = option(4, "Steps of a turn.", minimum=1)
  programs: tuple[str, ...] = option(("packed", "unpacked"), "What is measured.", choices=tuple(_KINDS))


def main(options: PackingOptions) -> None:
  if "packed" not in options.programs:
    raise UserError("--programs: packed must be among them, it is what the others are compared with")
  with tempfile.TemporaryDirectory() as folder:
    print(f"{'size':9} {'length':>6}  {'padding, unpacked':>17} {'packed':>7}  {'packed is faster by':>19}  "
          "95 % interval  of what is allowed")
    for length in options.lengths:
      _make_records(options, folder, length)
      for size in options.sizes:
        _measure(options, folder, size, length)


def _make_records(options: PackingOptions, folder: str, length: int) -> None:
  from data_gen.options import PretrainingDataOptions
  from data_gen.pretraining.generation import generate

  for kind, packed in (("packed", True), ("unpacked", False)):
    generate(PretrainingDataOptions(
        input_file=options.input_file, output_file=_records(folder, kind, length), vocab_file=options.vocab_file,
        max_seq_length=length, max_predictions_per_seq=-(-length * 15 // 100), dupe_factor=1, packed=packed))


def _records(folder: str, kind: str, length: int) -> str:
  return os.path.join(folder, f"{kind}-{length}.tfrecord")


def _measure(options: PackingOptions, folder: str, size: str, length: int) -> None:
  seconds = interleaved.take_turns(
      options, options.programs, options.repetitions, _build, options, folder, size, length)
  if "packed" not in seconds:
    return
  share = {kind: _real_tokens(_records(folder, kind, length)) / length for kind in ("packed", "unpacked")}
  allowed = share["packed"] / share["unpacked"]
  for name in options.programs:
    if name != "packed" and name in seconds:
      # Both compute as many rows; what a row is worth is in `allowed`.
      low, ratio, high = (allowed * one for one in interleaved.ratio(seconds[name], seconds["packed"]))
      print(f"{size:9} {length:6}  {1 - share['unpacked']:17.1%} {1 - share['packed']:7.1%}  "
            f"{f'than {name} ' if name != 'unpacked' else ''}{ratio:18.2f}x  {low:.2f} to {high:.2f}   "
            f"{ratio / allowed:17.2f}", flush=True)
      options.record(name, size=size, length=length, **{"packed is faster by": ratio, "allowed": allowed})


def _real_tokens(path: str) -> float:
  """Tokens of a row that are no padding."""
  import numpy as np

  from data_gen.pretraining.records import read_examples

  rows = itertools.islice(read_examples(path), _COUNTED)
  return float(np.mean([np.count_nonzero(row["input_mask"]) for row in rows]))


def _build(options: PackingOptions, folder: str, size: str, length: int, name: str) -> Callable[[], None]:
  """A turn of the program, which is warmed up."""
  from data_gen.tokenization.vocabulary import Vocabulary

  config = find_config(size, Vocabulary.from_file(options.vocab_file).size)
  config = dataclasses.replace(config, max_position_embeddings=max(config.max_position_embeddings, length))
  tokens = options.tokens // (4 if size in ("base", "large") else 1)
  path = _records(folder, "packed" if _KINDS[name] else "unpacked", length)
  batch = _batch(path, config, max(tokens // length, 1))
  program = PROGRAMS["ours" if name in ("packed", "unpacked") else name]
  step = interleaved.find_program(*program)(config, batch, "float32")
  return interleaved.repeated(step, options.steps, _WARM_UP_STEPS)


def _batch(path: str, config, rows: int) -> dict:
  """The first records as training parses them, numpy arrays [rows, ...]."""
  from bert_tf.tasks.pretraining.data import parser
  from data_gen.pretraining.records import inspect_first_record
  from data_gen.pretraining.tfrecord import read_records

  parse = parser(inspect_first_record(path).schema, config)
  features = parse(list(itertools.islice(read_records(path), rows)))
  return {name: value.numpy() for name, value in features.items()}


if __name__ == "__main__":
  cli.run(PackingOptions, main)
