"""Fine-tunes PyTorch's BertForTokenClassification with the settings of run_ner.py, to compare the scores.

  python benchmarks/ner_scores.py --train_file=wnut17_train.conll --dev_file=wnut17_dev.conll \\
      --test_file=wnut17_test.conll --model=hf_directory --seed=1,2,3

The same as there: the windows and where they are scored, batches of similar length, linear warm-up over a tenth of the
steps and linear decay, clipping at 1, weight decay 0.01 but for biases and LayerNorm, dropout, an evaluation after
every epoch, of which the best one predicts the test file, the scorer. Of PyTorch's own: the order of the batches, AdamW
with bias correction, the weights of the new head. Needs requirements-peers.txt.
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

# What PyTorch's loss leaves out.
_IGNORED = -100


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoresOptions(Options):
  """Options of the comparison; the defaults are those of run_ner.py."""

  train_file: str = option(None, "What is trained on.", required=True)
  dev_file: str = option(None, "What is evaluated on after every epoch.", required=True)
  test_file: str = option(None, "What the best weights are tested on; with labels.", required=True)
  model: str = option(None, "Hugging Face directory with model.safetensors and vocab.txt.", required=True)
  seed: int = option(12345, "Of the new head, dropout and the order of the batches.", minimum=0, sweep=True)
  context: str = option("auto", "As in run_ner.py.", choices=("auto", "sentence", "document"))
  train_batch_size: int = option(32, "Windows of a step.", minimum=1)
  learning_rate: float = option(5e-5, "Peak learning rate.", above=0)
  num_train_epochs: int = option(3, "Passes over the training data.", minimum=1)
  max_seq_length: int = option(128, "Most tokens of a window.", minimum=3)


def main(options: ScoresOptions) -> None:
  peers.check_torch()
  from tasks.token_classification.options import TokenClassificationOptions
  from tasks.token_classification.task import TokenClassificationTask

  data = TokenClassificationTask(TokenClassificationOptions(
      train_file=options.train_file, dev_file=options.dev_file, test_file=options.test_file,
      init_checkpoint=options.model, output_dir=os.path.join(options.model, "unused"), context=options.context,
      max_seq_length=options.max_seq_length, do_train=True, do_eval=True, do_predict=True)).data
  results = []
  for seed in options.sweep.get("seed", (options.seed,)):
    started = time.monotonic()
    dev, test = fine_tune(options, seed, data)
    results.append((dev["f1"], dev["surface_f1"], test["f1"], test["surface_f1"]))
    print(f"seed {seed}: dev f1 {dev['f1']:.4f}, surface {dev['surface_f1']:.4f}; test f1 {test['f1']:.4f}, surface "
          f"{test['surface_f1']:.4f}; {time.monotonic() - started:.0f} s", flush=True)
  for name, values in zip(("dev f1", "dev surface f1", "test f1", "test surface f1"), zip(*results, strict=True),
                          strict=True):
    deviation = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    print(f"{name} of {len(values)} seeds: {np.mean(values):.4f}{deviation}")


def fine_tune(options: ScoresOptions, seed: int, data) -> tuple[dict[str, float], dict[str, float]]:
  """Metrics on the development set and on the test set of the best epoch; `data` is a `TokenData`."""
  import torch
  import transformers

  from training.examples import assemble, epoch_batches

  torch.manual_seed(seed)
  model = transformers.BertForTokenClassification.from_pretrained(options.model, num_labels=len(data.labels))
  decayed = [one for name, one in model.named_parameters() if "LayerNorm" not in name and "bias" not in name]
  others = [one for name, one in model.named_parameters() if "LayerNorm" in name or "bias" in name]
  optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                                lr=options.learning_rate, eps=1e-6, fused=True)
  examples, lengths = data.train.examples, np.arange(1, options.max_seq_length + 1)
  steps = options.num_train_epochs * -(-len(examples) // options.train_batch_size)
  schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
  best: tuple[dict, dict] | None = None
  for epoch in range(options.num_train_epochs):
    model.train()
    for chosen in epoch_batches(examples.row_lengths, options.train_batch_size, seed, epoch):
      batch = assemble(examples, chosen, len(chosen), lengths)
      labels = np.where((batch["input_mask"] == 1) & (batch["label_ids"] >= 0), batch["label_ids"], _IGNORED)
      model(**peers.torch_features(batch), labels=torch.tensor(labels, dtype=torch.long)).loss.backward()
      torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
      optimizer.step()
      schedule.step()
      optimizer.zero_grad()
    dev = _score(model, data, data.dev, options)
    if best is None or dev["f1"] > best[0]["f1"]:
      best = dev, _score(model, data, data.test, options)
  return best


def _score(model, data, split, options: ScoresOptions) -> dict[str, float]:
  import torch

  from tasks.token_classification.results import score, tag_split
  from training.examples import assemble, sorted_batches

  examples = split.examples
  probabilities = np.zeros((len(split.windows.input_ids), len(data.labels)), np.float32)
  model.eval()
  with torch.no_grad():
    for chosen in sorted_batches(examples.row_lengths, 32):
      batch = assemble(examples, chosen, len(chosen), np.arange(1, options.max_seq_length + 1))
      found = torch.softmax(model(**peers.torch_features(batch)).logits, -1).numpy()
      for row, number in enumerate(chosen):
        start, length = examples.row_starts[number], examples.row_lengths[number]
        probabilities[start:start + length] = found[row, :length]
  return score(tag_split(data, split, split.windows.of_words(probabilities)))


if __name__ == "__main__":
  cli.run(ScoresOptions, main)
