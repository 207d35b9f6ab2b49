"""The whole job: the original's distributions, the same bytes whatever happens on the way."""

import hashlib
import json
import statistics as means

import numpy as np
import pytest

from data_gen import records
from data_gen.generation import Settings, generate


@pytest.fixture(scope="module")
def uncased_vocab(real_data) -> str:
  return str(real_data / "bert" / "uncased_vocab.txt")


GOLDEN_SETTINGS = {
    "len128_pred20": {},
    "len128_pred20_wwm": {"do_whole_word_mask": True},
    "len512_pred80": {"max_seq_length": 512, "max_predictions_per_seq": 80},
    "len512_pred80_wwm": {"max_seq_length": 512, "max_predictions_per_seq": 80, "do_whole_word_mask": True},
}


def _columns(path) -> dict[str, np.ndarray]:
  examples = list(records.read_examples(str(path)))
  return {name: np.stack([example[name] for example in examples]) for name in records.FEATURES}


@pytest.mark.parametrize("name", GOLDEN_SETTINGS)
def test_has_the_distributions_of_the_original(golden, uncased_vocab, tmp_path, name):
  yardstick = json.loads((golden / "pretraining_data" / "stats.json").read_text())["seed_variation"]["settings"][name]
  continuation = np.array([line.startswith("##") for line in open(uncased_vocab, encoding="utf-8")])
  found: dict[str, list[float]] = {}
  for seed in range(6):
    settings = Settings(uncased_vocab, dupe_factor=5, random_seed=seed, **GOLDEN_SETTINGS[name])
    output = tmp_path / f"{seed}.tfrecord"
    result = generate([str(golden / "pretraining_data" / "sample_corpus.txt")], [str(output)], f"{output}.stats.json",
                      settings, num_workers=1)
    summary = result["statistics"]
    values = {key: summary[key] for key in yardstick["mean"] if key in summary}
    values["instances"] = result["instances"]
    data = _columns(output) if seed == 0 else None
    if data is not None:
      _check_hard_rules(data, settings, continuation)
      used = data["masked_lm_weights"] > 0
      # Measured again from the records, independently of the counts made while writing.
      shown = np.take_along_axis(data["input_ids"], data["masked_lm_positions"], 1)
      assert summary["share_mask"] == pytest.approx(((shown == 103) & used).sum() / used.sum(), abs=1e-6)
      assert summary["share_random_next"] == pytest.approx(data["next_sentence_labels"].mean(), abs=1e-6)
      assert summary["fraction_padding"] == pytest.approx(1 - data["input_mask"].mean(), abs=1e-6)
      values["share_masked_continuation_pieces"] = continuation[data["masked_lm_ids"][used]].mean()
    for key, value in values.items():
      found.setdefault(key, []).append(value)
  assert set(found) == set(yardstick["mean"])
  for key, values in found.items():
    assert means.mean(values) == pytest.approx(yardstick["mean"][key], abs=5 * yardstick["sd"][key]), key


def _check_hard_rules(data, settings, continuation):
  length = data["input_mask"].sum(1)
  count = data["masked_lm_weights"].sum(1)
  expected = [min(settings.max_predictions_per_seq, max(1, round(0.15 * int(n)))) for n in length]
  np.testing.assert_array_equal(count, expected)
  used = data["masked_lm_weights"] > 0
  assert not np.isin(data["masked_lm_ids"][used], [101, 102]).any()
  original = data["input_ids"].copy()
  rows = np.nonzero(used)[0]
  original[rows, data["masked_lm_positions"][used]] = data["masked_lm_ids"][used]
  hidden = np.zeros(original.shape, bool)
  hidden[rows, data["masked_lm_positions"][used]] = True
  assert (hidden.sum(1) == count).all()
  # [CLS] A [SEP] B [SEP], zeros behind; segment 1 is B [SEP].
  assert (original[:, 0] == 101).all()
  assert ((original == 102).sum(1) == 2).all()
  assert (original[np.arange(len(length)), length - 1] == 102).all()
  assert not original[data["input_mask"] == 0].any()
  first_sep = (original == 102).argmax(1)
  column = np.arange(original.shape[1])
  np.testing.assert_array_equal(
      data["segment_ids"], (column > first_sep[:, None]) & (column < length[:, None]))
  if settings.do_whole_word_mask:
    inner = (column > 0) & (data["input_mask"] > 0) & (original != 102)
    same_word = inner[:, 1:] & inner[:, :-1] & continuation[original[:, 1:]]
    assert (hidden[:, 1:] == hidden[:, :-1])[same_word].all()


def _hashes(paths) -> list[str]:
  return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_any_number_of_workers_writes_the_same_bytes(golden, uncased_vocab, tmp_path):
  text = (golden / "pretraining_data" / "sample_corpus.txt").read_bytes()
  corpus = tmp_path / "corpus.txt"
  corpus.write_bytes(text + b"\n\n" + text + b"\n\n" + text)
  hashes = []
  for workers in (1, 3):
    outputs = [tmp_path / f"{workers}-{shard}" for shard in range(2)]
    result = generate([str(corpus)], list(map(str, outputs)), str(tmp_path / "stats.json"),
                      Settings(uncased_vocab, dupe_factor=1), workers)
    assert [shard["instances"] for shard in result["shards"]] == [records.count_records(str(path)) for path in outputs]
    hashes.append(_hashes(outputs))
  assert hashes[0] == hashes[1]
