"""Fine-tunes PyTorch's BertForMultipleChoice with the settings of run_swag.py, to compare the accuracy.

  python benchmarks/multiple_choice_scores.py --train_file=train.csv --dev_file=dev.csv --test_file=test.csv \\
      --model=hf_directory --seed=1,2,3

Files in SWAG's columns. What is the same as there, and what is not: benchmarks/torch_scores.py. Needs
requirements-peers.txt.
"""

import dataclasses
import os

import numpy as np

from benchmarks import peers, torch_scores
from bert_tf.common import cli
from bert_tf.common.options import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoiceScoresOptions(torch_scores.ScoresOptions):
  """Files and what run_swag.py has by default."""

  train_file: str = option(None, "What is trained on.", required=True)
  dev_file: str = option(None, "What is evaluated on after every epoch.", required=True)
  test_file: str = option(None, "What the best weights are tested on; with labels.", required=True)
  train_batch_size: int = option(16, "Questions of a step.", minimum=1)
  learning_rate: float = option(2e-5, "Peak learning rate.", above=0)
  max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)


def main(options: MultipleChoiceScoresOptions) -> None:
  peers.check_torch()
  import transformers

  from bert_tf.tasks.multiple_choice.data import encode
  from data_gen.labelled.multiple_choice import read_swag
  from data_gen.tokenization.tokenizer import Tokenizer

  tokenizer, limit = Tokenizer.from_file(os.path.join(options.model, "vocab.txt"), True), options.max_seq_length
  train, dev, test = (encode(tokenizer, read_swag(getattr(options, name), name), limit, False)[0]
                      for name in ("train_file", "dev_file", "test_file"))

  def accuracy(model, examples) -> float:
    chosen = torch_scores.row_logits(model, examples, limit).argmax(-1)
    return float((chosen == examples.values["label_ids"]).mean())

  torch_scores.compare(options, lambda seed: torch_scores.fine_tune(
      options, seed, lambda: transformers.BertForMultipleChoice.from_pretrained(options.model), train, limit,
      labels_of=lambda batch: {"labels": batch["label_ids"].astype(np.int64)},
      evaluate=lambda model: {"dev accuracy": accuracy(model, dev)}, main_metric="dev accuracy",
      test=lambda model: {"test accuracy": accuracy(model, test)}))


if __name__ == "__main__":
  cli.run(MultipleChoiceScoresOptions, main)
