"""Fine-tunes PyTorch's BertForMultipleChoice with the settings of run_swag.py, to compare the accuracy.

  python benchmarks/multiple_choice_scores.py --train_file=train.csv --dev_file=dev.csv --test_file=test.csv \\
      --model=hf_directory --seed=1,2,3

Files in SWAG's columns. As there: the sequences, batches of similar length, linear warm-up over a tenth of the steps
and linear decay, clipping at 1, weight decay 0.01 but for biases and LayerNorm, dropout, an evaluation after every
epoch, of which the best one predicts the test file. Of PyTorch's own: the order of the batches, AdamW with bias
correction, the weights of the new head. Needs requirements-peers.txt.
"""

import dataclasses
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np

from benchmarks import peers
from common import cli
from common.options import Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoresOptions(Options):
  """Options of the comparison; the defaults are those of run_swag.py."""

  train_file: str = option(None, "What is trained on.", required=True)
  dev_file: str = option(None, "What is evaluated on after every epoch.", required=True)
  test_file: str = option(None, "What the best weights are tested on; with labels.", required=True)
  model: str = option(None, "Hugging Face directory with model.safetensors and vocab.txt.", required=True)
  seed: int = option(12345, "Of the new head, dropout and the order of the batches.", minimum=0, sweep=True)
  train_batch_size: int = option(16, "Questions of a step.", minimum=1)
  learning_rate: float = option(2e-5, "Peak learning rate.", above=0)
  num_train_epochs: int = option(3, "Passes over the training data.", minimum=1)
  max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)


def main(options: ScoresOptions) -> None:
  peers.check_torch()
  from data_gen.labelled.multiple_choice import read_swag
  from data_gen.tokenization.tokenizer import Tokenizer
  from tasks.multiple_choice.data import encode

  tokenizer = Tokenizer.from_file(os.path.join(options.model, "vocab.txt"), True)
  splits = {name: encode(tokenizer, read_swag(getattr(options, name), name), options.max_seq_length, False)[0]
            for name in ("train_file", "dev_file", "test_file")}
  results = []
  for seed in options.sweep.get("seed", (options.seed,)):
    started = time.monotonic()
    dev, test = fine_tune(options, seed, **splits)
    results.append((dev, test))
    print(f"seed {seed}: dev accuracy {dev:.4f}, test accuracy {test:.4f}, {time.monotonic() - started:.0f} s",
          flush=True)
  for name, values in zip(("dev", "test"), zip(*results, strict=True), strict=True):
    deviation = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    print(f"{name} accuracy of {len(values)} seeds: {np.mean(values):.4f}{deviation}")


def fine_tune(options: ScoresOptions, seed: int, train_file, dev_file, test_file) -> tuple[float, float]:
  """(accuracy on the development set, accuracy on the test set) of the best epoch; the files are `ChoiceExamples`."""
  import torch
  import transformers

  from training.examples import assemble, epoch_batches

  torch.manual_seed(seed)
  model = transformers.BertForMultipleChoice.from_pretrained(options.model)
  decayed = [one for name, one in model.named_parameters() if "LayerNorm" not in name and "bias" not in name]
  others = [one for name, one in model.named_parameters() if "LayerNorm" in name or "bias" in name]
  optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                                lr=options.learning_rate, eps=1e-6, fused=True)
  size = options.train_batch_size
  steps = options.num_train_epochs * -(-len(train_file) // size)
  schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
  best = (-1.0, -1.0)
  for epoch in range(options.num_train_epochs):
    model.train()
    for chosen in epoch_batches(train_file.lengths, size, seed, epoch):
      batch = assemble(train_file, chosen, len(chosen), np.arange(1, options.max_seq_length + 1))
      model(**peers.torch_features(batch), labels=torch.tensor(batch["label_ids"], dtype=torch.long)).loss.backward()
      torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
      optimizer.step()
      schedule.step()
      optimizer.zero_grad()
    dev = _accuracy(model, dev_file, options.max_seq_length)
    if dev > best[0]:
      best = (dev, _accuracy(model, test_file, options.max_seq_length))
  return best


def _accuracy(model, examples, max_seq_length: int) -> float:
  import torch

  from training.examples import assemble, sorted_batches

  model.eval()
  correct = 0
  with torch.no_grad():
    for chosen in sorted_batches(examples.lengths, 16):
      batch = assemble(examples, chosen, len(chosen), np.arange(1, max_seq_length + 1))
      logits = model(**peers.torch_features(batch)).logits.numpy()
      correct += int((logits.argmax(-1) == batch["label_ids"]).sum())
  return correct / len(examples)


if __name__ == "__main__":
  cli.run(ScoresOptions, main)
