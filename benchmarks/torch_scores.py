"""Fine-tuning a model of transformers with our settings, to compare scores: what is the same for all tasks.

The same as in the run scripts: the sequences, batches of similar length, linear warm-up over a tenth of the steps and
linear decay, clipping at 1, weight decay 0.01 but for biases and LayerNorm, dropout, an evaluation after every epoch,
of which the best one counts, the scorer. Of PyTorch's own: the order of the batches, AdamW with bias correction, the
weights of the new head.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import peers
from bert_tf.common.options import Options, option

if TYPE_CHECKING:
  from bert_tf.training.examples import Examples

_PREDICTED_TOGETHER = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoresOptions(Options):
  """Options of every comparison; the defaults are those of the run script."""

  model: str = option(None, "Hugging Face directory with model.safetensors and vocab.txt.", required=True)
  seed: int = option(12345, "Of the new head, dropout and the order of the batches.", minimum=0, sweep=True)
  train_batch_size: int = option(32, "Examples of a step.", minimum=1)
  learning_rate: float = option(5e-5, "Peak learning rate.", above=0)
  num_train_epochs: int = option(3, "Passes over the training data.", minimum=1)


def compare(options: ScoresOptions, fine_tune: Callable[[int], dict[str, float]]) -> None:
  """Fine-tunes with each of the seeds; prints what comes out, then mean and standard deviation.

  Args:
    options: of the comparison.
    fine_tune: seed → scores by name.
  """
  results = []
  for seed in options.sweep.get("seed", (options.seed,)):
    started = time.monotonic()
    results.append(fine_tune(seed))
    scores = ", ".join(f"{name} {value:.4f}" for name, value in results[-1].items())
    print(f"seed {seed}: {scores}; {time.monotonic() - started:.0f} s", flush=True)
  for name in results[0]:
    values = [result[name] for result in results]
    deviation = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    print(f"{name} of {len(values)} seeds: {np.mean(values):.4f}{deviation}")


def fine_tune(options: ScoresOptions, seed: int, make_model: Callable[[], object], examples: "Examples", limit: int,
              labels_of: Callable[[dict], dict[str, np.ndarray]], evaluate: Callable[[object], dict[str, float]],
              main_metric: str, test: Callable[[object], dict[str, float]] = lambda model: {}) -> dict[str, float]:
  """One fine-tuning.

  Args:
    options: of the comparison.
    seed: of this run.
    make_model: returns a model of transformers, new head included.
    examples: what is trained on.
    limit: longest sequence.
    labels_of: a batch → the labels as the model's `forward` takes them, by the names of its arguments.
    evaluate: the model → scores on the development set.
    main_metric: by which of them epochs are compared.
    test: the model → scores on the test set.

  Returns:
    the scores of the best epoch, those of the test set included.
  """
  import torch
  import transformers

  from bert_tf.training.examples import assemble, epoch_batches

  torch.manual_seed(seed)
  model = make_model()
  optimizer = peers.torch_optimizer(model, options.learning_rate)
  steps = options.num_train_epochs * -(-len(examples) // options.train_batch_size)
  schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
  best: dict[str, float] | None = None
  for epoch in range(options.num_train_epochs):
    model.train()
    for chosen in epoch_batches(examples.lengths, options.train_batch_size, seed, epoch):
      batch = assemble(examples, chosen, len(chosen), np.arange(1, limit + 1))
      labels = {name: torch.tensor(value) for name, value in labels_of(batch).items()}
      peers.torch_update(model, optimizer, model(**peers.torch_features(batch), **labels).loss)
      schedule.step()
    found = evaluate(model)
    if best is None or found[main_metric] > best[main_metric]:
      best = {**found, **test(model)}
  return best


def outputs_of(model, examples: "Examples", limit: int) -> Iterator[tuple[np.ndarray, dict]]:
  """(rows, what the model returns for them) of all examples, sorted by length, without dropout."""
  import torch

  from bert_tf.training.examples import assemble, sorted_batches

  model.eval()
  with torch.no_grad():
    for chosen in sorted_batches(examples.lengths, _PREDICTED_TOGETHER):
      batch = assemble(examples, chosen, len(chosen), np.arange(1, limit + 1))
      yield chosen, model(**peers.torch_features(batch))


def row_logits(model, examples: "Examples", limit: int) -> np.ndarray:
  """float32 [E, C]: the logits of every example."""
  found = [(chosen, outputs["logits"].numpy()) for chosen, outputs in outputs_of(model, examples, limit)]
  logits = np.empty((len(examples), found[0][1].shape[-1]), np.float32)
  for chosen, values in found:
    logits[chosen] = values
  return logits


def token_logits(model, examples: "Examples", limit: int, names: Sequence[str]) -> tuple[np.ndarray, ...]:
  """float32 [T, ...] for each of the names of outputs: the logits of every token, sequences concatenated."""
  found: list[list[np.ndarray]] = [[]] * len(examples)
  for chosen, outputs in outputs_of(model, examples, limit):
    values = [outputs[name].numpy() for name in names]
    for row, number in enumerate(chosen):
      found[number] = [value[row, :examples.row_lengths[number]] for value in values]
  return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
