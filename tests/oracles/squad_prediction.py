"""A whole SQuAD prediction as it is usually written in Python, around any model."""

import json
import os
from collections.abc import Callable

import numpy as np

from data_gen.labelled.squad import read_squad
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.squad import reference_features
from tests.oracles.squad_answers import reference_answers
from tests.oracles.tokenizer import ReferenceTokenizer

SQUAD_LENGTHS = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}


def plain_squad(outputs_of: Callable, input_file: str, vocab_file: str, output_dir: str, batch_size: int,
                grouped: bool) -> Callable[[], int]:
  """A SQuAD prediction with any model and the original's way of making windows and answers, in plain Python.

  It begins with the files on the disk, vocabulary included, ends with the answers on the disk, and returns the number
  of windows.

  Args:
    outputs_of: ids, mask and segments, int32 [B, S] → logits of starts and of ends, [B, S].
    input_file, vocab_file, output_dir: of the prediction.
    batch_size: B.
    grouped: sort the windows by length, and pad each batch to its longest one instead of to the full length.
  """
  def predict() -> int:
    data = read_squad(input_file, "input_file")
    tokenizer = ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens)
    features = list(reference_features(data, tokenizer, **SQUAD_LENGTHS, training=False))
    counts = [len(feature["tokens"]) for feature in features]
    order = sorted(range(len(features)), key=lambda number: -counts[number]) if grouped else range(len(features))
    logits: list[tuple[list, list]] = [([], [])] * len(features)
    for first in range(0, len(features), batch_size):
      chosen = order[first:first + batch_size]
      length = counts[chosen[0]] if grouped else SQUAD_LENGTHS["max_seq_length"]
      ids, mask, segments = (np.zeros((len(chosen), length), np.int32) for _ in range(3))
      for row, number in enumerate(chosen):
        count = counts[number]
        ids[row, :count] = [tokenizer.ids[token] for token in features[number]["tokens"]]
        mask[row, :count] = 1
        segments[row, :count] = features[number]["segment_ids"]
      for number, start, end in zip(chosen, *outputs_of(ids, mask, segments), strict=True):
        logits[number] = start.tolist(), end.tolist()
    answers = reference_answers(data, features, *zip(*logits, strict=True), tokenizer)
    for name, contents in (("predictions", {id: nbest[0]["text"] for id, nbest in answers.items()}),
                           ("nbest_predictions", answers)):
      with open(os.path.join(output_dir, f"{name}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(contents, indent=4) + "\n")
    return len(features)

  return predict
