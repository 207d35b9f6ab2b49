"""Plots of pre-training records: how long they are, what is masked and where.

Input: record files, or their `NAME.stats.json`, named or found in a run's flags. Output: distributions where there are
records, means where there are only statistics.
"""

import functools
import itertools
import os
import re
from collections.abc import Sequence

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.evaluation.drawing import shorten
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import BARS, LONGEST_NAME, Picture
from data_gen.pretraining.record_files import STATISTICS_SUFFIX
from data_gen.pretraining.records import read_sequences
from modeling.checkpoints.companion_files import FLAGS_FILE

# Of masked tokens, in the order of --masking; how they are drawn in grey.
_KINDS = {"[MASK]": {"facecolor": "0.3"}, "random": {"facecolor": "0.7", "hatch": "//"}, "same": {"facecolor": "0.95"}}


# What is drawn of statistics.
_STATISTICS_FIELDS = {"instances": int, "max_seq_length": int, "statistics": dict.fromkeys(
    ("mean_length", "mean_segment_a", "mean_segment_b", "share_mask", "share_random", "share_kept"), float)}


def records(options: PlotOptions) -> list[Picture]:
  """Picture of the records that are named, or that the first run was trained on."""
  paths = [path for path in options.sources if not files.is_directory(path) and not files.exists(f"{path}.index")]
  for directory in filter(files.is_directory, options.sources) if not paths else ():
    if patterns := read_flag(directory, "input_file", "run_pretraining.py"):
      paths = _there(patterns)
      break
  statistics = [path for path in paths if path.endswith(STATISTICS_SUFFIX)]
  readable = [path for path in paths if path not in statistics]
  for path in statistics:
    readable += [shard for shard in _shards(path) if files.exists(shard)]
  if readable:
    # Half a record file would be half a picture: what can't be read is an error.
    drawn = _read(readable, options.most_records)
    return [Picture("records", functools.partial(_draw, **drawn), (9, 6))]
  return [Picture("records", functools.partial(
      _draw_means, content=json_files.read_object(path, _STATISTICS_FIELDS), name=_set_name(path)), (9, 3.2))
          for path in statistics[:1]]


def read_flag(directory: str, name: str, script: str | None = None) -> str | None:
  """A path among the flags of the run in a directory; None where it was not given, or to another script."""
  path = os.path.join(directory, FLAGS_FILE)
  found = json_files.read_object(path, {"flags": dict | None})
  flags = found.get("flags") or {}
  json_files.check_object(flags, {name: str | None}, path)
  return flags.get(name) if script in (None, found.get("script")) else None


def _there(patterns: str) -> list[str]:
  """The record files of a run, as far as they are still there; else their statistics."""
  try:
    return files.expand_patterns(patterns, "input_file")
  except UserError:
    names = dict.fromkeys(re.sub(r"-[\d*?]+-of-.*$", "", pattern.strip()) for pattern in patterns.split(","))
    return [path for name in names if name for path in files.glob_files(f"{name}{STATISTICS_SUFFIX}")]


def _shards(statistics: str) -> list[str]:
  """The record files beside their statistics."""
  shards = json_files.read_object(statistics, {"shards": [{"file": str}]})["shards"]
  return [os.path.join(os.path.dirname(statistics), shard["file"]) for shard in shards]


