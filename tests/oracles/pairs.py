"""The features of sentence pairs as they are usually made in Python: row by row, character by character.

The steps of the BERT paper's code, on a TSV file with a header; nothing shared with `data_gen/`.
"""

import csv

from tests.oracles.tokenizer import ReferenceTokenizer


def reference_features(path: str, tokens: list[str], pairs: int, max_seq_length: int) -> tuple[list, list]:
  """The first pairs, the original's way: ids and segment ids of each."""
  tokenizer = ReferenceTokenizer(tokens)
  cls_id, sep_id = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
  ids, segments = [], []
  with open(path, encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
      if len(ids) == pairs:
        break
      first, second = tokenizer.encode(row["sentence1"]), tokenizer.encode(row["sentence2"])
      while len(first) + len(second) > max_seq_length - (3 if second else 2):
        (first if len(first) > len(second) else second).pop()
      first, second = [cls_id, *first, sep_id], [*second, sep_id] if second else []
      ids.append(first + second)
      segments.append([0] * len(first) + [1] * len(second))
  return ids, segments
