"""Outputs that others published of released models: whether a download is what it is said to be.

Input: a checkpoint of any format. Output: one line. Models are recognised by their sizes and the fingerprint of their
vocabulary; the numbers are those that other projects compare their own programs with.
"""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.encoder import BertEncoder

# Of the vocabulary of all uncased English models.
_UNCASED = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


class Published(NamedTuple):
  """Numbers of one source for one model of `sizes` (L, H, N), and the largest difference that counts as equal.

  `values` are what `chosen` makes of "sequence_output" [S, H] for `input_ids`, the first of which may be padding.
  """

  model: str
  source: str
  sizes: tuple[int, int, int]
  input_ids: list[int]
  chosen: Callable[[np.ndarray], np.ndarray]
  values: list
  tolerance: float
  padding: int = 0


_TABLE = (
    Published("bert-base-uncased", "test_modeling_bert of transformers", (12, 768, 12),
              [0, 345, 232, 328, 740, 140, 1695, 69, 6078, 1588, 2], lambda states: states[1:4, 1:4],
              [[0.4249, 0.1008, 0.7531], [0.3771, 0.1188, 0.7467], [0.4152, 0.1098, 0.7108]], 2e-4, padding=1),
    # Read with a tolerance of 0.01 there.
    Published("uncased_L-2_H-128_A-2", "bert_backbone_test.py of KerasHub (bert_tiny_en_uncased)", (2, 128, 2),
              [101, 1996, 4248, 102], lambda states: states[0, :5], [-1.38173, 0.16598, -2.92788, -2.66958, -0.61556],
              1e-3),
    # "What is Deep Learning?", the mean of the tokens, of which the cosine is compared there; "hello world", the same
    # of length 1.
    Published("all-MiniLM-L6-v2", "test_bert__mini_single.snap of text-embeddings-inference", (6, 384, 12),
              [101, 2054, 2003, 2784, 4083, 1029, 102], lambda states: states.mean(0)[:6],
              [-0.5905822, -0.2525167, 0.14959584, 0.054548685, -0.11789139, -0.16702051], 1e-3),
    Published("all-MiniLM-L6-v2", "test_text_onnx_embeddings.py of fastembed", (6, 384, 12), [101, 7592, 2088, 102],
              lambda states: states.mean(0)[:5] / np.linalg.norm(states.mean(0)),
              [-0.034478, 0.03102, 0.00673, 0.02611, -0.039362], 1e-4))


def check(path: str) -> str:
  """Compares the outputs of a checkpoint with what was published of the model that it seems to be.

  Returns a line for each source: they are equal, or differ by so little. Raises `UserError` where they differ by more,
  nothing is known of a model of these sizes and this vocabulary, or the checkpoint can't be read.
  """
  source = read_checkpoint(path)
  config, lines = source.config, []
  known = config and source.vocab_file and Vocabulary.from_file(source.vocab_file).has_fingerprint(_UNCASED) and [
      one for one in _TABLE
      if one.sizes == (config.num_hidden_layers, config.hidden_size, config.num_attention_heads)]
  if not known:
    raise UserError(f"{source.description}: no outputs are known of a model of these sizes and this vocabulary: there "
                    f"are some of {', '.join(dict.fromkeys(one.model for one in _TABLE))}")
  encoder = BertEncoder(config)
  load_weights(encoder, source)
  for one in known:
    mask = [[int(place >= one.padding) for place in range(len(one.input_ids))]]
    # GPUs may round the factors of products.
    with keras.device("cpu"):
      states = encoder({"input_ids": np.array([one.input_ids]), "input_mask": np.array(mask)})["sequence_output"]
    difference = np.abs(one.chosen(keras.ops.convert_to_numpy(states)[0]) - np.array(one.values)).max()
    found = f"{one.model}: {{}} to the outputs in {one.source}: the largest difference is {difference:.1e}"
    if not difference <= one.tolerance:
      raise UserError(f"{path}: {found.format('not equal')}, at most {one.tolerance:g} is expected: the weights are "
                      "others, trained further or damaged")
    lines.append(found.format("equal"))
  return "\n".join(lines)
