"""Windows, against those of the original code and against its algorithm written plainly."""

import gzip
import json

import numpy as np
import pytest

from data_gen.squad import read_squad
from data_gen.squad_check import check_training
from data_gen.squad_features import make_windows
from data_gen.squad_spans import find_token_words
from data_gen.tokenization import Tokenizer

SETTINGS = {name: dict(zip(("max_seq_length", "doc_stride", "max_query_length"), map(int, name.split("_")),
                           strict=True)) for name in ("384_128_64", "128_32_24")}


@pytest.fixture(scope="module")
def uncased(real_data):
  return Tokenizer.from_file(str(real_data / "bert" / "uncased_vocab.txt"))


def read_lines(path):
  with gzip.open(path, "rt", encoding="utf-8") as file:
    return [json.loads(line) for line in file]


def rows_of(values, lengths):
  return [row.tolist() for row in np.split(values, np.cumsum(lengths)[:-1])]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["v11", "v20", "corner"])
def test_windows_equal_those_of_the_original(golden, uncased, name, setting):
  """All but those of questions that the original leaves out of the training."""
  expected = read_lines(golden / "squad" / f"squad_features_{name}_{setting}.jsonl.gz")
  data = read_squad(str(golden / "squad" / f"squad_{name}_train.json"), "train_file")
  checked = check_training(data, version_2_with_negative=name == "v20", skip_bad_answers=True)
  contexts, windows = make_windows(checked.data, uncased, **SETTINGS[setting], training=True)
  all_words = find_token_words(data.contexts, contexts.spans, contexts.row_starts)
  columns = [rows_of(windows.input_ids, windows.row_lengths), rows_of(windows.segment_ids, windows.row_lengths),
             rows_of(windows.max_context(), windows.num_context_tokens), windows.doc_token_start.tolist(),
             windows.start_positions.tolist(), windows.end_positions.tolist(), windows.question_index.tolist(),
             windows.first_context_token.tolist(), windows.num_context_tokens.tolist()]
  known = {line["qas_id"] for line in expected}
  found = []
  for ids, segments, best, doc_start, start, end, number, first, count in zip(*columns, strict=True):
    question = checked.data.questions[number]
    if question.id not in known:
      continue
    first += contexts.row_starts[question.context]
    found.append({
      "qas_id": question.id, "n_tokens": len(ids), "input_ids": ids, "segment_ids": segments,
      "doc_token_start": doc_start, "token_to_orig_map": all_words[first:first + count].tolist(),
      "token_is_max_context": list(map(int, best)), "start_position": start, "end_position": end,
      "is_impossible": question.is_impossible})
  for line in expected:
    length = line["n_tokens"]
    assert not any(line["input_ids"][length:]) and not any(line["segment_ids"][length:])
    line.update(input_ids=line["input_ids"][:length], segment_ids=line["segment_ids"][:length])
  assert found == [{key: line[key] for key in found[0]} for line in expected]