def _read(paths: Sequence[str], most: int) -> dict[str, object]:
  """Arrays to draw, of at most `most` records, the same number from each file."""
  lengths, masked, positions, shown, labels = [], [], [], [], []
  size, random_next = 0, 0
  for path in paths:
    for features in itertools.islice(read_sequences(path), -(-most // len(paths))):
      real = features["masked_lm_weights"] > 0
      places = features["masked_lm_positions"][real]
      lengths.append(int(features["input_mask"].sum()))
      masked.append(len(places))
      positions.append(places)
      shown.append(features["input_ids"][places])
      labels.append(features["masked_lm_ids"][real])
      size = max(size, len(features["input_ids"]))
      random_next += int(features["next_sentence_labels"][0])
  if not lengths:
    raise UserError(f"{paths[0]} holds no record")
  shown, labels = np.concatenate(shown), np.concatenate(labels)
  same = shown == labels
  # Of what was replaced most is [MASK], whatever its id.
  mask_id = np.bincount(shown[~same]).argmax() if (~same).any() else -1
  kinds = {"[MASK]": shown == mask_id, "random": ~same & (shown != mask_id), "same": same}
  kinds = {name: float(chosen.sum() / max(len(chosen), 1)) for name, chosen in kinds.items()}
  return {"name": _set_name(paths[0]), "lengths": np.array(lengths), "masked": np.array(masked),
          "positions": np.concatenate(positions), "kinds": kinds, "size": size,
          "random_next": random_next / len(lengths)}


def _set_name(path: str) -> str:
  """The name that the files of a set share."""
  name = os.path.basename(path).removesuffix(STATISTICS_SUFFIX)
  return shorten(re.sub(r"-\d+-of-\d+$", "", name), LONGEST_NAME)


def _draw(figure, lengths: np.ndarray, masked: np.ndarray, positions: np.ndarray, kinds: dict[str, float], size: int,
          random_next: float, name: str) -> None:
  figure.suptitle(f"{name}: {len(lengths):,} sequences of up to {size} tokens; segment B is random in "
                  f"{random_next:.1%}", fontsize="medium")
  if not len(positions):
    _draw_lengths(figure.subplots(), lengths, size)
    figure.supxlabel("without masks: training hides tokens anew each time", fontsize="small")
    return
  (by_length, by_masked), (by_position, by_kind) = figure.subplots(2, 2)
  _draw_lengths(by_length, lengths, size)
  by_masked.bar(*np.unique(masked, return_counts=True), **BARS)
  by_masked.set(xlabel=f"masked tokens of a record (mean {masked.mean():.1f}, {masked.sum() / lengths.sum():.1%})",
                ylabel="records")
  # Of the records that are long enough to have the position.
  edges = np.linspace(0, size, min(size, 32) + 1)
  there = np.array([np.minimum(np.maximum(lengths - low, 0), high - low).sum()
                    for low, high in itertools.pairwise(edges)])
  shares = np.histogram(positions, edges)[0] / np.maximum(there, 1)
  by_position.bar(edges[:-1], shares * 100, np.diff(edges), align="edge", **BARS)
  by_position.set(xlabel="position", ylabel="masked there (% of the tokens)")
  _draw_kinds(by_kind, kinds)
  for axes in (by_masked, by_position):
    axes.grid(alpha=0.3)


def _draw_lengths(axes, lengths: np.ndarray, size: int) -> None:
  axes.hist(lengths, bins=np.linspace(0, size, min(size, 32) + 1), **BARS)
  axes.axvline(lengths.mean(), color="black", linestyle="--", label=f"mean {lengths.mean():.1f}")
  axes.set(xlabel="tokens without padding", ylabel="records")
  axes.legend(fontsize="small")
  axes.grid(alpha=0.3)


def _draw_kinds(axes, kinds: dict[str, float]) -> None:
  axes.bar(range(len(kinds)), [100 * share for share in kinds.values()], edgecolor="black", linewidth=0.5)
  for bar, (name, share) in zip(axes.patches, kinds.items(), strict=True):
    bar.set(**_KINDS[name])
    axes.annotate(f"{share:.1%}", (bar.get_x() + bar.get_width() / 2, 100 * share), ha="center", va="bottom")
  axes.set_xticks(range(len(kinds)), list(kinds))
  axes.set(xlabel="what stands in the place of a masked token", ylabel="% of the masked tokens", ylim=(0, 105))


def _draw_means(figure, content: dict, name: str) -> None:
  means, size = content["statistics"], content["max_seq_length"]
  figure.suptitle(f"{name}: {content['instances']:,} records of {size} tokens, from their statistics",
                  fontsize="medium")
  parts, by_kind = figure.subplots(1, 2)
  lengths = {"segment A": means["mean_segment_a"], "segment B": means["mean_segment_b"]}
  lengths["[CLS], [SEP]"] = means["mean_length"] - sum(lengths.values())
  lengths["padding"] = size - means["mean_length"]
  parts.barh(list(lengths), list(lengths.values()), **BARS)
  parts.invert_yaxis()
  for number, value in enumerate(lengths.values()):
    parts.annotate(f" {value:.1f}", (value, number), va="center")
  parts.set(xlabel="tokens of a record, mean", xlim=(0, 1.15 * max(lengths.values())))
  _draw_kinds(by_kind, {"[MASK]": means["share_mask"], "random": means["share_random"], "same": means["share_kept"]})
